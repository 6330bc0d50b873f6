"""The gallery on localhost, for `alice-interp view`: read-only, one folder, this machine only.

It refuses requests that name another host, because a page on the web could otherwise point a name of its own at
127.0.0.1 and read the reports. The list of reports is made for each request, and so is a report of an older design;
the script that draws comes from the installed plotly, not from the folder.
"""

import io
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from alice.errors import AliceError
from alice.reports import gallery, html, page, plotly_script
from alice.reports.archive import read_without_arrays
from alice.reports.explorer import write as explorer

ADDRESS = "127.0.0.1"
HTTP_PORT = 80
BROKEN = "This page cannot be made, because the files of its report are damaged or not as alice-interp writes them.\n"
BUSY = b"HTTP/1.0 503 Service Unavailable\r\nContent-Type: text/plain\r\nContent-Length: 5\r\n\r\nbusy\n"
TEXT, SCRIPT = "text/plain; charset=utf-8", "text/javascript; charset=utf-8"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".npz": "application/octet-stream",
    ".svg": "image/svg+xml",
}
"""Types of the files that are served; a report folder has no others."""
MOST_CLIENTS = 64
"""Requests that are answered at the same time."""
SECONDS_TO_WAIT = 5
"""How long another client waits for one of these to finish before it is refused."""
SECONDS_TO_ASK = 10
"""A client that has not sent its whole request by then is dropped."""
SECONDS_TO_READ = 30
"""A client that does not read for this long is dropped."""
SECONDS_TO_ANSWER = 300
"""A client that has not read its answer by then is dropped."""
SECONDS_TO_STOP = 0.05
"""How often the server checks whether it should stop."""
PIECE = 2**16
"""Bytes that are read and sent at once."""


class GalleryServer(ThreadingHTTPServer):
    """Serves one folder of reports on 127.0.0.1."""

    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def __init__(self, folder: Path, *, port: int = 0, clients: int = MOST_CLIENTS) -> None:
        if not folder.is_dir():
            raise AliceError(f"there is no folder {folder}; run an analysis first, or name another folder")
        self.folder = folder.resolve()
        self.free = threading.BoundedSemaphore(clients)
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise AliceError(f"cannot listen on port {port}: {error.strerror}; choose another with --port") from error

    @property
    def url(self) -> str:
        """The address of the gallery."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def process_request(self, request: Any, client_address: Any) -> None:
        """Answer in a thread; refuse the client if all threads stay busy."""
        if self.free.acquire(timeout=SECONDS_TO_WAIT):
            try:
                super().process_request(request, client_address)
            except BaseException:  # no thread was started
                self.free.release()
                raise
            return
        request.setblocking(False)
        request.send(BUSY)
        self.shutdown_request(request)

    def process_request_thread(self, request: Any, client_address: Any) -> None:
        """Answer one client and make room for another."""
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.free.release()

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Print nothing when a browser closes a connection early."""


