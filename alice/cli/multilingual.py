"""`alice-interp data prepare --multilingual`: one corpus from one source per language."""

from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table

from alice.cli.data_choice import Choice
from alice.cli.progress import track
from alice.errors import AliceError
from alice.text.corpus import QUOTES, Tally
from alice.text.multilingual import COLUMNS, LANGUAGES, SEGMENT, folder_sources, in_turn, named_sources
from alice.text.text_files import open_table


def prepare_multilingual(choice: Choice, pairs: tuple[str, ...], out: Path) -> dict[str, Any]:
    """Write segments of every language by turns to a CSV file, and return the counts.

    What is left open is as in the paper: letters and space only, segments of at least 256 characters. The limit
    is for each language.
    """
    sources = _sources(choice.source, pairs)
    choice = replace(choice, alphabet=choice.alphabet or "letters", segments=choice.segments or SEGMENT)
    choices = {code: replace(choice, source=source) for code, source in sources.items()}
    tallies = {code: Tally() for code in sources}
    texts = {code: each.select(each.open().texts(tallies[code])) for code, each in choices.items()}
    written = Counter[str]()
    with open_table(out, COLUMNS) as write:
        for text, code in track(in_turn(texts), "Writing segments"):
            write((text, code))
            written[code] += 1
        if not written:
            rows = ", ".join(f"{code} {tally.kept}" for code, tally in tallies.items())
            raise AliceError(
                f"not every language has a segment of {choice.segments} characters (rows that could be used: {rows}); "
                "give longer sources or loosen the options"
            )
    return {
        "out": str(out),
        "written": written.total(),
        "languages": {code: _counts(sources[code], tally, written[code]) for code, tally in tallies.items()},
    }


def _sources(source: str, pairs: tuple[str, ...]) -> dict[str, str]:
    """Return the source of each language, by its code, the paper's languages first and in its order."""
    sources = {} if source == QUOTES else folder_sources(Path(source).expanduser())
    sources |= named_sources(pairs)
    if len(sources) < 2:
        raise AliceError(
            "--multilingual needs two languages or more; give a folder with a file for each, or --source CODE=SOURCE"
        )
    return {code: sources[code] for code in sorted(sources, key=lambda code: ([*LANGUAGES, code].index(code), code))}


def _counts(source: str, tally: Tally, written: int) -> dict[str, Any]:
    dropped = {reason.value: count for reason, count in tally.dropped.most_common()}
    return {"source": source, "read": tally.read, "dropped": dropped, "written": written}


def print_languages(counts: dict[str, Any]) -> None:
    """Print how many texts of each language were read, dropped and written."""
    table = Table("", "language", "rows read", "dropped", "segments written", box=None)
    for column in table.columns[2:]:
        column.justify = "right"
    for code, each in counts["languages"].items():
        dropped = sum(each["dropped"].values())
        table.add_row(code, LANGUAGES.get(code, ""), f"{each['read']:,}", f"{dropped:,}", f"{each['written']:,}")
    console = Console(highlight=False)
    console.print(table)
    console.print(f"{counts['written']:,} segments written to {counts['out']}", soft_wrap=True, markup=False)
