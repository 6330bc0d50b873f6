"""Which texts of a source are wanted: the options that the commands of `alice-interp data` share."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Literal

import click

from alice.cli.options import AtLeast, NearestChoice
from alice.cli.progress import track
from alice.text.alphabet import ALPHABETS
from alice.text.corpus import QUOTES, Corpus, Tally, open_corpus
from alice.text.segments import segments as cut_segments
from alice.text.split import Side, select


@dataclass(frozen=True)
class Choice:
    """The choice of texts that the options make."""

    source: str
    """Name of the corpus."""
    alphabet: str | None
    """Name of the alphabet; None for the English one."""
    text_column: str | None
    """Column with the texts."""
    min_length: int
    """Shortest text."""
    max_length: int
    """Longest text."""
    segments: int | None
    """Length of multilingual segments, or None to keep the texts as they are."""
    split: Side | Literal["all"]
    """Side of the split."""
    limit: int | None
    """How many texts at most."""

    def open(self) -> Corpus:
        """Open the corpus; for segments every row counts, however long."""
        low, high = (1, None) if self.segments else (self.min_length, self.max_length)
        alphabet = ALPHABETS[self.alphabet or "english"]
        return open_corpus(
            self.source, alphabet=alphabet, min_length=low, max_length=high, text_column=self.text_column
        )

    def texts(self, corpus: Corpus, tally: Tally) -> Iterator[str]:
        """Yield the texts that were chosen, with a bar that shows how many were read."""
        return self.select(track(corpus.texts(tally), f"Reading {self.source}"))

    def select(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield those of a corpus's texts that were chosen, cut into segments if so wished."""
        if self.segments:
            texts = cut_segments(texts, self.segments)
        if self.split != "all":
            texts = select(texts, self.split)
        return islice(texts, self.limit)


def choice_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument SOURCE and the options of `Choice` to a command."""
    positive = AtLeast(1)
    for decorate in (
        click.option("--limit", type=positive, help="Stop after this many texts."),
        click.option("--split", type=NearestChoice(["all", "train", "test"]), default="all", show_default=True,
                     help="Only the training (97.5 %) or the test side (2.5 %)."),
        click.option("--segments", type=positive, metavar="N",
                     help="Join words into segments of at least N characters; the length limits do not apply."),
        click.option("--max-length", type=positive, default=300, show_default=True, help="Longest text to keep."),
        click.option("--min-length", type=positive, default=15, show_default=True, help="Shortest text to keep."),
        click.option("--text-column", metavar="NAME", help="Column with the texts.  [default: quote, else text]"),
        click.option("--alphabet", type=NearestChoice(list(ALPHABETS)),
                     help="With punctuation, or letters and space only.  [default: english]"),
        click.argument("source", default=QUOTES),
    ):  # fmt: skip
        command = decorate(command)
    return command
