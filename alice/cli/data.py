"""`alice-interp data`: clean a corpus into a file, or see what is in one."""

import gzip
import io
import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import IO, Any, Literal

import click
from rich.console import Console
from rich.table import Table

from alice.alphabet import ALPHABETS
from alice.clean import Reason
from alice.cli.lazy import NearestGroup
from alice.cli.options import NearestChoice
from alice.cli.progress import track
from alice.corpus import POSSIBLE_SOURCES, QUOTES, Corpus, Tally, open_corpus
from alice.corpus_stats import CorpusStats, measure
from alice.errors import AliceError
from alice.files import atomic_write
from alice.segments import segments as cut_segments
from alice.split import Side, select

SOURCES_HELP = f"SOURCE is {POSSIBLE_SOURCES}; the default is {QUOTES}."
LONGEST_BAR = 40


@dataclass(frozen=True)
class Choice:
    """Which texts of a source are wanted: the options that `prepare` and `stats` share."""

    source: str
    """Name of the corpus."""
    alphabet: str
    """Name of the alphabet."""
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
        alphabet = ALPHABETS[self.alphabet]
        return open_corpus(
            self.source, alphabet=alphabet, min_length=low, max_length=high, text_column=self.text_column
        )

    def texts(self, corpus: Corpus, tally: Tally) -> Iterator[str]:
        """Yield the texts that were chosen."""
        texts: Iterable[str] = track(corpus.texts(tally), f"Reading {self.source}")
        if self.segments:
            texts = cut_segments(texts, self.segments)
        if self.split != "all":
            texts = select(texts, self.split)
        return islice(texts, self.limit)


def choice_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument SOURCE and the options of `Choice` to a command."""
    positive = click.IntRange(min=1)
    for decorate in (
        click.option("--limit", type=positive, help="Stop after this many texts."),
        click.option("--split", type=NearestChoice(["all", "train", "test"]), default="all", show_default=True,
                     help="Only the training (97.5 %) or the test side (2.5 %)."),
        click.option("--segments", type=positive, metavar="N",
                     help="Join words into segments of at least N characters; the length limits do not apply."),
        click.option("--max-length", type=positive, default=300, show_default=True, help="Longest text to keep."),
        click.option("--min-length", type=positive, default=15, show_default=True, help="Shortest text to keep."),
        click.option("--text-column", metavar="NAME", help="Column with the texts.  [default: quote, else text]"),
        click.option("--alphabet", type=NearestChoice(list(ALPHABETS)), default="english", show_default=True,
                     help="With punctuation, or letters and space only."),
        click.argument("source", default=QUOTES),
    ):  # fmt: skip
        command = decorate(command)
    return command


@click.group(cls=NearestGroup)
def data() -> None:
    """Clean a corpus, or look at one."""


@data.command(epilog=SOURCES_HELP, short_help="Write cleaned texts to a file; say what was dropped and why.")
@choice_options
@click.option("--out", required=True, type=click.Path(path_type=Path), help="File to write: .txt or .txt.gz.")
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")
def prepare(out: Path, as_json: bool, **options: Any) -> None:
    """Write the cleaned texts of SOURCE to a file, one per line, and say what was dropped and why."""
    choice, tally, written = Choice(**options), Tally(), 0
    corpus = choice.open()
    with _open_lines(out) as file:
        for text in choice.texts(corpus, tally):
            file.write(text + "\n")
            written += 1
        if not written:
            reasons = ", ".join(f"{count} {reason.value}" for reason, count in tally.dropped.most_common())
            raise AliceError(
                f"no text of {choice.source} is left to write ({reasons or 'none on this side'}); loosen the options"
            )
    if as_json:
        click.echo(json.dumps(_summary(corpus, tally, written, out), indent=2))
    else:
        _print_tally(corpus, tally, written, out)


@data.command(epilog=SOURCES_HELP, short_help="Show lengths and letter frequencies.")
@choice_options
@click.option("--json", "as_json", is_flag=True, help="Print the numbers as JSON.")
def stats(as_json: bool, **options: Any) -> None:
    """Show how many texts SOURCE has, how long they are, and how often each letter occurs."""
    choice = Choice(**options)
    found = measure(choice.texts(choice.open(), Tally()))
    if as_json:
        click.echo(json.dumps({"source": choice.source, **found.to_json()}, indent=2))
    else:
        _print_stats(choice.source, found)


@contextmanager
def _open_lines(out: Path) -> Iterator[IO[str]]:
    """Open a text file, compressed if its name says so, that appears when it is complete."""
    if not out.name.lower().endswith((".txt", ".txt.gz")):
        raise AliceError(
            f"{out} ends neither in .txt nor in .txt.gz; the texts are written one per line, so name it so"
        )
    if out.suffix.lower() == ".txt":
        with atomic_write(out) as file:
            yield file
        return
    with (
        atomic_write(out, "wb") as packed,
        gzip.GzipFile("", "wb", fileobj=packed, mtime=0) as lines,  # no name or time inside: same texts, same bytes
        io.TextIOWrapper(lines, encoding="utf-8", newline="\n") as file,
    ):
        yield file


def _summary(corpus: Corpus, tally: Tally, written: int, out: Path) -> dict[str, Any]:
    dropped = {reason.value: tally.dropped[reason] for reason in Reason}
    return {
        "source": corpus.name,
        "out": str(out),
        "read": tally.read,
        "kept": tally.kept,
        "dropped": dropped,
        "written": written,
    }


def _print_tally(corpus: Corpus, tally: Tally, written: int, out: Path) -> None:
    table = Table(
        "", "texts", "share", title=f"{corpus.name}: {tally.read:,} texts read", box=None, title_justify="left"
    )
    for column in table.columns[1:]:
        column.justify = "right"
    rows = [
        ("kept", tally.kept),
        *((f"dropped: {reason.value}", count) for reason, count in tally.dropped.most_common()),
    ]
    for label, count in rows:
        table.add_row(label, f"{count:,}", f"{count / tally.read:.1%}")
    console = Console()
    console.print(table)
    console.print(f"{written:,} lines written to {out}", soft_wrap=True, highlight=False, markup=False)


def _print_stats(source: str, found: CorpusStats) -> None:
    console = Console(highlight=False)
    bar = "█" if console.encoding.lower().startswith("utf") else "#"
    console.print(
        f"{source}: {found.texts:,} texts, {found.characters:,} characters, "
        f"{found.test_texts:,} texts ({found.test_share:.2%}) on the test side\n",
        markup=False,
        soft_wrap=True,
    )
    quantiles = "   ".join(f"{share:.0%}: {length}" for share, length in found.length_quantiles.items())
    console.print(f"length, by share of texts not longer:\n  {quantiles}\n", soft_wrap=True)
    console.print(_bars("length", {name: count / found.texts for name, count in found.length_bins.items()}, bar))
    console.print()
    shares = dict(sorted(found.letter_shares.items(), key=lambda item: -item[1]))
    console.print(_bars("letter", shares, bar))


def _bars(what: str, shares: dict[str, float], bar: str) -> Table:
    """Draw shares as a bar chart, the largest at full length."""
    table = Table(what, "share", "", box=None)
    table.columns[1].justify = "right"
    largest = max(shares.values())
    for name, share in shares.items():
        table.add_row(name.replace("[", r"\["), f"{share:.2%}", bar * round(LONGEST_BAR * share / largest))
    return table
