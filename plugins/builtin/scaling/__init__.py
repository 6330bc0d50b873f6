"""Scaling: how far the error falls with the operations spent on training, for models of different size.

It reads the logs of trainings; `alice-interp sweep scaling` makes them. Do not extrapolate the power law: it has no
floor, and one training per size says nothing about other seeds.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from alice.errors import AliceError
from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import trainings_field
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class Scaling:
    """Symbol error rate on held-out texts against the operations spent on training, a line for each size of model.

    A power law is fitted to the lowest error that any of the models reaches with a given number of operations.
    Trainings that rename the letters of their input in different ways are compared seed by seed.
    """

    name = "scaling"
    checkpoints = "none"
    needs = ("trainings",)
    trainings: tuple[Path, ...] = trainings_field("alice-interp sweep scaling", "bundled:sizes")
    fit_below: float = field(
        default=100.0, metadata={"help": "Fit only to SERs below this, in percent, to leave out the slow start."}
    )

    def __post_init__(self) -> None:
        if not 0 < self.fit_below <= 100:
            raise AliceError(f"fit_below={self.fit_below} is not a SER in percent; give more than 0 and at most 100")

    def run(self, ctx: "RunContext") -> "Result":
        """Read the trainings and fit the power law."""
        from alice.plugins.builtin.scaling.measure import measure
        from alice.plugins.builtin.scaling.report import report
        from alice.training import read_trainings

        return report(measure(read_trainings(self.trainings), fit_below=self.fit_below / 100), fit_below=self.fit_below)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Scaling]
