"""Probes: what every layer encodes about a character, whether or not the model's own head can read it there.

Not evidence of what the model uses: a probe shows that information can be read from a layer, not that a later layer
reads it.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, get_args

from alice.errors import AliceError
from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_minimum
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result

Target = Literal["letter", "rank", "position", "word-length", "vowel"]


@dataclass(frozen=True)
class Probe:
    """Linear and MLP probes on every layer: plaintext letter, frequency rank, position in the word, vowels.

    Probes of all layers are trained together on some of the texts and tested on the others. Three baselines stand next
    to every accuracy: a control task, the same probe on a model with random weights, and the most frequent answer.
    """

    name = "probe"
    samples: int = field(default=400, metadata={"help": "Number of texts; a quarter of them are held out."})
    kind: Literal["linear", "mlp", "both"] = field(
        default="both", metadata={"help": "Kind of probe; with both, the MLP reads only the plaintext letter."}
    )
    target: tuple[Target, ...] | None = field(
        default=None, metadata={"help": "Target of the probes; repeatable.  [default: all]"}
    )
    hidden: int = field(default=128, metadata={"help": "Width of the MLP's hidden layer."})
    epochs: int = field(default=4, metadata={"help": "Number of passes over the activations."})

    def __post_init__(self) -> None:
        check_minimum(self, samples=2, hidden=1, epochs=1)  # two texts: one to train on, one to test on
        unknown = [target for target in self.targets if target not in get_args(Target)]
        if unknown or not self.targets:
            raise AliceError(
                f"target {', '.join(unknown) or '()'} is unknown; choose from {', '.join(get_args(Target))}"
            )

    @property
    def targets(self) -> tuple[str, ...]:
        """The targets without duplicates, in the order of the report."""
        return get_args(Target) if self.target is None else tuple(dict.fromkeys(self.target))

    def run(self, ctx: "RunContext") -> "Result":
        """Train the probes and their controls on the model, and the probes on a model with random weights."""
        from alice.plugins.builtin.probe.measure import jobs, measure
        from alice.plugins.builtin.probe.report import report

        asked = jobs(self.kind, self.targets)
        return report(measure(ctx.sample(self.samples), asked, hidden=self.hidden, epochs=self.epochs), rng=ctx.rng)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Probe]
