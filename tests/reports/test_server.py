import http.client
import os
import shutil
import socket
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace

import pytest

from alice.errors import AliceError
from alice.reports import Report, Result, Section, html, plotly_script
from alice.reports import server as serving_room
from alice.reports.archive import write_result
from alice.reports.publish import publish
from alice.reports.server import GalleryServer, locate, serving


@pytest.fixture(scope="module")
def shared(published, tmp_path_factory):
    """A copy of the gallery among things that must not be served."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "secret.json").write_text("secret")
    runs = Path(shutil.copytree(published, folder / "runs"))
    (runs / "link.json").symlink_to(runs.parent / "secret.json")
    (runs / "linked").symlink_to(runs.parent)
    (runs / ".hidden").mkdir()
    (runs / ".hidden" / "result.json").write_text("secret")
    (runs / ".hidden.json").write_text("secret")
    (runs / "one" / "notes.txt").write_text("secret")
    (runs / "one" / "evil.js").write_text("secret")
    return runs


@pytest.fixture(scope="module")
def server(shared):
    with serving(shared) as running:
        yield running


@pytest.fixture
def own_server(runs):
    """A server of a gallery that a test may change."""
    with serving(runs) as running:
        yield running


def ask(server, path, *, method="GET", **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.server_port, timeout=10)
    try:
        connection.putrequest(method, path, skip_host="Host" in headers)
        for name, value in headers.items():
            connection.putheader(name.replace("_", "-"), value)
        connection.endheaders()
        answer = connection.getresponse()
        return answer.status, dict(answer.headers), answer.read()
    finally:
        connection.close()


def test_the_gallery_and_the_reports_are_served(server):
    for path in ("/", "/index.html", "/one/report.html"):
        status, headers, body = ask(server, path)
        assert (status, headers["Content-Type"]) == (200, "text/html; charset=utf-8")
        assert b"<main" in body
    assert "Early exit — ünïcode" in ask(server, "/entries.js")[2].decode()
    assert ask(server, "/one/result.json")[0] == 200
    assert ask(server, "/one/arrays.npz")[0] == 200
    assert ask(server, "/one/thumbnail.svg")[1]["Content-Type"] == "image/svg+xml"


def test_it_listens_on_this_machine_only(server):
    assert server.server_address[0] == "127.0.0.1"
    assert server.url == f"http://127.0.0.1:{server.server_port}/"


def test_a_new_report_appears_on_reload_and_a_deleted_one_vanishes(own_server, runs):
    assert b"Brand new" not in ask(own_server, "/entries.js")[2]
    publish(Report(Result("Brand new"), {}), runs)
    shutil.rmtree(runs / "two")
    listed = ask(own_server, "/entries.js")[2]
    assert b"Brand new" in listed
    assert b"Depth" not in listed


def test_the_folder_is_not_written_to_and_its_scripts_are_not_served(own_server, runs):
    (runs / "index.html").unlink()
    (runs / "entries.js").write_text("window.pwned = 1")
    (runs / plotly_script.FILE).write_text("/** plotly.js v999.0.0 */ window.pwned = 1")
    assert ask(own_server, "/")[0] == 200
    assert b"pwned" not in ask(own_server, "/entries.js")[2]
    assert ask(own_server, "/plotly.min.js")[2].decode() == plotly_script.source()
    assert not (runs / "index.html").exists()


def test_a_report_of_an_older_design_is_rendered_again(own_server, runs):
    (runs / "one" / "report.html").write_text("<script>old</script>")
    assert b"Early exit" in ask(own_server, "/one/report.html")[2]


def test_head_sends_the_length_but_no_body(server):
    status, headers, body = ask(server, "/one/report.html", method="HEAD")
    assert (status, body) == (200, b"")
    assert int(headers["Content-Length"]) > 1000


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "OPTIONS", "TRACE", "CONNECT"])
def test_only_reading_is_allowed(server, method):
    assert ask(server, "/", method=method)[0] == 501


@pytest.mark.parametrize(
    "host", ["evil.example", "evil.example:80", "127.0.0.1", "localhost.evil.example", "", "127.0.0.1:1"]
)
def test_a_foreign_host_is_refused(server, host):
    status, _, body = ask(server, "/", Host=host)
    assert (status, body) == (403, b"Forbidden\n")


def test_localhost_is_this_machine(server):
    assert ask(server, "/", Host=f"localhost:{server.server_port}")[0] == 200


@pytest.mark.parametrize(
    ("host", "status"),
    [("127.0.0.1", 200), ("localhost", 200), ("127.0.0.1:80", 200), ("evil.example", 403), ("127.0.0.1:81", 403)],
)
def test_on_the_default_port_browsers_omit_it(server, monkeypatch, host, status):
    listening = SimpleNamespace(server_port=server.server_port)
    monkeypatch.setattr(server, "server_port", 80)
    assert ask(listening, "/", Host=host)[0] == status


def test_a_page_that_cannot_be_made_is_one_sentence(own_server, runs, monkeypatch):
    def stumble(*_):
        raise ZeroDivisionError("secret")

    monkeypatch.setattr(html, "render_pages", stumble)
    (runs / "one" / "report.html").write_text("<script>old</script>")
    status, headers, body = ask(own_server, "/one/report.html")
    assert (status, headers["Content-Type"]) == (500, "text/plain; charset=utf-8")
    assert body.startswith(b"This page cannot be made")
    assert b"secret" not in body


def test_a_request_without_a_host_is_refused(server):
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(b"GET / HTTP/1.0\r\n\r\n")
        assert b" 403 " in connection.recv(1000)


@pytest.mark.parametrize(
    "path", ["/", "/entries.js", "/one/report.html", "/one/thumbnail.svg", "/nowhere", "/plotly.min.js"]
)
def test_every_answer_is_guarded(server, path):
    headers = ask(server, path)[1]
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert headers["Referrer-Policy"] == "no-referrer"
    assert headers["Cache-Control"] == "no-store"
    policy = headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self' 'sha256-")
    assert "unsafe-inline" not in policy.split("style-src")[0]
    assert "frame-ancestors 'none'" in policy


OUTSIDE = [
    "/../secret.json", "/%2e%2e/secret.json", "/..%2fsecret.json", "/%2e%2e%2fsecret.json", "/one/../../secret.json",
    "/..\\secret.json", "/..%5csecret.json", "/one/..%5c..%5csecret.json", "/%252e%252e/secret.json", "//secret.json",
    "/one//report.html", "/./one/../../secret.json", "/link.json", "/linked/secret.json", "/one/result.json%00.html",
    "/%c0%ae%c0%ae/secret.json", "/%ff.json", "secret.json", "http://evil.example/../secret.json", "/one", "/one/",
    "/.hidden/result.json", "/.hidden.json", "/one/notes.txt", "/one/evil.js", "/etc/passwd", "/nowhere",
    "/C:/secret.json", "/" + "a" * 5000 + ".json", "/%", "/one/%2e/report.html", "/one/report.html/",
]  # fmt: skip


@pytest.mark.parametrize("path", OUTSIDE)
def test_nothing_outside_or_hidden_or_strange_is_served(server, path):
    status, _, body = ask(server, path)
    assert status == (403 if path.startswith("http:") else 404)
    assert b"secret" not in body
    assert b"Directory listing" not in body


def test_a_link_that_stays_inside_is_served(runs):
    (runs / "latest").symlink_to(runs / "one")
    assert locate(runs.resolve(), "/latest/report.html") is not None


def test_a_loop_of_links_is_not_followed(runs):
    (runs / "loop").symlink_to(runs / "loop")
    assert locate(runs.resolve(), "/loop/result.json") is None


def test_garbage_does_not_end_the_server(server):
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(b"\x00\xff\x00 nonsense\r\n\r\n")
        connection.recv(1000)
    assert ask(server, "/")[0] == 200


def test_many_requests_at_once_are_all_answered(server):
    with ThreadPoolExecutor(150) as pool:
        found = list(pool.map(lambda _: ask(server, "/one/result.json")[0], range(200)))
    assert found == [200] * 200


def resident():
    """Return the bytes of memory that this process uses."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def connected(server, request=b""):
    connection = socket.create_connection(("127.0.0.1", server.server_port), timeout=10)
    connection.sendall(request)
    return connection


