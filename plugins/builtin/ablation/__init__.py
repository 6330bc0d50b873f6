"""Ablation: what the answer loses when a head or a feed-forward layer is taken away.

Do not take a small effect as proof that a part does nothing: another part may do its work once it is gone. Nor is a
large one proof of a special role: a part that others build upon costs as much as what they do with it.
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
    from alice.plugins.verdicts import Verdicts
    from alice.reports import Result


@dataclass(frozen=True)
class Ablation:
    """What the answer loses without each head and feed-forward layer, and whether kinds of head explain it.

    A part's output is replaced by zero, by its mean, or by what it writes for another text. The loss is the share of
    the way from the clean answer (0 %) to the answer to that other text (100 %).
    """

    name = "ablation"
    workers = True
    grading: ClassVar[dict[str, Any]] = {"samples": 8, "pairs": 0, "permutations": 100}
    samples: int = field(default=16, metadata={"help": "Texts to measure on."})
    pairs: int = field(
        default=8, metadata={"help": "Heads to remove in pairs, those with the largest effects; 0 for none."}
    )
    permutations: int = field(
        default=10_000, metadata={"help": "Permutations to test whether kinds of head explain the effects."}
    )

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_minimum(self, pairs=0, permutations=1)

    def run(self, ctx: "RunContext") -> "Result":
        """Remove every part in turn, then pairs of heads, and compare with what `attention` says of the heads."""
        from alice.plugins.builtin.ablation.measure import measure
        from alice.plugins.builtin.ablation.report import report
        from alice.plugins.builtin.trials import example

        ctx = ctx.sample(self.samples)
        measured = measure(ctx, pairs=self.pairs)
        return report(measured, permutations=self.permutations, rng=ctx.rng, example=example(ctx))

    def findings(self, result: "Result") -> "dict[str, Findings]":
        """Return what each part costs, by what replaces it."""
        from alice.plugins.findings import Findings

        losses: dict[str, dict[str, float]] = {}
        for row in result.tables["parts"].records():
            losses.setdefault(str(row["replacement"]), {})[str(row["part"])] = abs(float(row["loss"] or 0))
        return {way: Findings(nodes=nodes) for way, nodes in losses.items()}

    def verdicts(self, result: "Result") -> "Verdicts":
        """Return which head and which part cost most, and whether kinds of head explain it, by what replaces a part."""
        from alice.plugins.builtin.ablation.report import verdicts

        return verdicts(result)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Ablation]
