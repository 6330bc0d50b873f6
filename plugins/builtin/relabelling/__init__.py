"""Relabelling: whether a model changes its answer when the cipher letters get other names.

Says nothing about whether the answer is right: a model may be wrong in the same way every time.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from alice.errors import AliceError
from alice.plugins.analysis import Analysis
from alice.plugins.builtin.example_options import check_example_options
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class Relabelling:
    """How often a model changes its answer when the cipher alphabet is renamed; a perfect solver never would.

    Every text is read under several random relabellings, each a key after the key. How far the answers differ needs no
    solution; where it is known, there is also the error under each relabelling and that of a vote of them all.
    """

    name = "relabelling"
    checkpoints = "several"
    samples: int = field(default=200, metadata={"help": "Texts to measure on."})
    relabellings: int = field(default=10, metadata={"help": "Random relabellings of each text, 2 or more."})
    example: int | None = field(
        default=None,
        metadata={"help": "Number of the text to show, counted from 0.  [default: that which changes most]"},
    )
    text: str = field(default="", metadata={"help": "Ciphertext to show, instead of an example."})
    encrypt: bool = field(default=False, metadata={"help": "Take --text for plaintext, so that errors are known."})
    file: Path | None = field(
        default=None,
        metadata={"help": "Ciphertexts to measure on instead of the data, one a line; their solution is not known."},
    )

    def __post_init__(self) -> None:
        check_example_options(self.samples, self.text, self.encrypt, () if self.example is None else [self.example])
        if self.relabellings < 2:
            raise AliceError(f"relabellings={self.relabellings} leaves nothing to compare; give 2 or more")

    def run(self, ctx: "RunContext") -> "Result":
        """Read every text under every relabelling with each model."""
        from alice.plugins.builtin.relabelling.measure import given_text, measure
        from alice.plugins.builtin.relabelling.report import report

        ctx = ctx.sample(self.samples)
        limits = {"samples": self.samples, "count": self.relabellings}
        measured = [measure(one, file=self.file, wanted=self.example, **limits) for one in ctx.each]
        shown = [found.shown for found in measured]
        if self.text:
            shown = [given_text(one, self.text, encrypt=self.encrypt, count=self.relabellings) for one in ctx.each]
        return report(measured, shown, rng=ctx.rng)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Relabelling]
