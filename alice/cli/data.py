"""`alice-interp data`: clean a corpus into a file, or see what is in one."""

import json
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.table import Table

from alice.cli.data_choice import Choice, choice_options
from alice.cli.lazy import NearestGroup
from alice.cli.multilingual import prepare_multilingual, print_languages
from alice.errors import AliceError
from alice.text.cleaning import Reason
from alice.text.corpus import POSSIBLE_SOURCES, QUOTES, Corpus, Tally
from alice.text.corpus_stats import CorpusStats, measure
from alice.text.text_files import open_lines

SOURCES_HELP = f"SOURCE is {POSSIBLE_SOURCES}; the default is {QUOTES}."
LONGEST_BAR = 40


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
    type=click.Path(path_type=Path),
    help="File to write: .txt or .txt.gz; .csv or .csv.gz with --multilingual.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the counts as JSON.")  # fmt: skip
def prepare(out: Path, as_json: bool, multilingual: bool, sources: tuple[str, ...], **options: Any) -> None:
    """Write the cleaned texts of SOURCE to a file, one per line, and say what was dropped and why.

    With --multilingual, SOURCE is a folder with one file per language, named by its code (en.txt.gz), or there is a
    --source for each. The file then has the columns text and language: segments of letters and space, 256 characters
    or a little more, as many of each language as the smallest source or --limit allows, by turns.
    """
    choice = Choice(**options)
    if multilingual:
        counts = prepare_multilingual(choice, sources, out)
        click.echo(json.dumps(counts, indent=2)) if as_json else print_languages(counts)
        return
    if sources:
        raise AliceError("--source is for --multilingual; add that, or give the one source as an argument")
    tally, written = Tally(), 0
    corpus = choice.open()
    with open_lines(out) as file:
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
