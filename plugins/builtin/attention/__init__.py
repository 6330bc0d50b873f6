"""Attention: where each head looks, and which kinds of head there are.

Do not take this as an explanation of an answer: where a head looks does not say what it does with what it finds there.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar

from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_example_options
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.plugins.findings import Findings
    from alice.reports import Result


@dataclass(frozen=True)
class Attention:
    """Where each attention head looks, compared with uniform attention, and the kinds of head that follow.

    Blocks and heads are numbered from 0, as in the hook blocks.0.attn.hook_pattern.
    """

    name = "attention"
    workers = True
    grading: ClassVar[dict[str, Any]] = {"samples": 64}
    samples: int = field(default=300, metadata={"help": "Texts to measure the heads on."})
    block: tuple[int, ...] | None = field(
        default=None,
        metadata={"help": "Block to draw maps of; repeatable.  [default: the most typical head of each kind]"},
    )
    head: tuple[int, ...] | None = field(
        default=None, metadata={"help": "Head to draw maps of; repeatable.  [default: as for --block]"}
    )
    text: str = field(default="", metadata={"help": "Ciphertext to draw the maps for, instead of an example."})
    encrypt: bool = field(default=False, metadata={"help": "Treat --text as plaintext and encrypt it first."})
    example: int = field(default=0, metadata={"help": "Number of the text to draw the maps for."})

    def __post_init__(self) -> None:
        check_example_options(self.samples, self.text, self.encrypt, [self.example])

    def run(self, ctx: "RunContext") -> "Result":
        """Measure every head over the texts, and draw the maps of one text."""
        from alice.plugins.builtin.attention.measure import choose_heads, measure, read_maps, shown_text
        from alice.plugins.builtin.attention.report import report

        ctx = ctx.sample(self.samples)
        title, batch = shown_text(ctx, self.example, text=self.text, encrypt=self.encrypt)
        chosen = choose_heads(ctx.model.config, self.block, self.head, characters=batch.cipher_ids.shape[1])
        return report(measure(ctx), read_maps(ctx, batch, title), chosen, rng=ctx.rng)

    def findings(self, result: "Result") -> "Findings":
        """Return the kind of every head."""
        from alice.plugins.findings import Findings

        rows = (row for row in result.tables["heads"].records() if row["head"] is not None)
        return Findings(kinds={f"L{row['block']}H{row['head']}": str(row["kind"]) for row in rows})


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Attention]
