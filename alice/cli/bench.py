"""`alice-interp bench`: measures speed and memory as ratios."""

import json
from pathlib import Path
from typing import TYPE_CHECKING

import click

from alice.bench.suite import BENCHMARKS, Bench, find
from alice.cli.options import out_option
from alice.cli.progress import track
from alice.cli.run import say_done

if TYPE_CHECKING:
    from alice.reports import Table

NARROW = ("benchmark", "case", "ratio", "quartiles", "target", "met")
"""Columns that fit a terminal; the report has all."""


@click.command(epilog=f"Benchmarks: {', '.join(benchmark.name for benchmark in BENCHMARKS)}.")
@click.argument("names", nargs=-1)
@click.option("--quick", is_flag=True, help="Fewer rounds and smaller samples: a rough look.")
@click.option("--json", "as_json", is_flag=True, help="Print the table as JSON.")
@out_option
def bench(names: tuple[str, ...], quick: bool, as_json: bool, out: Path) -> None:
    """Measure speed and memory as ratios of things done side by side in one process.

    NAMES choose some of the benchmarks. Without any, all of them run, which takes some minutes on an idle machine.
    Everything runs on the CPU.
    """
    from alice.plugins import RunContext
    from alice.plugins.runner import run_analysis

    find(names)  # refuses a misspelt name before anything is measured
    stored = run_analysis(Bench(only=names, quick=quick), RunContext(seed=0, tracker=track), out=out)
    table = stored.tables["ratios"]
    if as_json:
        click.echo(json.dumps({"folder": str(stored.folder), "ratios": table.records()}, indent=2))
    else:
        _print_table(table)
        say_done(stored)


def _print_table(table: "Table") -> None:
    from rich import table as rich_table
    from rich.console import Console

    shown = rich_table.Table(*NARROW, box=None)
    for row in table.records():
        row["ratio"] = f"{row['ratio']:.3g}"
        shown.add_row(*(str(row[column]) for column in NARROW), style="red" if row["met"] == "no" else "")
    Console().print(shown)
