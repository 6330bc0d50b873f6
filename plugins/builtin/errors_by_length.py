"""Errors by length: how many mistakes a model makes in short texts and in long ones.

Not to be read as a race with the solvers of the paper: each was measured on texts of its own.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alice.plugins.analysis import Analysis
from alice.plugins.builtin.example_options import check_samples
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class ErrorsByLength:
    """How many errors texts of each length have, and the paper's tables beside its figures and other solvers'."""

    name = "errors-by-length"
    checkpoints = "several"
    samples: int = field(default=1000, metadata={"help": "Texts to measure on."})

    def __post_init__(self) -> None:
        check_samples(self.samples)

    def run(self, ctx: "RunContext") -> "Result":
        """Score every text with each model."""
        from alice.evaluate import score
        from alice.plugins.builtin.errors_by_length_report import Measured, report

        measured = []
        for one in ctx.sample(self.samples).each:
            batches = ctx.progress(one.batches, f"Reading with {one.checkpoint}")
            scores = score(one.model, (batch.to("cpu") for batch in batches))
            measured.append(Measured(one.checkpoint, one.model.config.variant, scores, scores.table(ctx.rng)))
        return report(measured, rng=ctx.rng)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [ErrorsByLength]
