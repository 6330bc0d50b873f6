"""N-grams: which lengths of letter sequences each layer gets right, as probes and the model's own head read it.

Do not read it as the share of correct characters: n-gram counts ignore positions, so an answer can be wrong everywhere
and still have the right letter frequencies. `early-exit` and `probe` measure correct characters.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from alice.errors import AliceError
from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_minimum, lens_field
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class Ngram:
    """Similarity of n-grams between the answer of each layer and the plaintext, and the layer where each n gains most.

    Each layer is read by a linear probe, by an MLP probe and by the model's own head. The probes are trained on six
    tenths of the texts; n-grams are counted on the others. Layer 0 is the embedding. Every similarity is compared with
    those of null models, which have as many wrong letters.
    """

    name = "ngram"
    checkpoints = "several"
    workers = "its probes learn from all texts"
    samples: int = field(default=400, metadata={"help": "Texts: six in ten to train probes on, the others to count."})
    longest: int = field(default=8, metadata={"help": "Largest n."})
    characters: Literal["all", "letters"] = field(
        default="all",
        metadata={"help": "Count all characters, or only positions where the plaintext has a letter."},
    )
    epochs: int = field(default=4, metadata={"help": "Passes over the activations when training MLPs."})
    hidden: int = field(default=128, metadata={"help": "Width of the MLP's hidden layer."})
    null_draws: int = field(default=5, metadata={"help": "Draws of each null model of the same accuracy."})
    lens: Path | None = lens_field()

    def __post_init__(self) -> None:
        check_minimum(self, samples=2, epochs=1, hidden=1, null_draws=1)  # two texts: one to train on, one to count in
        if not 1 <= self.longest <= 12:
            raise AliceError(f"longest={self.longest} is not a supported n-gram length; choose 1 to 12")

    def run(self, ctx: "RunContext") -> "Result":
        """Train probes on every model, read the other texts with them, and compare n-grams."""
        from alice.plugins.builtin.ngram.measure import compare, read
        from alice.plugins.builtin.ngram.report import report

        letters_only, ctx = self.characters == "letters", ctx.sample(self.samples)
        compared = []
        for one in ctx.each:
            readings = read(one, epochs=self.epochs, hidden=self.hidden, lens=one.lens(self.lens))
            readings = readings.letters_only() if letters_only else readings
            compared.append(compare(readings, self.longest, null_draws=self.null_draws, seed=one.seed))
        return report(compared, letters_only=letters_only, lens=self.lens)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Ngram]
