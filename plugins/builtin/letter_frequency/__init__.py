"""Letter frequency: whether rare letters have more than their share of the errors, and what they are taken for.

Do not take this as a measure of how hard a letter is in general: with few errors, single texts decide.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_samples
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class LetterFrequency:
    """Each letter's share of the errors compared with its share of English, and what it is mistaken for.

    The paper's figure, with the frequencies of Lewand (2000), and the same with those of the texts measured.
    """

    name = "letter-frequency"
    checkpoints = "several"
    workers = True
    samples: int = field(default=1000, metadata={"help": "Texts to measure on."})

    def __post_init__(self) -> None:
        check_samples(self.samples)

    def run(self, ctx: "RunContext") -> "Result":
        """Count what each model takes every letter for."""
        from alice.plugins.builtin.letter_frequency.measure import measure
        from alice.plugins.builtin.letter_frequency.report import report

        return report([measure(one) for one in ctx.sample(self.samples).each])


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [LetterFrequency]
