"""Probes: what every layer encodes about a character, and whether the model uses it.

Not evidence of how the model uses it: erasing shows that something depends on what a probe reads, not what computes
with it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, Literal, get_args

from alice.errors import AliceError
from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_minimum
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.plugins.findings import Findings
    from alice.reports import Result

Target = Literal["letter", "rank", "position", "word-length", "vowel", "symbol", "previous", "next"]
DEFAULT_TARGETS: tuple[Target, ...] = ("letter", "rank", "position", "word-length", "vowel")


@dataclass(frozen=True)
class Probe:
    """Linear and MLP probes on every layer, and whether the model uses what they read.

    The linear probes of all layers are trained together until they converge, on several splits of the texts. Three
    baselines stand next to every accuracy: the most frequent answer, a control task, and models with random weights.
    Then what the linear probes read is erased from the stream of each layer, and the model runs on without it. The
    verdict on each layer and target is: present and used, present but unused, or absent.
    """

    name = "probe"
    workers = "its probes learn from all texts"
    grading: ClassVar[dict[str, Any]] = {
        "samples": 200,
        "kind": "linear",
        "repeats": 1,
        "target": ("letter", "rank", "symbol", "previous", "next"),
    }
    samples: int = field(default=400, metadata={"help": "Number of texts; each split holds out a quarter of them."})
    kind: Literal["linear", "mlp", "both"] = field(
        default="both", metadata={"help": "Kind of probe; with both, the MLP reads only the plaintext letter."}
    )
    target: tuple[Target, ...] | None = field(
        default=None,
        metadata={"help": "Target of the probes; repeatable.  [default: all but symbol, previous and next]"},
    )
    repeats: int = field(
        default=3, metadata={"help": "Number of splits, each with a control task and a random model of its own."}
    )
    erasures: int = field(
        default=1, metadata={"help": "Random erasures of each text to compare the erasure of a target with."}
    )
    hidden: int = field(default=128, metadata={"help": "Width of the MLP's hidden layer."})
    epochs: int = field(default=4, metadata={"help": "Passes over the activations when training MLPs."})

    def __post_init__(self) -> None:
        check_minimum(self, samples=4, repeats=1, erasures=1, hidden=1, epochs=1)  # two to train on, two for the rest
        unknown = [target for target in self.targets if target not in get_args(Target)]
        if unknown or not self.targets:
            raise AliceError(
                f"target {', '.join(unknown) or '()'} is unknown; choose from {', '.join(get_args(Target))}"
            )

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets without duplicates, in the order of the report."""
        return DEFAULT_TARGETS if self.target is None else tuple(dict.fromkeys(self.target))

    def run(self, ctx: "RunContext") -> "Result":
        """Train the probes and their baselines, erase what they read, and judge."""
        from alice.plugins.builtin.probe.measure import jobs, measure
        from alice.plugins.builtin.probe.report import report

        asked, ctx = jobs(self.kind, self.targets), ctx.sample(self.samples)
        options = {"hidden": self.hidden, "epochs": self.epochs, "repeats": self.repeats, "erasures": self.erasures}
        return report(measure(ctx, asked, **options))

    def findings(self, result: "Result") -> "Findings":
        """Return the verdict on every target and layer; its score is the accuracy beyond the most frequent answer."""
        from alice.plugins.findings import ConceptFinding, Findings

        rows: list[Any] = result.tables["use"].records() if "use" in result.tables else []
        concepts = (ConceptFinding(row["target"], row["layer"], row["readable"], row["verdict"]) for row in rows)
        return Findings(concepts=tuple(concepts))


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Probe]
