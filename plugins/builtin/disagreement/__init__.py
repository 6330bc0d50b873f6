"""Disagreement: where the network and the language model read a letter differently, and who is right.

It compares two sources of knowledge in one solver. It does not say what the network computes: a letter that both know
may be known for different reasons.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_minimum, check_samples
from alice.plugins.hookspecs import hookimpl
from alice.plugins.solvers import LANGUAGE_TEXTS

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class Disagreement:
    """What the network knows, what the language model knows, and who is right where they disagree.

    Every text is solved by the network alone, by the language model alone, and by the guided search with the answer of
    each layer of the network. As a control, the search is also guided by the network's answer to another text.
    """

    name = "disagreement"
    checkpoints = "one"
    workers = "the search for each text is also misled with the text before it"
    samples: int = field(default=100, metadata={"help": "Number of texts."})
    training_texts: int = field(
        default=LANGUAGE_TEXTS, metadata={"help": "Maximum number of training texts for the language model."}
    )
    beam: int = field(default=1000, metadata={"help": "Keys that the search keeps for short and unusual texts."})

    def __post_init__(self) -> None:
        check_samples(self.samples)
        check_minimum(self, training_texts=1, beam=1)

    def run(self, ctx: "RunContext") -> "Result":
        """Learn the language from the training split, then solve every text in each way."""
        from alice.plugins.builtin.disagreement.measure import measure
        from alice.plugins.builtin.disagreement.report import report
        from alice.plugins.solvers import SolverSetup
        from alice.solving import GuidedSearch
        from alice.solving.guided import NARROW, WIDE

        texts, most = ctx.sample(self.samples), self.training_texts
        languages = SolverSetup(lambda count: texts.training_texts(min(count, most))).languages()
        narrow = (min(self.beam, NARROW[0]), NARROW[1])
        search = GuidedSearch(languages, narrow=narrow, wide=(self.beam, WIDE[1]))
        return report(measure(texts, search), rng=ctx.rng)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Disagreement]