@contextmanager
def serving(folder: Path, *, port: int = 0, clients: int = MOST_CLIENTS) -> Iterator[GalleryServer]:
    """Serve a folder in the background during a `with` block."""
    with GalleryServer(folder, port=port, clients=clients) as server:
        thread = threading.Thread(target=server.serve_forever, args=(SECONDS_TO_STOP,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Request(io.RawIOBase):
    """The bytes that a client sends, all of them within `SECONDS_TO_ASK`."""

    def __init__(self, connection: socket.socket) -> None:
        self._connection, self._until = connection, time.monotonic() + SECONDS_TO_ASK

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        left = self._until - time.monotonic()
        if left <= 0:
            raise TimeoutError
        self._connection.settimeout(left)
        return self._connection.recv_into(buffer)


class _Handler(BaseHTTPRequestHandler):
    server: GalleryServer
    server_version = "alice-interp"
    sys_version = ""
    timeout = SECONDS_TO_READ

    def setup(self) -> None:
        """Bound the time for the whole request: one byte now and then would restart a limit for each read."""
        super().setup()
        self.rfile.close()
        self.rfile = io.BufferedReader(_Request(self.connection))

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def log_message(self, *args: Any, **kwargs: Any) -> None:
        """Keep the terminal quiet."""

    def version_string(self) -> str:
        return self.server_version

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer in one line of plain text; the standard page would repeat parts of the request."""
        self._send(HTTPStatus(code), TEXT, f"{HTTPStatus(code).phrase}\n".encode())

    def _answer(self) -> None:
        self.connection.settimeout(self.timeout)
        if not self._is_for_us():
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        try:
            found = answer(self.server.folder, self.path)
        except Exception:  # a damaged folder can raise anything, and the browser needs an answer
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, TEXT, BROKEN.encode())
            return
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            self._send(HTTPStatus.OK, *found)

    def _is_for_us(self) -> bool:
        port = self.server.server_port
        endings = (f":{port}", "") if port == HTTP_PORT else (f":{port}",)  # browsers omit the default port
        return self.headers.get_all("Host") in [[f"{name}{end}"] for name in (ADDRESS, "localhost") for end in endings]

    def _send(self, status: HTTPStatus, kind: str, content: bytes | Path) -> None:
        size = content.stat().st_size if isinstance(content, Path) else len(content)
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(size))
        for name, value in security_headers().items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "HEAD":
            return
        last = time.monotonic() + SECONDS_TO_ANSWER
        for piece in _pieces(content, size):
            self.wfile.write(piece)
            if time.monotonic() > last:
                self.close_connection = True
                return


def _pieces(content: bytes | Path, size: int) -> Iterator[bytes | memoryview]:
    """Yield a content in pieces, so that a slow client does not hold a copy of it."""
    if isinstance(content, bytes):
        view = memoryview(content)
        yield from (view[start : start + PIECE] for start in range(0, size, PIECE))
        return
    with content.open("rb") as file:
        while size > 0 and (piece := file.read(min(PIECE, size))):
            size -= len(piece)
            yield piece


@cache
def security_headers() -> dict[str, str]:
    """Return the headers of every answer: only our own scripts run, and nothing is leaked or cached."""
    inlined = page.script_hash(plotly_script.source())
    sources = dict.fromkeys(["'self'", *html.scripts(), *gallery.scripts(), *explorer.scripts(), inlined])
    policy = page.policy(sources, images="'self' data: blob:")
    return {
        "Content-Security-Policy": f"{policy}; {explorer.WORKER}; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


def answer(folder: Path, target: str) -> tuple[str, bytes | Path] | None:
    """Return the type and the content that a request asks for, or None if it may not be served."""
    asked = _asked(target)
    if asked is None:
        return None
    if asked in ("/", f"/{html.INDEX}"):
        return TYPES[".html"], _index()
    if asked == f"/{gallery.ENTRIES}":
        return SCRIPT, gallery.render_entries(gallery.read_entries(folder))
    if asked == f"/{plotly_script.FILE}":
        return SCRIPT, plotly_script.content()
    path = locate(folder, target)
    if path is None:
        return None
    try:
        if _is_page(path, folder) and not _is_current(html.head(path)):
            text = html.render_pages(read_without_arrays(path.parent)).get(path.name)
            return None if text is None else (TYPES[path.suffix], text.encode())
    except (OSError, AliceError):
        return None
    return TYPES[path.suffix], path


def _is_page(path: Path, folder: Path) -> bool:
    """Tell whether a file is named like a page of a report in the gallery."""
    stem = Path(html.REPORT).stem
    return path.suffix == ".html" and path.parent.parent == folder and (path.stem + "-").startswith(f"{stem}-")


def locate(folder: Path, target: str) -> Path | None:
    """Return the file below `folder` that a request names, or None if it does not exist or may not be served."""
    asked = _asked(target)
    if asked is None:
        return None
    root, *parts = asked.split("/")
    if root or "\\" in asked or "\0" in asked:
        return None
    if any(part.startswith(".") or not part for part in parts):  # `..`, hidden files, folders that are being written
        return None
    path = folder.joinpath(*parts)
    try:
        inside = path.resolve(strict=True).is_relative_to(folder)
    except (OSError, RuntimeError, ValueError):
        return None
    return path if inside and path.is_file() and path.suffix in TYPES else None


def _asked(target: str) -> str | None:
    """Return the path that a request names, or None if it is not valid."""
    try:
        return unquote(urlsplit(target).path, errors="strict")
    except ValueError:
        return None


@cache
def _index() -> bytes:
    return gallery.render_index().encode()


def _is_current(head: bytes) -> bool:
    """Tell whether the policy of this server allows all scripts of a report, by what its own policy names."""
    inlined = page.script_hash(plotly_script.source())
    drawn = b"nonce-" in head or _named(inlined) in head
    return drawn and all(_named(source) in head for source in html.scripts())


def _named(source: str) -> bytes:
    return source.strip("'").encode()  # the quotes are escaped in a page
