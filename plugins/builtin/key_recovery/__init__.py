"""Key recovery: the key that a model finds, compared with the true one.

Says nothing about letters that a text does not contain: no solver could know those.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_example_options, check_minimum, lens_field
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class KeyRecovery:
    """The key that a model finds, compared with the true one: how much is right, how sure it is, where letters collide.

    A bijective model states its key. For the others it is what the outputs pooled by symbol imply, which may give one
    plain letter to two cipher letters.
    """

    name = "key-recovery"
    checkpoints = "several"
    workers = True
    samples: int = field(default=1000, metadata={"help": "Texts to measure on."})
    example: int = field(default=0, metadata={"help": "Number of the text whose key is drawn, counted from 0."})
    text: str = field(default="", metadata={"help": "Ciphertext whose key is drawn, instead of an example."})
    encrypt: bool = field(default=False, metadata={"help": "Treat --text as plaintext and encrypt it first."})
    layer: int | None = field(default=None, metadata={"help": "Layer to read the key from.  [default: the last]"})
    lens: Path | None = lens_field()

    def __post_init__(self) -> None:
        check_example_options(self.samples, self.text, self.encrypt, [self.example])
        check_minimum(self, layer=0)

    def run(self, ctx: "RunContext") -> "Result":
        """Compare keys over all texts, with each model."""
        from alice.plugins.builtin.answers import Exit
        from alice.plugins.builtin.key_recovery.measure import measure
        from alice.plugins.builtin.key_recovery.report import report

        ctx = ctx.sample(self.samples)
        measured = [
            measure(one, self.example, text=self.text, encrypt=self.encrypt, exit_=Exit.of(one, self.layer, self.lens))
            for one in ctx.each
        ]
        return report(measured, rng=ctx.rng, layer=self.layer, lens=self.lens)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [KeyRecovery]
