"""`alice-interp report`: write the page of a stored result again, without a model."""

from pathlib import Path

import click


@click.command(short_help="Write the page of a stored result again.")
@click.argument("folder", metavar="DIR", type=click.Path(path_type=Path))
@click.option("--standalone", is_flag=True, help="One single file that needs no other, about 5 MB.")
@click.option(
    "--out", type=click.Path(path_type=Path), metavar="FILE", help="Where to write.  [default: DIR/report.html]"
)
def report(folder: Path, standalone: bool, out: Path | None) -> None:
    """Write the page of the result stored in DIR again; no model is needed."""
    from alice.reports.archive import read_report  # here: `--help` should not wait for numpy and plotly
    from alice.reports.gallery import is_gallery, write_gallery
    from alice.reports.html import INDEX, write_report

    run = read_report(folder)
    written = write_report(run, out=out, standalone=standalone)
    runs = run.stored_in.absolute().parent
    if is_gallery(runs / INDEX):  # a folder that was copied elsewhere has none, and need not get one
        write_gallery(runs)
    click.echo(str(written))
