"""Circuit: which connections between heads and feed-forward layers the answer depends on.

Do not take a circuit for the mechanism: it is the smallest set of edges that keeps the score under one kind of
corruption, and another kind gives another set. The gradient methods are estimates; `--exact` measures every edge, but
only one at a time, so edges that stand in for one another all look useless.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal

from alice.errors import AliceError
from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_minimum
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.plugins.findings import Findings
    from alice.plugins.verdicts import Verdicts
    from alice.reports import Result


@dataclass(frozen=True)
class CircuitAnalysis:
    """Which edges between heads and MLPs the answer depends on, and how few of them keep it.

    The model is a graph: the embedding, the heads with their query, key and value inputs, the MLPs and the output.
    Every edge is scored on half of the texts; circuits of the best edges are tested on the other half.
    """

    name = "circuit"
    workers = "it keeps its pieces on disk, one after another"
    grading: ClassVar[dict[str, Any]] = {"samples": 16}
    methods: ClassVar[dict[str, tuple[str, ...]]] = {
        "counterfactual": ("other-text", "one-word", "one-pattern"),
        "replacement": ("resample", "mean", "zero"),
    }
    samples: int = field(default=32, metadata={"help": "Texts: the first half to score edges, the others to test."})
    counterfactual: Literal["other-text", "one-word", "one-pattern"] = field(
        default="other-text", metadata={"help": "How each text is corrupted."}
    )
    replacement: Literal["resample", "mean", "zero"] = field(
        default="resample", metadata={"help": "What a corrupted edge carries: the corrupted text's value, or these."}
    )
    edges: float = field(default=10.0, metadata={"help": "Size of the chosen circuit, in percent of all edges."})
    steps: int = field(default=5, metadata={"help": "Steps of the integrated gradients."})
    exact: bool = field(
        default=False, metadata={"help": "Also patch every edge, and integrate over activations. Can be resumed."}
    )

    def __post_init__(self) -> None:
        check_minimum(self, samples=2, steps=1)
        if not 0 < self.edges <= 100:
            raise AliceError(f"edges={self.edges} is not a share of the edges; give a percentage above 0 and up to 100")

    def run(self, ctx: "RunContext") -> "Result":
        """Score the edges, then test circuits."""
        from alice.plugins.builtin.circuit.measure import measure
        from alice.plugins.builtin.circuit.report import report
        from alice.plugins.builtin.trials import example

        ctx = ctx.sample(self.samples)
        measured = measure(
            ctx,
            counterfactual=self.counterfactual,
            replacement=self.replacement,
            steps=self.steps,
            percent=self.edges,
            exactly=self.exact,
        )
        return report(measured, example=example(ctx))

    def findings(self, result: "Result") -> "dict[str, Findings]":
        """Return the effect of every edge, by method; that of a node is the largest of the edges that leave it."""
        from alice.plugins.builtin.circuit.report import claims

        return claims(result)

    def verdicts(self, result: "Result") -> "Verdicts":
        """Return whether the circuit keeps more than a random ranking, and which part matters most by each method."""
        from alice.plugins.builtin.circuit.report import verdicts

        return verdicts(result)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [CircuitAnalysis]
