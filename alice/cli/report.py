"""`alice-interp report`: write the page of a stored report again, without a model."""

from pathlib import Path

import click

from alice.cli.options import FILE, PATH, force_option


@click.command(short_help="Write the page of a stored report again.")
@click.argument("folder", metavar="DIR", type=PATH)
@click.option("--standalone", is_flag=True, help="A single file that needs no others, about 5 MB.")
@click.option("--out", type=FILE, metavar="FILE", help="Where to write.  [default: DIR/report.html]")
@force_option
def report(folder: Path, standalone: bool, out: Path | None, force: bool) -> None:
    """Write the page of the report in DIR again, without a model, and bring its gallery up to date."""
    from alice.reports.archive import read_report  # slow to import, and `--help` does not need it
    from alice.reports.gallery import is_gallery, write_entry, write_gallery
    from alice.reports.html import INDEX, write_report

    stored = read_report(folder)
    written = write_report(stored, out=out, standalone=standalone, force=force)
    reports = stored.stored_in.absolute().parent
    if out is None:
        write_entry(stored)
    if is_gallery(reports / INDEX):  # a folder that was copied elsewhere has none, and need not get one
        write_gallery(reports)
    click.echo(str(written))
