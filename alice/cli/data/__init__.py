"""`alice-interp data prepare`: clean a corpus, or several languages, into a file; `data stats` is in `data_stats`."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from alice.cli.data.stats import measure, print_stats
from alice.cli.options import FILE, AtLeast, NearestChoice, NearestGroup, force_option
from alice.cli.progress import track
from alice.errors import AliceError
from alice.files import user_path
from alice.outputs import check_file
from alice.text import ALPHABETS, QUOTES, Corpus, Reason, Split, Tally, open_corpus
from alice.text import segments as cut_segments
from alice.text.cleaning import LONGEST
from alice.text.corpus import POSSIBLE_SOURCES
from alice.text.formats import write_csv, write_lines
from alice.text.multilingual import COLUMNS, LANGUAGES, SEGMENT, folder_sources, in_turn, named_sources
from alice.text.split import select

SOURCES_HELP = f"SOURCE is {POSSIBLE_SOURCES}; the default is {QUOTES}."


@dataclass(frozen=True)
class Choice:
    """Which texts of a source to take: the options that `prepare` and `stats` share."""

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
    split: Split
    """Which split to take."""
    limit: int | None
    """Maximum number of texts."""

    def open(self) -> Corpus:
        """Open the corpus; segments are made of rows of any length."""
        low, high = (1, None) if self.segments else (self.min_length, self.max_length)
        alphabet = ALPHABETS[self.alphabet or "english"]
        return open_corpus(
            self.source, alphabet=alphabet, min_length=low, max_length=high, text_column=self.text_column
        )

    def texts(self, corpus: Corpus, tally: Tally) -> Iterator[str]:
        """Yield the chosen texts, with a progress bar that shows how many were read."""
        return self.select(track(corpus.texts(tally), f"Reading {self.source}"))

    def select(self, texts: Iterable[str]) -> Iterator[str]:
        """Yield the chosen ones of a corpus's texts, cut into segments if asked for."""
        if self.segments:
            texts = cut_segments(texts, self.segments)
        return islice(select(texts, self.split), self.limit)


