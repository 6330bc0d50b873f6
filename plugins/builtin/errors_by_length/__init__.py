"""Errors by length: how many mistakes a model makes in short texts and in long ones.

Not to be read as a race with the solvers of the paper: each was measured on texts of its own. Solvers that run here,
such as the beam search over n-grams, have the texts of the models.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alice.errors import AliceError
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
    solver: tuple[str, ...] = field(
        default=("beam",), metadata={"help": "Solver to compare the models with; repeat it for several."}
    )
    solver_texts: int = field(
        default=100, metadata={"help": "First texts that the solvers get, too; 0 leaves the solvers out."}
    )

    def __post_init__(self) -> None:
        check_samples(self.samples)
        if self.solver_texts < 0:
            raise AliceError(f"solver_texts={self.solver_texts} is no number of texts; give 0 or more")

    def run(self, ctx: "RunContext") -> "Result":
        """Score every text with each model, and the first ones with the other solvers."""
        from alice.plugins.builtin.errors_by_length import solvers as others
        from alice.plugins.builtin.errors_by_length.report import Measured, report
        from alice.solving.evaluate import score

        others.check_solvers(ctx, self.solver)
        measured, texts = [], ctx.sample(self.samples)
        for one in texts.each:
            batches = ctx.progress(one.batches, f"Reading with {one.checkpoint}")
            scores = score(one.model, (batch.to("cpu") for batch in batches))
            measured.append(Measured(one.checkpoint, one.model.config.variant, scores, scores.table(ctx.rng)))
        same = None
        if self.solver and self.solver_texts:
            few = texts.sample(self.solver_texts)
            same = others.compare(few, [found.scores for found in measured], self.solver)
        return report(measured, same, rng=ctx.rng)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [ErrorsByLength]
