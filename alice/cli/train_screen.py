"""The progress of a training: a live screen on a terminal, a line now and then elsewhere."""

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from time import monotonic
from typing import TYPE_CHECKING, Any

from rich.console import Console, Group
from rich.live import Live
from rich.padding import Padding
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from alice.training import Recipe

if TYPE_CHECKING:
    from alice.training import Training

SECONDS_BETWEEN_LINES = 30


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


class TrainScreen:
    """Collects the rows of the log and shows the latest value of each number."""

    def __init__(self, recipe: Recipe, console: Console) -> None:
        self.recipe, self.console = recipe, console
        self.notes: list[str] = []
        self.row: dict[str, Any] = {}
        self.ser: dict[str, float] = {}
        self._first: dict[str, Any] = {}
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
        self._first = self._first or row
        self.ser = row.get("ser", self.ser)
        self.row |= {name: value for name, value in row.items() if name != "ser"}
        if self._live is not None:
            self._live.update(self.render())
        elif "ser" in row or monotonic() - self._last_line > SECONDS_BETWEEN_LINES:
            self._last_line = monotonic()
            self.console.print(
                "  ".join(f"{name} {value}" for name, value in self._numbers()), highlight=False, soft_wrap=True
            )

    def render(self) -> Group:
        """Return the screen."""
        table = Table(box=None, show_header=False, pad_edge=False)
        for name, value in self._numbers():
            table.add_row(Text(name, style="dim"), value)
        used = self.recipe.progress(self.row.get("step", 0), self.row.get("seconds", 0.0))
        return Group(
            *(Text(note, style="dim") for note in self.notes),
            Padding(ProgressBar(total=1.0, completed=used, width=60), (0, 0, 1, 0)),
            table,
        )

    def _numbers(self) -> list[tuple[str, str]]:
        if "loss" not in self.row:
            return [("step", "starting")]
        row, recipe = self.row, self.recipe
        used = recipe.progress(row["step"], row["seconds"])
        # Measured in this process only: a resumed training may be on a faster machine than before.
        steps, seconds = row["step"] - self._first["step"], row["seconds"] - self._first["seconds"]
        tokens = row["tokens"] - self._first["tokens"]
        numbers = [
            ("step", f"{row['step']:,}" + (f" of {recipe.steps:,}" if recipe.steps else "")),
            ("loss", f"{row['loss']:.4f}"),
            ("learning rate", f"{row['lr']:.2e}"),
            ("tokens/s", f"{tokens / seconds:,.0f}" if seconds > 0 else "-"),
            ("SER", ", ".join(f"{name} {100 * value:.2f} %" for name, value in self.ser.items()) or "-"),
        ]
        left: float | None = None
        if recipe.hours is not None:
            left = (1 - used) * recipe.hours * 3600
        elif steps:
            left = ((recipe.steps or 0) - row["step"]) * seconds / steps
        return [*numbers, ("time left", _clock(left))]


def _clock(seconds: float | None) -> str:
    if seconds is None:
        return "-"
    minutes, rest = divmod(int(max(0, seconds)), 60)
    return f"{minutes // 60}:{minutes % 60:02}:{rest:02}"
