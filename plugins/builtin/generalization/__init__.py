"""Generalization: how many keys a model must be trained on before it solves texts under keys it has never seen.

It reads what trainings have logged; `alice-interp sweep generalization` makes them.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from alice.errors import AliceError
from alice.plugins.analysis import Analysis
from alice.plugins.builtin.trainings_option import runs_field
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class Generalization:
    """Training loss, and accuracy on unseen keys, of runs trained on pools of different size.

    A model that has few keys to learn may know them by heart: its loss is low, and other keys are beyond it.
    """

    name = "generalization"
    checkpoints = "none"
    needs = ("runs",)
    runs: tuple[Path, ...] = runs_field("alice-interp sweep generalization")
    window: int = field(default=51, metadata={"help": "Logged losses to smooth over at most; fewer in a short run."})
    threshold: float = field(default=0.9, metadata={"help": "Accuracy on unseen keys that counts as generalising."})

    def __post_init__(self) -> None:
        if self.window < 1:
            raise AliceError(f"window={self.window} leaves nothing to smooth over; give 1 or more")
        if not 0 < self.threshold <= 1:
            raise AliceError(f"threshold={self.threshold} is no accuracy; give more than 0 and at most 1")

    def run(self, ctx: "RunContext") -> "Result":
        """Read the runs and draw them."""
        from alice.plugins.builtin.generalization.report import report
        from alice.training.records import read_runs

        return report(read_runs(self.runs), window=self.window, threshold=self.threshold)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Generalization]
