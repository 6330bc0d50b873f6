"""Borg: a real historical cipher, deciphered under many relabellings of its symbols.

A transcription is one person's reading of a manuscript. Both the transcriber and the scribe make mistakes, so an error
may be theirs.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from alice.plugins import paper
from alice.plugins.analysis import Analysis
from alice.plugins.builtin.options import check_length, check_minimum
from alice.plugins.hookspecs import hookimpl

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result


@dataclass(frozen=True)
class Borg:
    """Decipher a historical text, such as a page of the Borg cipher, under 100 relabellings of its symbols.

    With a plaintext, the report has the mean and the spread of the error, next to the paper's table. Without one, it
    has the decipherment, how far the relabellings agree, and how confident the model is. Use a model that knows the
    language of the text, such as the multilingual one for Latin.
    """

    name = "borg"
    checkpoints = "several"
    workers = "it reads a few passages only"
    needs = ("file",)
    file: Path | None = field(
        default=None,
        metadata={
            "help": "Transcription of the cipher, one page or more.",
            "missing": "give the transcription of a cipher, in the format of docs/analyses/borg.md",
        },
    )
    plain: Path | None = field(default=None, metadata={"help": "Its plaintext, if it is known."})
    symbols: Literal["characters", "tokens", "letters"] = field(
        default="characters",
        metadata={"help": "What a symbol is: any character, a token between spaces, or a letter A-Z."},
    )
    ignore: str = field(default="", metadata={"help": "Symbols that are not part of the cipher, such as ARU."})
    relabellings: int = field(
        default=100, metadata={"help": "Number of random relabellings of the symbols, 2 or more."}
    )
    length: int = field(
        default=paper.BORG_LENGTH, metadata={"help": "Maximum number of characters that the model reads at a time."}
    )

    def __post_init__(self) -> None:
        check_minimum(self, relabellings=2, length=1)

    def run(self, ctx: "RunContext") -> "Result":
        """Read the transcription and decipher it with each model."""
        from alice.plugins.analysis import check_needs
        from alice.plugins.builtin.borg.measure import decipher, open_page
        from alice.plugins.builtin.borg.report import report

        check_needs(self)
        check_length(ctx, self.length)
        page = open_page(Path(self.file or ""), self.plain, style=self.symbols, ignored=self.ignore, length=self.length)
        return report(page, [decipher(one, page, count=self.relabellings) for one in ctx.each])


@hookimpl
def register_analyses() -> Iterable[type[Analysis]]:
    """Add the analysis."""
    return [Borg]
