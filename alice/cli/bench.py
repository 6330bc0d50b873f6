"""`alice-interp bench`: measures speed and memory as ratios."""

from pathlib import Path
from typing import TYPE_CHECKING

import click

from alice.cli.progress import track
from alice.cli.running import say_done

if TYPE_CHECKING:
    from alice.reports.archive import Report

NARROW = ("benchmark", "case", "ratio", "quartiles", "target", "met")
"""Columns that fit a terminal; the report has all."""


@click.command()
@click.argument("names", nargs=-1)
@click.option("--quick", is_flag=True, help="Fewer rounds and smaller samples: a rough look.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@click.option(
    "--out",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("runs"),
    show_default=True,
    help="Folder of all runs.",
)
def bench(names: tuple[str, ...], quick: bool, as_json: bool, out: Path) -> None:
    """Measure speed and memory as ratios of things done side by side in one run.

    NAMES choose some of the benchmarks: hooks, solving, buckets, bijective, exits, probes, cache, cache-memory, memory,
    training, startup, growth. Without any all are run, which takes some minutes on a quiet machine.
    """
    from alice.bench.analysis import Bench
    from alice.bench.suite import find
    from alice.plugins import RunContext
    from alice.plugins.runner import run_analysis

    find(names)  # a misspelt name is told before anything is measured
    stored = run_analysis(Bench(only=names, quick=quick), RunContext(seed=0, tracker=track), out=out)
    if as_json:
        _print_json(stored)
    else:
        _print_table(stored)
        say_done(stored)


def _print_json(stored: "Report") -> None:
    import json

    table = stored.result.tables["ratios"]
    rows = [dict(zip(table.columns, row, strict=True)) for row in table.rows]
    click.echo(json.dumps({"folder": str(stored.folder), "ratios": rows}, indent=2))


def _print_table(stored: "Report") -> None:
    from rich.console import Console
    from rich.table import Table

    found = stored.result.tables["ratios"]
    shown = Table(*NARROW, box=None)
    for row in found.rows:
        cells = dict(zip(found.columns, row, strict=True))
        cells["ratio"] = f"{cells['ratio']:.3g}"
        shown.add_row(*(str(cells[column]) for column in NARROW), style="red" if cells["met"] == "no" else "")
    Console().print(shown)
