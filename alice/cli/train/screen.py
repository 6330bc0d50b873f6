"""The progress of one training, or of all of a sweep: a live screen on a terminal, a line now and then elsewhere."""

import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from alice.errors import printable
from alice.training import Recipe

if TYPE_CHECKING:
    from alice.training import Training
    from alice.training.sweep import Member

SECONDS_BETWEEN_LINES = 30
BAR_WIDTH = 20
NOTES = 5
"""Sentences shown below the table of a sweep, the latest ones."""
COLUMNS = ("step", "loss", "SER", "time left")
"""What that table has of each training."""


def is_first_process() -> bool:
    """Return whether this is the process that prints, if there are several."""
    return os.environ.get("RANK", "0") == "0"


def train_on_screen(
    training: "Training",
    *,
    resume: bool,
    device: str | None,
    track: tuple[str, ...],
    stop: Callable[[], bool],
    allow_changed_data: bool = False,
) -> bool:
    """Carry out a training and show its progress; return whether its budget was used up."""
    from alice.training import train

    screen = TrainScreen(training.recipe, Console(stderr=True, quiet=not is_first_process()))
    with screen.shown():
        return train(
            training,
            resume=resume,
            allow_changed_data=allow_changed_data,
            device=device,
            trackers=track,
            report=screen.report,
            say=screen.say,
            stop=stop,
        )


class Progress:
    """Collects the rows of a training's log and has the latest value of each number."""

    def __init__(self, recipe: Recipe) -> None:
        self.recipe = recipe
        self.row: dict[str, Any] = {}
        self.ser: dict[str, float] = {}
        self._first: dict[str, Any] = {}

    def add(self, row: dict[str, Any]) -> None:
        """Add a row of the log."""
        self._first = self._first or row
        self.ser = row.get("ser", self.ser)
        self.row |= {name: value for name, value in row.items() if name != "ser"}

    @property
    def used(self) -> float:
        """Share of the budget that has been used, 0 to 1."""
        return self.recipe.progress(self.row.get("step", 0), self.row.get("seconds", 0.0))

    @property
    def line(self) -> str:
        """All numbers in one line."""
        if "loss" not in self.row:
            return self.numbers()["step"]
        return "  ".join(f"{name} {value}" for name, value in self.numbers().items())

    def numbers(self) -> dict[str, str]:
        """Return the numbers as shown, by name."""
        if "loss" not in self.row:
            return {"step": "starting"}
        row, recipe = self.row, self.recipe
        # Measured in this process only: a resumed training may be on a faster machine than before.
        steps, seconds = row["step"] - self._first["step"], row["seconds"] - self._first["seconds"]
        tokens = row["tokens"] - self._first["tokens"]
        left: float | None = None
        if recipe.hours is not None:
            left = (1 - self.used) * recipe.hours * 3600
        elif steps:
            left = ((recipe.steps or 0) - row["step"]) * seconds / steps
        return {
            "step": f"{row['step']:,}" + (f" of {recipe.steps:,}" if recipe.steps else ""),
            "loss": f"{row['loss']:.4f}",
            "learning rate": f"{row['lr']:.2e}",
            "tokens/s": f"{tokens / seconds:,.0f}" if seconds > 0 else "-",
            "SER": ", ".join(f"{name} {100 * value:.2f} %" for name, value in self.ser.items()) or "-",
            "time left": _clock(left),
        }


class TrainScreen:
    """Shows the latest numbers of one training."""

    def __init__(self, recipe: Recipe, console: Console) -> None:
        self.progress, self.console = Progress(recipe), console
        self.notes: list[str] = []
        self._last_line = 0.0
        self._live: Live | None = None

    @contextmanager
    def shown(self) -> Iterator["TrainScreen"]:
        """Update live during the block, if there is a terminal."""
        if not self.console.is_terminal:
            yield self
            return
        with Live(self.render(), console=self.console, refresh_per_second=4) as self._live:
            yield self

    def say(self, line: str) -> None:
        """Show a decision of the trainer."""
        self.notes.append(line)
        if self._live is None:
            self.console.print(line, highlight=False, soft_wrap=True, markup=False)
        else:
            self._live.update(self.render())

    def report(self, row: dict[str, Any]) -> None:
        """Show a row of the log."""
        self.progress.add(row)
        if self._live is not None:
            self._live.update(self.render())
        elif "ser" in row or monotonic() - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = monotonic()
            self.console.print(self.progress.line, highlight=False, soft_wrap=True)

    def render(self) -> Group:
        """Return the screen."""
        table = Table(box=None, show_header=False, pad_edge=False)
        for name, value in self.progress.numbers().items():
            table.add_row(Text(name, style="dim"), value)
        return Group(
            *(Text(note, style="dim") for note in self.notes),
            Padding(ProgressBar(total=1.0, completed=self.progress.used, width=60), (0, 0, 1, 0)),
            table,
        )


class SweepScreen:
    """Shows how far the trainings of a sweep on workers have come.

    It reads the logs in their folders, which is where the workers write, whatever machine they are on.
    """

    def __init__(self, members: "Iterable[Member]", console: Console) -> None:
        self.console = console
        self.folders = {member.name: member.training.folder for member in members}
        self.progress = {member.name: Progress(member.training.recipe) for member in members}
        self.notes: list[str] = []
        self._live: Live | None = None
        self._due = monotonic() + SECONDS_BETWEEN_LINES

    @contextmanager
    def shown(self) -> Iterator["SweepScreen"]:
        """Update live during the block, if there is a terminal."""
        if not self.console.is_terminal:
            yield self
            return
        with Live(self.render(), console=self.console, refresh_per_second=2) as self._live:
            yield self

    def say(self, line: str) -> None:
        """Show a sentence."""
        self.notes.append(printable(line))
        if self._live is None:
            self.console.print(self.notes[-1], highlight=False, soft_wrap=True, markup=False)
        else:
            self._live.update(self.render())

    def look(self) -> None:
        """Read what the trainings have logged since the last look."""
        from alice.training.folder import latest_rows

        advanced = []
        for name, progress in self.progress.items():
            before = progress.row.get("step", -1)
            for row in latest_rows(self.folders[name]):
                if row["step"] > before or (row["step"] == before and "ser" in row):
                    progress.add(row)
            if progress.row.get("step", -1) > before:
                advanced.append(name)
        if self._live is not None:
            self._live.update(self.render())
        elif monotonic() >= self._due:
            self._due = monotonic() + SECONDS_BETWEEN_LINES
            for name in advanced:
                line = f"{name}: {self.progress[name].line}"
                self.console.print(printable(line), highlight=False, soft_wrap=True, markup=False)

    def render(self) -> Group:
        """Return the screen."""
        table = Table("training", "", *COLUMNS, box=None, pad_edge=False, header_style="dim")
        for name, progress in self.progress.items():
            numbers = progress.numbers() if progress.row else {"step": "waiting"}
            if "all" in progress.ser:
                numbers["SER"] = f"{100 * progress.ser['all']:.2f} %"
            if progress.used >= 1:
                numbers["time left"] = "finished"
            bar = ProgressBar(total=1.0, completed=progress.used, width=BAR_WIDTH)
            table.add_row(Text(printable(name)), bar, *(Text(numbers.get(column, "")) for column in COLUMNS))
        return Group(table, *(Text(note, style="dim") for note in self.notes[-NOTES:]))


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes, rest = divmod(int(max(0, seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
