"""Speed: how many letters per second a model solves, next to classical solvers on the same texts.

Compare speeds within one report only; they depend on the machine and its load.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from alice.errors import AliceError
from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_length, check_minimum
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result

MOST_CLIMBS = 10_000


@dataclass(frozen=True)
class Speed:
    """Letters per second of the models, and of classical solvers on the same texts.

    Models are timed one text at a time and in batches, on one core and on all, with the share of time that the
    bijective head spends on its assignment. Times vary, so this is the only analysis whose result does, too.
    """

    name = "speed"
    checkpoints = "several"
    workers = "it measures time, which they would share as well"
    timings = (
        *("summary", "caveats", "metrics.letters-per-second-*", "metrics.assignment-share", "metrics.rounds"),
        *("tables.models.letters_per_second", "tables.models.low", "tables.models.high", "tables.models.cores"),
        *("tables.models.characters_per_second", "tables.models.assignment_share", "tables.solvers.letters_per_second"),
        *("words of table models", "figures.models", "figures.solvers", "arrays.seconds", "arrays.seconds-same-texts"),
    )
    samples: int = field(default=50, metadata={"help": "Number of texts to time the models on."})
    rounds: int = field(default=5, metadata={"help": "Maximum number of rounds; every model reads all texts in each."})
    seconds: float = field(
        default=10.0, metadata={"help": "Time limit for all rounds together, and for each classical solver."}
    )
    length: int | None = field(
        default=None,
        metadata={"help": "Join the texts and cut them into ciphers of this length.  [default: texts as they are]"},
    )
    classical: int = field(
        default=12, metadata={"help": "Number of texts for the classical solvers; 0 to leave them out."}
    )
    climbs: int = field(
        default=100, metadata={"help": "Maximum number of restarts per text of a solver that climbs from random keys."}
    )
    training_texts: int | None = field(
        default=None,
        metadata={"help": "Maximum number of training texts for a solver.  [default: as many as it asks for]"},
    )

    def __post_init__(self) -> None:
        check_minimum(self, samples=1, rounds=1, seconds=0, length=1, classical=0, climbs=1, training_texts=1)
        if self.climbs > MOST_CLIMBS:
            raise AliceError(f"climbs={self.climbs} is too large; give {MOST_CLIMBS} or fewer")

    def run(self, ctx: "RunContext") -> "Result":
        """Time the models in turns, then run all solvers on the first texts."""
        from alice.plugins.builtin.speed.measure import compare, time_models
        from alice.plugins.builtin.speed.report import report

        check_length(ctx, self.length or 0)
        whole = ctx.sample(self.samples)
        texts = whole if self.length is None else whole.joined(self.length)
        timings = time_models(texts, rounds=self.rounds, seconds=self.seconds)
        limits: dict[str, Any] = {"training": self.training_texts, "climbs": self.climbs, "seconds": self.seconds}
        compared = compare(texts.sample(self.classical), whole, **limits) if self.classical else None
        offered = sum(len(batch) for batch in texts.batches)
        return report(timings, compared, offered=offered, length=self.length, rng=ctx.rng)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Speed]
