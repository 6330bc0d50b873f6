"""`alice-interp data prepare`: clean a corpus, or several languages, into a file; `data stats` is in `data_stats`."""

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import compress, islice
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
from alice.text.books import hold_out_books
from alice.text.cleaning import LONGEST
from alice.text.corpus import POSSIBLE_SOURCES
from alice.text.formats import check_ending, write_csv, write_lines
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
    "--held-out-books",
    "held_out",
    type=FILE,
    help="With --multilingual: second file to write, for testing; see below.",
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
    out: Path,
    force: bool,
    as_json: bool,
    multilingual: bool,
    sources: tuple[str, ...],
    held_out: Path | None,
    **options: Any,
) -> None:
    """Write the cleaned texts of SOURCE to a file, one per line, and say what was dropped and why.

    With --multilingual, SOURCE is a folder with one file per language, named by its code (en.txt.gz), or there is a
    --source for each. The file then has the columns text and language: segments of letters and space, 256 characters
    or slightly more, the languages in turn, as many of each as the smallest source or --limit allows.

    With --held-out-books, rows that share rare words are grouped into probable books. Groups with about 3 % of the rows
    of each language go to the second file instead, and rows between these groups and the rest to neither file.
    """
    choice = Choice(**options)
    if not multilingual and sources:
        raise AliceError("--source is for --multilingual; add that, or give the one source as an argument")
    if not multilingual and held_out:
        raise AliceError("--held-out-books is for --multilingual; add that, or hold out texts with --split")
    counts, show = (
        (_prepare_multilingual(choice, sources, out, held_out, force=force), _print_languages)
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


def _prepare_multilingual(
    choice: Choice, pairs: tuple[str, ...], out: Path, held_out: Path | None, *, force: bool
) -> dict[str, Any]:
    """Write segments of the languages in turn to one CSV file, or two if books are held out, and return the counts.

    The defaults are those of the paper: letters and space only, segments of at least 256 characters. The limit applies
    to each language in `out`.
    """
    sources = _sources(choice.source, pairs)
    choice = replace(choice, alphabet=choice.alphabet or "letters", segments=choice.segments or SEGMENT)
    choices = {code: replace(choice, source=source) for code, source in sources.items()}
    tallies = {code: Tally() for code in sources}
    corpora = {code: each.open() for code, each in choices.items()}
    read = [] if choice.source == QUOTES else [user_path(choice.source)]  # the folder, where it would be read next time
    read += [file for corpus in corpora.values() for file in corpus.files]
    _check_files(out, held_out, read, force=force)
    rows: dict[str, Iterable[str]] = {code: corpus.texts(tallies[code]) for code, corpus in corpora.items()}
    counts: dict[str, dict[str, int]] = {code: {} for code in sources}
    files: dict[Path, dict[str, Iterator[str]]] = {}
    if held_out:
        books: dict[str, list[str]] = {}
        for code in track(sources, "Grouping rows into books", total=len(sources)):
            rows[code], books[code], counts[code] = _without_books(code, list(rows[code]))
        files[held_out] = {code: replace(choices[code], limit=None).select(books[code]) for code in sources}
    files[out] = {code: choices[code].select(rows[code]) for code in sources}
    segments = _write_segments(files, choice.segments, tallies)
    return {
        "out": str(out),
        "written": segments[out].total(),
        **({"held_out_books": str(held_out), "held_out": segments[held_out].total()} if held_out else {}),
        "languages": {
            code: {
                "source": sources[code],
                "read": tally.read,
                "dropped": {reason.value: count for reason, count in tally.dropped.most_common()},
                **counts[code],
                "written": segments[out][code],
                **({"held_out": segments[held_out][code]} if held_out else {}),
            }
            for code, tally in tallies.items()
        },
    }


def _check_files(out: Path, held_out: Path | None, read: list[Path], *, force: bool) -> None:
    """Raise, before rows are grouped, if a file cannot be written or would replace one that is read or exists."""
    for file in (out, held_out) if held_out else (out,):
        check_file(file, read=read, force=force)
        check_ending(file, "csv", f"the columns {' and '.join(COLUMNS)} are written")
    both_exist = held_out is not None and held_out.exists() and out.exists()
    if held_out and (held_out.resolve() == out.resolve() or (both_exist and held_out.samefile(out))):
        raise AliceError(f"--out and --held-out-books are both {out}; give two files")


def _without_books(code: str, rows: list[str]) -> tuple[list[str], list[str], dict[str, int]]:
    """Return the rows of a language to train on, those of held-out books, and the counts."""
    try:
        sides = hold_out_books(rows)
    except AliceError as error:
        raise AliceError(f"no books of {code!r} can be held out: {error}") from error
    counts = {"held_out_rows": int(sides.held_out.sum()), "rows_between": int(sides.between.sum())}
    return list(compress(rows, sides.training)), list(compress(rows, sides.held_out)), counts


def _write_segments(
    files: dict[Path, dict[str, Iterator[str]]], length: int | None, tallies: dict[str, Tally]
) -> dict[Path, Counter[str]]:
    """Write the segments of the languages in turn to each file, and return how many there are of each language.

    The files appear when all are complete.
    """
    written = {out: Counter[str]() for out in files}
    with ExitStack() as stack:
        for out, texts in files.items():
            write = stack.enter_context(write_csv(out, COLUMNS))
            for text, code in track(in_turn(texts), f"Writing {out.name}"):
                write((text, code))
                written[out][code] += 1
            if not written[out]:
                rows = ", ".join(f"{code} {tally.kept}" for code, tally in tallies.items())
                raise AliceError(
                    f"not every language has a segment of {length} characters for {out} (usable rows: {rows}); "
                    "give longer sources or loosen the options"
                )
    return written


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
    headings = {"read": "rows read", "dropped": "dropped", "held_out_rows": "held out", "rows_between": "between",
                "written": "segments written", "held_out": "segments held out"}  # fmt: skip
    shown = [name for name in headings if all(name in each for each in counts["languages"].values())]
    table = Table("", "language", *(headings[name] for name in shown), box=None)
    for column in table.columns[2:]:
        column.justify = "right"
    for code, each in counts["languages"].items():
        numbers = {**each, "dropped": sum(each["dropped"].values())}
        table.add_row(escape(code), LANGUAGES.get(code, ""), *(f"{numbers[name]:,}" for name in shown))
    console = Console()
    console.print(table)
    _print_written(console, counts, "segments")
    if "held_out" in counts:
        held_out = {"written": counts["held_out"], "out": counts["held_out_books"]}
        _print_written(console, held_out, "segments of held-out books")


def _print_written(console: Console, counts: dict[str, Any], what: str) -> None:
    written = f"{counts['written']:,} {what} written to {counts['out']}"
    console.print(written, soft_wrap=True, highlight=False, markup=False)
