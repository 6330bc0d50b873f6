"""`alice-interp view`: the gallery of all reports, in the browser, for this machine only."""

import threading
import webbrowser
from pathlib import Path

import click

from alice.cli.options import PATH
from alice.errors import AliceError


@click.command(short_help="Show the gallery of all reports in the browser.")
@click.argument("folder", metavar="[DIR]", default="runs", type=PATH)
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on.  [default: any free one]")
@click.option("--browser/--no-browser", default=True, help="Open the browser.  [default: yes]")
def view(folder: Path, port: int, browser: bool) -> None:
    """Serve the gallery of the reports in DIR (default: runs) on 127.0.0.1 until Ctrl-C, and open it."""
    from alice.reports.server import serving  # slow to import, and `--help` does not need it

    with serving(folder, port=port) as server:
        _renew(folder)
        click.echo(f"{server.url} shows {folder}; Ctrl-C stops it")
        try:
            if browser:
                webbrowser.open(server.url)
            threading.Event().wait()
        except KeyboardInterrupt:
            click.echo("\nstopped")


def _renew(folder: Path) -> None:
    """Bring the gallery in the folder up to date; a folder that cannot be written is shown all the same."""
    from alice.reports.gallery import is_gallery, write_gallery
    from alice.reports.html import INDEX

    try:
        if is_gallery(folder / INDEX):
            write_gallery(folder)
    except (OSError, AliceError):
        return
