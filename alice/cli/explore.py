"""`alice-interp explore`: write one offline page that runs a model in the browser."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from alice.cli.options import FILE, force_option
from alice.errors import AliceError

if TYPE_CHECKING:
    from alice.plugins import RunContext


@click.command(short_help="Write a page that runs a model in the browser.")
@click.option("--ckpt", default="base", show_default=True, help="Bundled model, checkpoint folder or hub id.")
@click.option("--out", type=FILE, default="explore.html", show_default=True, metavar="FILE", help="Page to write.")
@click.option("--state", metavar="TEXT", help="What the page opens on: a link copied from such a page, or JSON.")
@force_option
def explore(ckpt: str, out: Path, state: str | None, force: bool) -> None:
    """Write one HTML file in which a reader types a cryptogram and takes the model apart.

    It holds the model and runs it in the browser, without network and with nothing installed. Written into the folder
    of the reports (runs/explore-base.html), it is linked from reports on the same model that are written later.
    """
    from alice.reports.explorer.state import check, parse

    given = None if state is None else parse(state)  # refuses what is no state before the weights are read

    from alice.checkpoint import resolve
    from alice.checkpoint.packed import pack
    from alice.outputs import check_file
    from alice.reports.explorer.beside import model_of
    from alice.reports.explorer.write import write

    path = check_file(out, read=[resolve(ckpt)], is_ours=lambda path: model_of(path) is not None, force=force)
    packed = pack(ckpt)
    write(path, packed.header, packed.weights, None if given is None else check(given, packed.header["config"]))
    click.echo(str(path))


def write_explorers(ctx: "RunContext", out: Path) -> list[Path]:
    """Write the explorer page of every model of a context into a folder of reports, and return their paths."""
    from alice.checkpoint.packed import pack_weights
    from alice.files import make_folder
    from alice.outputs import check_file
    from alice.reports.explorer.beside import file_name, model_of
    from alice.reports.explorer.write import write
    from alice.reports.publish import check_place

    folder, written = check_place(out), []
    make_folder(folder)
    for one in ctx.each:
        if one.named_model is None:
            raise AliceError("--explore writes a page that runs a model, and this analysis has none; leave it out")
        model, name = one.model, one.checkpoint
        path = check_file(folder / file_name(name), is_ours=lambda path: model_of(path) is not None)
        packed = pack_weights(name, model.config, model.state_dict(), where=name)
        write(path, packed.header, packed.weights)
        written.append(path)
        click.echo(f"explorer of {name}: {path}", err=True)
    return written
