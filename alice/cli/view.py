"""`alice-interp view`: the gallery of all reports, in the browser, for this machine only."""

import threading
import webbrowser
from pathlib import Path

import click


@click.command(short_help="Show the gallery of all reports in the browser.")
@click.argument("folder", metavar="[DIR]", default="runs", type=click.Path(path_type=Path))
@click.option("--port", type=click.IntRange(0, 65535), default=0, help="Port to listen on.  [default: any free one]")
@click.option("--browser/--no-browser", default=True, help="Open the browser.  [default: yes]")
def view(folder: Path, port: int, browser: bool) -> None:
    """Serve the gallery of the runs in DIR (runs/ if not given) on 127.0.0.1 until Ctrl-C, and open it."""
    from alice.reports.server import serving  # here: `--help` should not wait for numpy and plotly

    with serving(folder, port=port) as server:
        click.echo(f"{server.url} shows {folder}; Ctrl-C ends")
        try:
            if browser:
                webbrowser.open(server.url)
            threading.Event().wait()
        except KeyboardInterrupt:
            click.echo("\nno longer serving")
