"""Evidence: which characters of a text decided what a letter is read as.

Do not take an attribution for a proof: it says where along one path the score came from, and another baseline gives
other numbers. The deletion curve is the check that the ranking means something for this model.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Literal, get_args

from alice.errors import AliceError
from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_example_options, check_examples_exist, check_minimum
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.plugins.verdicts import Verdicts
    from alice.reports import Result

Baseline = Literal["mean", "zero", "other-text"]
"""The mean embedding; zeros; embeddings of another text with the same word lengths, at the same positions."""
Removal = Literal["mean", "mask", "word"]
"""The mean embedding in its place; hidden from attention and from the head; another word in its place."""


@dataclass(frozen=True)
class Evidence:
    """Which characters of a text decided each letter: integrated gradients, words left out, and a deletion test.

    The score of a cipher symbol is the log-probability of its right answer, or of the model's own answer where the
    solution is not known.
    """

    name = "evidence"
    checkpoints = "several"
    workers = True
    methods: ClassVar[dict[str, tuple[str, ...]]] = {"baseline": get_args(Baseline), "removal": get_args(Removal)}
    samples: int = field(default=8, metadata={"help": "Texts to measure the shares and the deletion curves on."})
    symbols: int = field(default=1, metadata={"help": "Cipher symbols of each text to explain, drawn at random."})
    steps: int = field(default=64, metadata={"help": "Points of the integral over gradients."})
    baseline: Baseline = field(
        default="mean",
        metadata={"help": "Embeddings that the integral starts from: the mean one, zeros, or those of another text."},
    )
    removal: Removal = field(
        default="mean",
        metadata={"help": "How a word is left out: mean embedding, hidden from attention, or other words instead."},
    )
    draws: int = field(default=3, metadata={"help": "Random orders of deletion, and words that replace each word."})
    text: str = field(default="", metadata={"help": "Ciphertext to show the evidence in, instead of examples."})
    encrypt: bool = field(default=False, metadata={"help": "Treat --text as plaintext and encrypt it first."})
    examples: tuple[int, ...] | None = field(
        default=None, metadata={"help": "Number of a text to show the evidence in; repeatable.  [default: the first]"}
    )

    def __post_init__(self) -> None:
        check_example_options(self.samples, self.text, self.encrypt, self.examples or ())
        check_minimum(self, symbols=1, steps=1, draws=1)
        if self.removal == "word" and self.text and not self.encrypt:
            raise AliceError("--removal word needs the key of --text; give the plaintext with --encrypt")

    def run(self, ctx: "RunContext") -> "Result":
        """Attribute the answers of every model, check the attributions by deletion, and show some texts."""
        from alice.plugins.builtin.evidence.measure import Settings, measure
        from alice.plugins.builtin.evidence.report import report

        ctx = ctx.sample(self.samples)
        check_examples_exist(() if self.text else self.examples or (), len(ctx.plaintexts))
        examples = (0,) if self.examples is None else self.examples
        settings = Settings(self.symbols, self.steps, self.baseline, self.removal, self.draws)
        measured = [measure(one, settings, examples, text=self.text, encrypt=self.encrypt) for one in ctx.each]
        return report(measured, rng=ctx.rng)

    def verdicts(self, result: "Result") -> "Verdicts":
        """Return whether the ranking of each model is better than chance."""
        from alice.plugins.verdicts import OWN

        areas = [metric for metric in result.metrics if metric.name == "deletion-area"]
        return {
            OWN: {
                f"ranking-beats-chance@{area.model}": area.interval is not None and area.interval[0] > 0
                for area in areas
            }
        }


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Evidence]
