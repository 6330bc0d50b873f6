"""N-grams: which lengths of letter sequences each layer gets right, read by probes and by the model's own head.

Not to be trusted as a measure of how many characters are right: counts of n-grams forget where they stood, so that an
answer may be wrong everywhere and still have the right letter frequencies. Early exits and probes tell that.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from alice.errors import AliceError
from alice.plugins.analysis import Analysis
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class Ngram:
    """Similarity of n-grams between what each layer says and the plaintext, and the layer where each n gains most.

    Layers are read by a linear probe, by an MLP probe and by the model's own head. Probes are trained on six tenths of
    the texts; n-grams are counted on the others. Layer 0 is the embedding.
    """

    name = "ngram"
    checkpoints = "several"
    samples: int = field(default=400, metadata={"help": "Texts: six in ten to train probes on, the others to count."})
    longest: int = field(default=8, metadata={"help": "Largest n."})
    characters: Literal["all", "letters"] = field(
        default="all",
        metadata={"help": "All characters count, or only places where the plaintext has a letter."},
    )
    epochs: int = field(default=4, metadata={"help": "How often the probes see every activation."})
    hidden: int = field(default=128, metadata={"help": "Width of the MLP's hidden layer."})

    def __post_init__(self) -> None:
        if self.samples < 2:
            raise AliceError(f"samples={self.samples} leaves no text to train on or none to count; give 2 or more")
        if not 1 <= self.longest <= 12:
            raise AliceError(f"longest={self.longest} is no length of n-grams to count; choose 1 to 12")
        if min(self.epochs, self.hidden) < 1:
            raise AliceError("epochs and hidden must be 1 or more; otherwise there is no probe")

    def run(self, ctx: "RunContext") -> "Result":
        """Train probes on every model, read with them, and compare n-grams."""
        from alice.plugins.builtin.ngram.measure import compare
        from alice.plugins.builtin.ngram.readings import read
        from alice.plugins.builtin.ngram.report import report

        ctx = ctx.sample(self.samples)
        compared = []
        for one in ctx.each:
            readings = read(one, epochs=self.epochs, hidden=self.hidden)
            readings = readings.letters_only() if self.characters == "letters" else readings
            compared.append(compare(readings, self.longest, one.rng))
        return report(compared, letters_only=self.characters == "letters")


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Ngram]