@pytest.mark.skipif(not Path("/proc/self/statm").exists(), reason="needs /proc")
def test_clients_that_do_not_read_hold_no_copies_of_the_drawing_script(server):
    ask(server, "/plotly.min.js")
    before = resident()
    request = f"GET /plotly.min.js HTTP/1.0\r\nHost: 127.0.0.1:{server.server_port}\r\n\r\n".encode()
    clients = [connected(server, request) for _ in range(40)]
    for client in clients:
        assert client.recv(1)  # its answer has begun
    grown = resident() - before
    for client in clients:
        client.close()
    assert grown < 40 * len(plotly_script.content()) / 8


def test_the_number_of_clients_is_bounded(shared, monkeypatch):
    monkeypatch.setattr(serving_room, "SECONDS_TO_WAIT", 0.05)
    with serving(shared, clients=2) as server:
        idle = [connected(server) for _ in range(2)]
        time.sleep(0.2)
        assert ask(server, "/")[0] == 503
        for client in idle:
            client.close()
        end = time.monotonic() + 5
        while ask(server, "/")[0] == 503:
            assert time.monotonic() < end


def test_a_client_that_reads_too_slowly_is_dropped(shared, monkeypatch):
    monkeypatch.setattr(serving_room, "SECONDS_TO_ANSWER", -1)
    with serving(shared) as server, pytest.raises(http.client.IncompleteRead):
        ask(server, "/plotly.min.js")


def test_a_missing_folder_is_one_sentence(tmp_path):
    with pytest.raises(AliceError, match="there is no folder"):
        GalleryServer(tmp_path / "nowhere")


def test_a_port_that_is_taken_is_one_sentence(server, runs):
    with pytest.raises(AliceError, match="choose another with --port"):
        GalleryServer(runs, port=server.server_port)


def test_an_outdated_page_of_a_section_is_made_again(own_server, runs):
    result = Result("Whole", sections=[Section("more", "More to see", page=True)])
    (runs / "three").mkdir()
    write_result(runs / "three", result, {})
    for name in ("report.html", "report-more.html", "report-other.html"):
        (runs / "three" / name).write_text("<script>old</script>")
    assert b"More to see</h1>" in ask(own_server, "/three/report-more.html")[2]
    assert ask(own_server, "/three/report-other.html")[0] == 404


def test_a_client_that_sends_its_request_byte_by_byte_makes_room_for_others(shared, monkeypatch):
    monkeypatch.setattr(serving_room, "SECONDS_TO_ASK", 0.5)
    with (
        serving(shared, clients=1) as server,
        socket.create_connection(("127.0.0.1", server.server_port), timeout=0.05) as connection,
    ):
        connection.sendall(b"GET / HTTP/1.0\r\nX: ")
        ended = False
        for _ in range(200):
            try:
                connection.sendall(b"a")
                ended = connection.recv(1) == b""
            except TimeoutError:
                continue
            except OSError:
                ended = True
            break
        assert ended
        assert ask(server, "/")[0] == 200
