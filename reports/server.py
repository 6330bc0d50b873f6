"""The gallery on localhost, for `alice-interp view`: reads only, only below its folder, only for this machine.

It refuses requests that name another host, because a page on the web could otherwise point a name of its own at
127.0.0.1 and read along. The gallery is made anew for each request of `/`, and so is a report of an older design;
the script that draws comes from the installed plotly, whatever lies in the folder.
"""

import threading
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

ADDRESS = "127.0.0.1"
HTTP_PORT = 80
BROKEN = "This page cannot be made, because the files of its run are damaged or not as alice-interp writes them.\n"
TYPES = {
    ".html": "text/html; charset=utf-8",
    ".json": "application/json",
    ".npz": "application/octet-stream",
}
"""Kinds of files that are served; a run folder has no other."""
SECONDS_TO_SEND = 30
"""After this long a silent client is dropped."""

SECONDS_TO_STOP = 0.05
"""How often the server looks whether it should end."""


class GalleryServer(ThreadingHTTPServer):
    """Serves one folder of runs on 127.0.0.1."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, folder: Path, *, port: int = 0) -> None:
        if not folder.is_dir():
            raise AliceError(f"there is no folder {folder}; run an analysis first, or name another folder")
        self.folder = folder.resolve()
        try:
            super().__init__((ADDRESS, port), _Handler)
        except OSError as error:
            raise AliceError(f"cannot listen on port {port}: {error.strerror}; choose another with --port") from error

    @property
    def url(self) -> str:
        """The address of the gallery."""
        return f"http://{ADDRESS}:{self.server_port}/"

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing when a browser hangs up in the middle, which browsers do."""


@contextmanager
def serving(folder: Path, *, port: int = 0) -> Iterator[GalleryServer]:
    """Serve a folder in the background for as long as a `with` lasts."""
    with GalleryServer(folder, port=port) as server:
        thread = threading.Thread(target=server.serve_forever, args=(SECONDS_TO_STOP,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()


class _Handler(BaseHTTPRequestHandler):
    server: GalleryServer
    server_version = "alice-interp"
    sys_version = ""
    timeout = SECONDS_TO_SEND

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
        self._send(HTTPStatus(code), "text/plain; charset=utf-8", f"{HTTPStatus(code).phrase}\n".encode())

    def _answer(self) -> None:
        if not self._is_for_us():
            self.send_error(HTTPStatus.FORBIDDEN)
            return
        try:
            found = answer(self.server.folder, self.path)
        except Exception:  # whatever a stranger's folder provokes, the browser gets an answer
            self._send(HTTPStatus.INTERNAL_SERVER_ERROR, "text/plain; charset=utf-8", BROKEN.encode())
            return
        if found is None:
            self.send_error(HTTPStatus.NOT_FOUND)
        else:
            self._send(HTTPStatus.OK, *found)

    def _is_for_us(self) -> bool:
        port = self.server.server_port
        endings = (f":{port}", "") if port == HTTP_PORT else (f":{port}",)  # browsers leave the usual port out
        return self.headers.get_all("Host") in [[f"{name}{end}"] for name in (ADDRESS, "localhost") for end in endings]

    def _send(self, status: HTTPStatus, kind: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(content)))
        for name, value in security_headers().items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


@cache
def security_headers() -> dict[str, str]:
    """Return what every answer carries: only our own scripts run, and nothing leaks or stays."""
    inlined = page.script_hash(plotly_script.source())
    sources = dict.fromkeys(["'self'", *html.scripts(), *gallery.scripts(), inlined])
    return {
        "Content-Security-Policy": page.policy(sources) + "; frame-ancestors 'none'",
        "X-Content-Type-Options": "nosniff",
        "X-Frame-Options": "DENY",
        "Referrer-Policy": "no-referrer",
        "Cross-Origin-Resource-Policy": "same-origin",
        "Cache-Control": "no-store",
    }


def answer(folder: Path, target: str) -> tuple[str, bytes] | None:
    """Return the type and the content of what a request asks for, or None if that may not be had."""
    if target == f"/{plotly_script.FILE}":
        return "text/javascript; charset=utf-8", plotly_script.source().encode()
    path = locate(folder, target)
    if path is None:
        return None
    try:
        return TYPES[path.suffix], _content(folder, path)
    except (OSError, AliceError):
        return None


def locate(folder: Path, target: str) -> Path | None:
    """Return the file below `folder` that a request names, or None if there is none or it may not be served."""
    try:
        asked = unquote(urlsplit(target).path, errors="strict")
    except ValueError:
        return None
    if asked in ("/", f"/{html.INDEX}"):
        return folder / html.INDEX  # made on request, whether or not it lies there
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


def _content(folder: Path, path: Path) -> bytes:
    if path == folder / html.INDEX:
        return gallery.render_gallery(folder).encode()
    content = path.read_bytes()
    if path.name == html.REPORT and path.parent.parent == folder and not _is_current(content):
        return html.render_report(read_without_arrays(path.parent)).encode()
    return content


def _is_current(report: bytes) -> bool:
    """Tell whether the policy of this server lets all scripts of a report run."""
    inlined = page.script_hash(plotly_script.source())
    drawn = f'/{plotly_script.FILE}" nonce='.encode() in report or _named(inlined) in report
    return drawn and all(_named(source) in report for source in html.scripts())


def _named(source: str) -> bytes:
    return source.strip("'").encode()  # the quotes are escaped in a page