def choice_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add the argument SOURCE and the options of `Choice` to a command."""
    positive = AtLeast(1)
    for decorate in (
        click.option("--limit", type=positive, help="Stop after this many texts."),
        click.option("--split", type=NearestChoice(["all", "train", "validation", "test"]), default="all",
                     show_default=True,
                     help="Only the training split (95 %), or the validation or test split (2.5 % each)."),
        click.option("--segments", type=positive, metavar="N",
                     help="Join words into segments of at least N characters; the length limits do not apply."),
        click.option("--max-length", type=positive, default=LONGEST, show_default=True, help="Longest text to keep."),
        click.option("--min-length", type=positive, default=15, show_default=True, help="Shortest text to keep."),
        click.option("--text-column", metavar="NAME", help="Column with the texts.  [default: quote, else text]"),
        click.option("--alphabet", type=NearestChoice(list(ALPHABETS)),
                     help="With punctuation, or letters and space only.  [default: english]"),
        click.argument("source", default=QUOTES),
    ):  # fmt: skip
        command = decorate(command)
    return command


@click.group(cls=NearestGroup)
def data() -> None:
    """Clean a corpus, or look at one."""


@data.command(epilog=SOURCES_HELP, short_help="Write cleaned texts to a file; say what was dropped and why.")
@choice_options
@click.option("--multilingual", is_flag=True, help="Write segments of several languages in equal shares; see below.")
@click.option(
    "--source",
    "sources",
    metavar="CODE=SOURCE",
    multiple=True,
    help="With --multilingual: where the texts of a language are; once for each.",
)
@click.option(
    "--out",
    required=True,
    type=FILE,
    help="File to write: .txt or .txt.gz; .csv or .csv.gz with --multilingual.",
)
@force_option
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")  # fmt: skip
def prepare(
    out: Path, force: bool, as_json: bool, multilingual: bool, sources: tuple[str, ...], **options: Any
) -> None:
    """Write the cleaned texts of SOURCE to a file, one per line, and say what was dropped and why.

    With --multilingual, SOURCE is a folder with one file per language, named by its code (en.txt.gz), or there is a
    --source for each. The file then has the columns text and language: segments of letters and space, 256 characters
    or slightly more, the languages in turn, as many of each as the smallest source or --limit allows.
    """
    choice = Choice(**options)
    if not multilingual and sources:
        raise AliceError("--source is for --multilingual; add that, or give the one source as an argument")
    counts, show = (
        (_prepare_multilingual(choice, sources, out, force=force), _print_languages)
        if multilingual
        else (_prepare(choice, out, force=force), _print_counts)
    )
    if as_json:
        click.echo(json.dumps(counts, indent=2))
    else:
        show(counts)


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
        print_stats(choice.source, found)


def _prepare(choice: Choice, out: Path, *, force: bool) -> dict[str, Any]:
    """Write the texts, one per line, and return the counts."""
    tally, written = Tally(), 0
    corpus = choice.open()
    check_file(out, read=corpus.files, force=force)
    with write_lines(out) as file:
        for text in choice.texts(corpus, tally):
            file.write(text + "\n")
            written += 1
        if not written:
            reasons = ", ".join(f"{count} {reason.value}" for reason, count in tally.dropped.most_common())
            why = reasons or "none is in this split"
            raise AliceError(f"no text of {choice.source} is left to write ({why}); loosen the options")
    return {
        "source": corpus.name,
        "out": str(out),
        "read": tally.read,
        "kept": tally.kept,
        "dropped": {reason.value: tally.dropped[reason] for reason in Reason},
        "written": written,
    }


def _prepare_multilingual(choice: Choice, pairs: tuple[str, ...], out: Path, *, force: bool) -> dict[str, Any]:
    """Write segments of the languages in turn to a CSV file, and return the counts.

    The defaults are those of the paper: letters and space only, segments of at least 256 characters. The limit applies
    to each language.
    """
    sources = _sources(choice.source, pairs)
    choice = replace(choice, alphabet=choice.alphabet or "letters", segments=choice.segments or SEGMENT)
    choices = {code: replace(choice, source=source) for code, source in sources.items()}
    tallies = {code: Tally() for code in sources}
    corpora = {code: each.open() for code, each in choices.items()}
    read = [] if choice.source == QUOTES else [user_path(choice.source)]  # the folder, where it would be read next time
    check_file(out, read=[*read, *(file for corpus in corpora.values() for file in corpus.files)], force=force)
    texts = {code: choices[code].select(corpus.texts(tallies[code])) for code, corpus in corpora.items()}
    written = Counter[str]()
    with write_csv(out, COLUMNS) as write:
        for text, code in track(in_turn(texts), "Writing segments"):
            write((text, code))
            written[code] += 1
        if not written:
            rows = ", ".join(f"{code} {tally.kept}" for code, tally in tallies.items())
            raise AliceError(
                f"not every language has a segment of {choice.segments} characters (usable rows: {rows}); "
                "give longer sources or loosen the options"
            )
    return {
        "out": str(out),
        "written": written.total(),
        "languages": {
            code: {
                "source": sources[code],
                "read": tally.read,
                "dropped": {reason.value: count for reason, count in tally.dropped.most_common()},
                "written": written[code],
            }
            for code, tally in tallies.items()
        },
    }


def _sources(source: str, pairs: tuple[str, ...]) -> dict[str, str]:
    """Return the source of each language by its code: the paper's languages first, in the paper's order."""
    sources = {} if source == QUOTES else folder_sources(user_path(source))
    sources |= named_sources(pairs)
    if len(sources) < 2:
        raise AliceError(
            "--multilingual needs two languages or more; give a folder with a file for each, or --source CODE=SOURCE"
        )
    return {code: sources[code] for code in sorted(sources, key=lambda code: ([*LANGUAGES, code].index(code), code))}


def _print_counts(counts: dict[str, Any]) -> None:
    read = counts["read"]
    title = f"{escape(counts['source'])}: {read:,} texts read"
    table = Table("", "texts", "share", title=title, box=None, title_justify="left")
    for column in table.columns[1:]:
        column.justify = "right"
    dropped = sorted(counts["dropped"].items(), key=lambda item: -item[1])
    for label, count in [("kept", counts["kept"]), *((f"dropped: {name}", count) for name, count in dropped if count)]:
        table.add_row(label, f"{count:,}", f"{count / read:.1%}")
    console = Console()
    console.print(table)
    _print_written(console, counts, "lines")


def _print_languages(counts: dict[str, Any]) -> None:
    table = Table("", "language", "rows read", "dropped", "segments written", box=None)
    for column in table.columns[2:]:
        column.justify = "right"
    for code, each in counts["languages"].items():
        dropped = sum(each["dropped"].values())
        table.add_row(
            escape(code), LANGUAGES.get(code, ""), f"{each['read']:,}", f"{dropped:,}", f"{each['written']:,}"
        )
    console = Console()
    console.print(table)
    _print_written(console, counts, "segments")


def _print_written(console: Console, counts: dict[str, Any], what: str) -> None:
    written = f"{counts['written']:,} {what} written to {counts['out']}"
    console.print(written, soft_wrap=True, highlight=False, markup=False)
