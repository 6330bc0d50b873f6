"""Attention: where each head looks, and which kinds of head there are.

Not to be trusted as an explanation of an answer: where a head looks is not what it does with what it finds there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from alice.plugins.analysis import Analysis
from alice.plugins.builtin.example_options import check_example_options
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class Attention:
    """Where each attention head looks, beside uniform attention, and the kinds of head that follow.

    Layers and heads count from 0, as in the hook blocks.0.attn.hook_pattern.
    """

    name = "attention"
    samples: int = field(default=300, metadata={"help": "Texts to measure the heads on."})
    layer: tuple[int, ...] | None = field(
        default=None,
        metadata={"help": "Layer to draw maps of, once for each.  [default: the most typical head of each kind]"},
    )
    head: tuple[int, ...] | None = field(
        default=None, metadata={"help": "Head to draw maps of, once for each.  [default: as for --layer]"}
    )
    text: str = field(default="", metadata={"help": "Ciphertext to draw the maps for, instead of an example."})
    encrypt: bool = field(default=False, metadata={"help": "Take --text for plaintext, and encrypt it first."})
    example: int = field(default=0, metadata={"help": "Number of the text to draw the maps for."})

    def __post_init__(self) -> None:
        check_example_options(self.samples, self.text, self.encrypt, [self.example])

    def run(self, ctx: "RunContext") -> "Result":
        """Measure every head over the texts, and draw the maps of one text."""
        from alice.plugins.builtin.attention.measure import choose_heads, example_batch, given_batch, measure, read_maps
        from alice.plugins.builtin.attention.report import report

        ctx = ctx.sample(self.samples)
        batch = given_batch(ctx, self.text, encrypt=self.encrypt) if self.text else example_batch(ctx, self.example)
        chosen = choose_heads(ctx.model.config, self.layer, self.head, characters=batch.cipher_ids.shape[1])
        title = "the text given" if self.text else f"example {self.example}"
        return report(measure(ctx), read_maps(ctx, batch, title), chosen, rng=ctx.rng)


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Attention]
