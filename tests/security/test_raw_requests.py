"""Raw requests to `view` that no browser would send: each gets an answer, and no other file is disclosed.

Ordinary requests are tested in tests/reports/test_server.py.
"""

import socket

import pytest

from alice.reports import Report, Result
from alice.reports.server import serving

SECRET = b"a secret in another folder"


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    place = tmp_path_factory.mktemp("view")
    Report(Result("A run"), {}).save(place / "runs").folder.rename(place / "runs" / "one")
    (place / "secret.json").write_bytes(SECRET)
    (place / "runs-and-more").mkdir()
    (place / "runs-and-more" / "secret.json").write_bytes(SECRET)
    (place / "runs" / "one" / "linked.html").symlink_to(place / "secret.json")
    (place / "runs" / "up").symlink_to("..")
    (place / "runs" / "round").symlink_to(place / "runs" / "one" / ".." / ".." / "runs-and-more")
    (place / "runs" / "hard.json").mkdir()
    with serving(place / "runs") as running:
        running.place = place
        yield running


def exchange(server, content):
    """Send bytes and return the whole response."""
    with socket.create_connection(("127.0.0.1", server.server_port), timeout=10) as connection:
        connection.sendall(content)
        connection.shutdown(socket.SHUT_WR)
        parts = []
        while part := connection.recv(65536):
            parts.append(part)
        return b"".join(parts)


def get(server, path, *more, method=b"GET", version=b"HTTP/1.1"):
    host = b"Host: 127.0.0.1:%d" % server.server_port
    return exchange(server, b"\r\n".join([method + b" " + path + b" " + version, host, *more, b"", b""]))


def status(answer):
    return int(answer.split(b" ", 2)[1])


def test_reports_are_served(server):
    assert status(get(server, b"/one/result.json")) == 200
    assert b"A run" in get(server, b"/one/report.html")


PATHS = [
    b"/../secret.json", b"/one/../../secret.json", b"/../runs-and-more/secret.json", b"/..;/secret.json",
    b"../secret.json",
    b"/%2e%2e/secret.json", b"/%2E%2E%2Fsecret.json", b"/.%2e/secret.json", b"/%252e%252e%252fsecret.json",
    b"/%25252e%25252e/secret.json", b"/..%5csecret.json", b"/..\\secret.json", b"/%5c..%5csecret.json",
    b"/%c0%ae%c0%ae/secret.json", b"/%c0%ae%c0%ae%c0%afsecret.json", b"/%e0%80%ae%e0%80%ae/secret.json",
    b"/%u002e%u002e/secret.json", b"/\xff\xfe/secret.json", b"/\xc0\xae\xc0\xae/secret.json",
    b"/one/%00/../../secret.json",
    b"/secret.json%00.html", b"/one/result.json%00", b"/one/result.json%20", b"/one/result.json.",
    b"/one/result.json/.",
    b"//127.0.0.1/secret.json", b"//secret.json", b"/one//result.json", b"/one/./result.json",
    b"/one/linked.html", b"/up/secret.json", b"/round/secret.json", b"/hard.json", b"/hard.json/",
    b"/etc/passwd", b"/%2fetc%2fpasswd", b"//etc/passwd", b"/file:///etc/passwd", b"/one", b"/one/", b"/~root/x.json",
    b"/con.json", b"/one/result.json::$DATA", b"/RESUL~1.JSO", b"/?/../secret.json", b"/#/../../secret.json", b"*",
    b"/..",
    b"/" + b"../" * 2000 + b"etc/passwd", b"/" + b"a/" * 20000, b"/" + b"%41" * 20000 + b".json",
    b"/one/report.html;.json", b"/%ef%bc%8e%ef%bc%8e/secret.json", b"/\xe2\x80\xa5/secret.json", b"/[::1]/x.json",
    b"http://[/",
]  # fmt: skip


