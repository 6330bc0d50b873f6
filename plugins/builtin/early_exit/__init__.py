"""Early exit: what the model would answer if it stopped after each layer.

Not to be trusted as a measure of what a layer knows: the head was trained to read the last layer only, so an earlier
one may hold more than it shows here. Probes tell that.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alice.plugins.analysis import Analysis
from alice.plugins.builtin.example_options import check_example_options, check_examples_exist
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class EarlyExit:
    """Error, text and key at every layer's exit, read with the model's own head.

    Layer 0 is the embedding. The last exit must be the model's own answer to the letter, or there is no report.
    """

    name = "early-exit"
    checkpoints = "several"
    samples: int = field(default=1000, metadata={"help": "Texts to measure the error on."})
    text: str = field(default="", metadata={"help": "Ciphertext to follow through the layers, instead of examples."})
    encrypt: bool = field(default=False, metadata={"help": "Take --text for plaintext, and encrypt it first."})
    examples: tuple[int, ...] | None = field(
        default=None,
        metadata={"help": "Number of a text to follow through the layers, once for each.  [default: the first three]"},
    )

    def __post_init__(self) -> None:
        check_example_options(self.samples, self.text, self.encrypt, self.examples or ())

    def run(self, ctx: "RunContext") -> "Result":
        """Decode every layer of every model from one pass each."""
        from alice.plugins.builtin.early_exit.measure import follow_text, measure
        from alice.plugins.builtin.early_exit.report import report

        ctx = ctx.sample(self.samples)
        wanted = () if self.text else range(3) if self.examples is None else self.examples
        measured = [measure(one, wanted) for one in ctx.each]
        if self.text:
            traces = [[follow_text(one, self.text, encrypt=self.encrypt)] for one in ctx.each]
        else:
            traces = [[found.examples[number] for number in wanted if number in found.examples] for found in measured]
            check_examples_exist(self.examples or (), len(measured[0].errors))
        return report(measured, traces, rng=ctx.rng)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [EarlyExit]
