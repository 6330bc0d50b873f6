"""Relabelling: whether a model changes its answer when the cipher letters are renamed.

Says nothing about whether the answer is right: a model may be wrong in the same way every time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_example_options, check_minimum
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class Relabelling:
    """How often a model changes its answer when the cipher letters are renamed; a perfect solver never would.

    Every text is read under several random relabellings. How far the answers differ can be measured without the
    plaintext; where it is known, the report also has the error under each relabelling and that of a majority vote.
    """

    name = "relabelling"
    checkpoints = "several"
    workers = True
    samples: int = field(default=200, metadata={"help": "Number of texts."})
    relabellings: int = field(default=10, metadata={"help": "Number of random relabellings of each text, 2 or more."})
    example: int | None = field(
        default=None,
        metadata={"help": "Number of the text to show, counted from 0.  [default: the one that changes most]"},
    )
    text: str = field(default="", metadata={"help": "Ciphertext to show instead of an example."})
    encrypt: bool = field(default=False, metadata={"help": "Treat --text as plaintext, so that errors are known."})
    file: Path | None = field(
        default=None,
        metadata={"help": "File of ciphertexts to read instead of the data, one per line, without plaintext."},
    )

    def __post_init__(self) -> None:
        check_example_options(self.samples, self.text, self.encrypt, () if self.example is None else [self.example])
        check_minimum(self, relabellings=2)

    def run(self, ctx: "RunContext") -> "Result":
        """Read every text under every relabelling with each model."""
        from alice.plugins.builtin.relabelling.measure import measure, read_given
        from alice.plugins.builtin.relabelling.report import report

        ctx = ctx.sample(self.samples)
        limits = {"samples": self.samples, "count": self.relabellings}
        measured = [measure(one, file=self.file, wanted=self.example, **limits) for one in ctx.each]
        examples = [found.example for found in measured]
        if self.text:
            examples = [read_given(one, self.text, encrypt=self.encrypt, count=self.relabellings) for one in ctx.each]
        return report(measured, examples, rng=ctx.rng)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Relabelling]
