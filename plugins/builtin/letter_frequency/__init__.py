"""Letter frequency: whether rare letters are wrong more often than they occur, and what they are taken for.

Not a measure of how hard a letter is to a model in general: with few errors, single texts decide.
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
class LetterFrequency:
    """Each letter's share of the errors beside its share of English, and what it is mistaken for.

    The paper's figure, with the frequencies of Lewand (2000), and the same with those of the texts read.
    """

    name = "letter-frequency"
    checkpoints = "several"
    samples: int = field(default=1000, metadata={"help": "Texts to measure on."})

    def __post_init__(self) -> None:
        check_samples(self.samples)

    def run(self, ctx: "RunContext") -> "Result":
        """Count for every letter what each model takes it for."""
        from alice.plugins.builtin.letter_frequency.measure import tally
        from alice.plugins.builtin.letter_frequency.report import report

        return report([tally(one) for one in ctx.sample(self.samples).each])


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [LetterFrequency]