@pytest.mark.parametrize("path", PATHS, ids=lambda path: repr(path[:40]))
def test_no_path_leads_out_of_the_folder(server, path):
    answer = get(server, path)
    gallery = path.startswith((b"/?", b"/#"))  # what follows is not part of the path
    assert status(answer) == (200 if gallery else 404)
    assert SECRET not in answer
    assert b"root:x:0" not in answer


def test_absolute_paths_are_not_served(server):
    absolute = str(server.place / "secret.json").encode()
    for path in (absolute, b"/" + absolute, absolute.replace(b"/", b"%2f"), b"file://" + absolute):
        assert SECRET not in get(server, path)


@pytest.mark.parametrize(
    ("request_line", "wanted"),
    [
        (b"GET /", {403}),  # HTTP/0.9 has no Host
        (b"GET / HTTP/9.9", {400, 505}),
        (b"GET / HTTP/1.1 more", {400}),
        (b"get /one/result.json HTTP/1.1", {501}),
        (b"BREW /one/result.json HTTP/1.1", {501}),
        (b"__init__ / HTTP/1.1", {501}),
        (b"GET " + b"/" * 70000 + b" HTTP/1.1", {414}),
    ],
)  # fmt: skip
def test_malformed_request_lines_are_refused_or_dropped(server, request_line, wanted):
    answer = exchange(server, request_line + b"\r\nHost: 127.0.0.1:%d\r\n\r\n" % server.server_port)
    assert b"Traceback" not in answer
    assert not answer.startswith(b"HTTP/") or status(answer) in wanted or request_line == b"GET /"


@pytest.mark.parametrize(
    "more",
    [
        [b"Host: evil.example"],  # a second one
        [b"X: " + b"a" * 70000],
        [b"X%d: a" % number for number in range(200)],
    ],
)
def test_malformed_headers_are_refused(server, more):
    answer = get(server, b"/one/result.json", *more)
    assert b"A run" not in answer
    assert b"Traceback" not in answer


@pytest.mark.parametrize(
    "host", [b"evil.example", b"127.0.0.1.evil.example", b"[::1]", b"0.0.0.0", b"127.1", b"2130706433", b"localhost."]
)
def test_another_name_for_this_machine_is_refused(server, host):
    port = b"%d" % server.server_port
    for name in (host, host + b":" + port, host + b"@127.0.0.1:" + port):
        answer = exchange(server, b"GET / HTTP/1.1\r\nHost: " + name + b"\r\n\r\n")
        assert status(answer) == 403
        assert b"A run" not in answer


def test_an_address_in_the_request_line_does_not_replace_the_host_header(server):
    answer = exchange(server, b"GET http://127.0.0.1:%d/ HTTP/1.1\r\nHost: evil.example\r\n\r\n" % server.server_port)
    assert status(answer) == 403


def test_only_the_loopback_address_listens(server):
    for address in ("127.0.0.2", *socket.gethostbyname_ex(socket.gethostname())[2]):
        if address != "127.0.0.1":
            with pytest.raises(OSError, match="refused"), socket.create_connection((address, server.server_port), 2):
                pass


@pytest.mark.parametrize("path", [b"/", b"/one/result.json", b"/nowhere", b"/plotly.min.js", b"/\xff"])
def test_every_response_has_the_security_headers(server, path):
    head = get(server, path).partition(b"\r\n\r\n")[0].decode("latin-1").lower()
    for header in (
        "x-content-type-options: nosniff", "x-frame-options: deny", "referrer-policy: no-referrer",
        "cross-origin-resource-policy: same-origin", "cache-control: no-store",
        "content-security-policy: default-src 'none'",
    ):  # fmt: skip
        assert header in head
    assert "python" not in head
    assert "unsafe-eval" not in head
    assert "access-control" not in head


def test_a_path_cannot_inject_headers(server):
    answer = get(server, b"/%0d%0aX-Evil:%201/x.json")
    assert b"x-evil" not in answer.lower()
