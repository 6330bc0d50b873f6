"""Early exit: what the model would answer if it stopped after each layer.

Do not take this as a measure of what a layer knows: the head was trained to read the last layer only, so an earlier one
may hold more than it shows here. Use a probe for that.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_example_options, check_examples_exist, lens_field
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.plugins.findings import Findings
    from alice.reports import Result


@dataclass(frozen=True)
class EarlyExit:
    """Error, text and key after every layer, read with the model's own head.

    Layer 0 is the embedding. The answer at the last layer must equal the model's own; otherwise the analysis fails.
    With --lens every layer is translated first, and only what the lens reads is reported.
    """

    name = "early-exit"
    checkpoints = "several"
    workers = True
    grading: ClassVar[dict[str, Any]] = {"samples": 200}
    samples: int = field(default=1000, metadata={"help": "Texts to measure the error on."})
    text: str = field(default="", metadata={"help": "Ciphertext to follow through the layers, instead of examples."})
    encrypt: bool = field(default=False, metadata={"help": "Treat --text as plaintext and encrypt it first."})
    examples: tuple[int, ...] | None = field(
        default=None,
        metadata={"help": "Number of a text to follow through the layers; repeatable.  [default: the first three]"},
    )
    lens: Path | None = lens_field()

    def __post_init__(self) -> None:
        check_example_options(self.samples, self.text, self.encrypt, self.examples or ())

    def run(self, ctx: "RunContext") -> "Result":
        """Decode every layer of every model, in one pass per model."""
        from alice.plugins.builtin.early_exit.measure import measure
        from alice.plugins.builtin.early_exit.report import report

        ctx = ctx.sample(self.samples)
        examples = range(3) if self.examples is None else self.examples
        measured = [
            measure(one, examples, text=self.text, encrypt=self.encrypt, lens=one.lens(self.lens)) for one in ctx.each
        ]
        if not self.text:
            check_examples_exist(self.examples or (), len(measured[0].errors))
        return report(measured, rng=ctx.rng, lens=self.lens)

    def findings(self, result: "Result") -> "Findings":
        """Return the first layer whose SER is within a percentage point of that of the last one."""
        from alice.plugins.findings import Findings, array_of

        rates = array_of(result, "ser").mean(0)
        return Findings(answer_layer=int((abs(rates - rates[-1]) <= 1).argmax()))


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [EarlyExit]
