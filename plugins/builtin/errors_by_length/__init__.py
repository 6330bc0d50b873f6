"""Errors by length: how many errors a model makes in short and in long texts.

The figures of the paper are not comparable with these: each solver there was measured on its own texts. Solvers that
run here, such as the beam search over n-grams, read the same texts as the models.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_minimum, check_samples
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class ErrorsByLength:
    """Number of errors in texts of each length, next to the paper's tables and to other solvers."""

    name = "errors-by-length"
    checkpoints = "several"
    workers = True
    samples: int = field(default=1000, metadata={"help": "Number of texts."})
    solver: tuple[str, ...] = field(
        default=("guided", "beam"), metadata={"help": "Solver to compare the models with; repeat for several."}
    )
    solver_texts: int = field(
        default=100, metadata={"help": "Number of texts that the solvers read, too; 0 to run no solver."}
    )
    apart: bool = field(
        default=False,
        metadata={"help": "Compare also on the texts that share no passage with one of another split; reads them all."},
    )
    baselines: bool = field(
        default=False,
        metadata={"help": "Run the paper's baselines on the texts for solvers, too: same data, same compute."},
    )

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_minimum(self, solver_texts=0)

    def run(self, ctx: "RunContext") -> "Result":
        """Score every text with each model, and the first ones with the other solvers."""
        from alice.plugins.builtin.errors_by_length.measure import compare, model_differences, score_models
        from alice.plugins.builtin.errors_by_length.report import report
        from alice.plugins.solvers import check_solver, solvers_of

        for name in self.solver:
            check_solver(name, solvers_of(ctx))
        texts = ctx.sample(self.samples)
        models = score_models(texts)
        compared = None
        if self.solver and self.solver_texts:
            compared = compare(texts.sample(self.solver_texts), models, self.solver, apart=self.apart)
        result = report(models, compared, model_differences(texts, models))
        if self.baselines and self.solver_texts:
            from alice.plugins.builtin.errors_by_length.same_compute import add_baselines

            result = add_baselines(result, texts.sample(self.solver_texts))
        return result


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [ErrorsByLength]
