"""Features: directions of every layer's stream that sparse autoencoders find, what they name and what they do.

Do not take a feature for a unit of the computation: another size, sparsity or seed gives other features, and one that
names a concept need not be what the model uses. The tables say how stable they are and what removing them costs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_minimum
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.plugins.findings import Findings
    from alice.reports import Result


@dataclass(frozen=True)
class Features:
    """Sparse features of every layer: what they keep of the model, which concepts they name, and how stable they are.

    BatchTopK autoencoders are trained on the residual stream at all characters of training texts, those of all layers
    at once. They are stored with the report; alice.load_features loads them.
    """

    name = "features"
    workers = "its autoencoders learn from all texts"
    grading: ClassVar[dict[str, Any]] = {
        "samples": 10,
        "training": 1600,
        "fitting": 60,
        "expansion": 1,
        "active": 2,
        "seeds": 2,
        "shown": 1,
    }
    samples: int = field(default=200, metadata={"help": "Held-out texts to measure on."})
    training: int = field(default=4000, metadata={"help": "Training texts to train the autoencoders on."})
    fitting: int = field(
        default=400, metadata={"help": "The first of these, to match features with concepts and to train probes on."}
    )
    expansion: int = field(default=4, metadata={"help": "Features of each layer, per dimension of the stream."})
    active: int = field(default=4, metadata={"help": "Features that are active at a character, on average."})
    seeds: int = field(default=3, metadata={"help": "Trainings from other initial directions, to test stability."})
    shown: int = field(default=12, metadata={"help": "Features to show of each layer, those that carry most first."})

    def __post_init__(self) -> None:
        check_minimum(self, samples=1, training=1, fitting=1, expansion=1, active=1, seeds=1, shown=1)

    def run(self, ctx: "RunContext") -> "Result":
        """Train autoencoders on training texts and measure their features on held-out ones."""
        from alice.plugins.builtin.features.measure import Settings, measure
        from alice.plugins.builtin.features.report import report

        settings = Settings(self.expansion, self.active, self.training, self.fitting, self.seeds, self.shown)
        return report(measure(ctx.sample(self.samples), settings), rng=ctx.rng)

    def findings(self, result: "Result") -> "Findings":
        """Return the directions of the features that every seed finds, by the share of the stream that they carry."""
        from alice.plugins.builtin.features.report import directions

        return directions(result)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Features]
