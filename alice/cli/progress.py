"""A progress bar on a terminal, for what takes longer than two seconds; a line now and then everywhere else."""

from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from datetime import timedelta
from time import monotonic
from typing import TypeVar

import click
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn, TimeRemainingColumn
from rich.text import Text

T = TypeVar("T")

SECONDS_BEFORE_SHOWING = 2.0
SECONDS_BETWEEN_UPDATES = 0.1
SECONDS_BETWEEN_LINES = 30.0
"""How often a log file gets a line; what takes less than this leaves none."""


def track(items: Iterable[T], label: str, *, total: int | None = None, console: Console | None = None) -> Iterator[T]:
    """Yield the items and show on stderr how many have passed; `total` is their number, if known."""
    console = console or Console(stderr=True)
    return (_tracked if console.file.isatty() else _logged)(items, label, total, console)


def busy(label: str) -> AbstractContextManager[object]:
    """Show on a terminal that the block is at work."""
    return Console(stderr=True).status(Text(f"{label} ..."))


def _logged(items: Iterable[T], label: str, total: int | None, console: Console) -> Iterator[T]:
    """Yield the items and write a line for each half minute that they take."""
    started = monotonic()
    due = started + SECONDS_BETWEEN_LINES
    for done, item in enumerate(items, start=1):
        yield item
        if monotonic() >= due:
            seconds = timedelta(seconds=round(monotonic() - started))
            share = f"{done:,} of {total:,}" if total is not None else f"{done:,}"
            click.echo(f"{label}: {share}, {seconds}", file=console.file)
            due = monotonic() + SECONDS_BETWEEN_LINES


def _tracked(items: Iterable[T], label: str, total: int | None, console: Console) -> Iterator[T]:
    columns = [TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    bar = Progress(*columns, *([TimeRemainingColumn()] if total else []), console=console, transient=True)
    task = bar.add_task(label, total=total)
    due = monotonic() + SECONDS_BEFORE_SHOWING
    try:
        for done, item in enumerate(items, start=1):
            yield item
            if monotonic() >= due:
                bar.start()  # does nothing if it is shown already
                bar.update(task, completed=done)
                due = monotonic() + SECONDS_BETWEEN_UPDATES
    finally:
        bar.stop()
