"""Scaling: what more computing buys, for models of different size.

It reads what trainings have logged; `alice-interp sweep scaling` makes them.
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
class Scaling:
    """Error on held-out texts against the operations spent on training, a line for each size of model.

    A power law is fitted to the best error that any of the models reaches with so many operations.
    """

    name = "scaling"
    checkpoints = "none"
    needs = ("runs",)
    runs: tuple[Path, ...] = runs_field("alice-interp sweep scaling")
    fit_below: float = field(
        default=1.0, metadata={"help": "Fit to error rates below this only, to leave out the slow start."}
    )

    def __post_init__(self) -> None:
        if not 0 < self.fit_below <= 1:
            raise AliceError(f"fit_below={self.fit_below} is no error rate; give more than 0 and at most 1")

    def run(self, ctx: "RunContext") -> "Result":
        """Read the runs and draw them."""
        from alice.plugins.builtin.scaling.report import report
        from alice.training.records import read_runs

        return report(read_runs(self.runs), fit_below=self.fit_below)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Scaling]
