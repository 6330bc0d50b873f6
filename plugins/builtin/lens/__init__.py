"""Lens: what each layer already says about the answer, read through an affine translator that was trained for it.

Do not take a good reading as proof that the model uses what is read: a translator may pick up what later blocks ignore.
The causal check says how far what matters to the lens matters to the model.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_minimum, check_samples
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.plugins.findings import Findings
    from alice.reports import Result


@dataclass(frozen=True)
class Lens:
    """Plain exit, mean-shift lens and tuned lens side by side: error, KL and bias of every layer, and a causal check.

    The tuned lens has an affine translator for each layer but the last, trained on training texts to give the final
    answer's distribution through the model's own head. The report keeps the translators; --lens of other analyses and
    alice.load_lens read them.
    """

    name = "lens"
    workers = "its translators learn from all texts"
    grading: ClassVar[dict[str, Any]] = {"samples": 60, "training_texts": 200, "directions": 8, "causal_samples": 8}
    samples: int = field(default=300, metadata={"help": "Texts to measure the lenses on."})
    training_texts: int = field(default=3000, metadata={"help": "Texts of the training split to train on."})
    epochs: int = field(default=1, metadata={"help": "Passes over the training texts."})
    directions: int = field(default=16, metadata={"help": "Directions of each layer for the causal check."})
    causal_samples: int = field(
        default=16, metadata={"help": "Texts to find the directions on, and as many others to remove them from."}
    )

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_minimum(self, training_texts=2, epochs=1, directions=3, causal_samples=2)

    def run(self, ctx: "RunContext") -> "Result":
        """Train the translators of all layers together, measure three lenses, and compare their causes."""
        from alice.plugins.builtin.lens.causal import measure_causes
        from alice.plugins.builtin.lens.measure import measure
        from alice.plugins.builtin.lens.report import report
        from alice.plugins.builtin.lens.training import train

        ctx = ctx.sample(self.samples)
        trained = train(ctx.training(self.training_texts), epochs=self.epochs)
        measured = measure(ctx, trained)
        causes = measure_causes(ctx, trained, texts=self.causal_samples, directions=self.directions)
        return report(trained, measured, causes, rng=ctx.rng)

    def findings(self, result: "Result") -> "Findings":
        """Return the directions that the lens reads, from the layer where it has the answer on."""
        from alice.plugins.builtin.lens.report import findings

        return findings(result)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Lens]
