"""A corpus of several languages in equal shares, as in the paper: sources, segments of running text, their order."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from alice.errors import AliceError
from alice.text.formats import READERS

LANGUAGES = {
    "en": "English",
    "fr": "French",
    "de": "German",
    "it": "Italian",
    "la": "Latin",
    "pt": "Portuguese",
    "es": "Spanish",
}
"""The languages of the paper's multilingual model, by code; a corpus may have others."""
SEGMENT = 256
"""Minimum length of a segment in the paper, in characters."""
COLUMNS = ("text", "language")
"""Columns of a multilingual corpus file."""


def folder_sources(folder: Path) -> dict[str, str]:
    """Return the source of each language in a folder whose files are named by language code, as in `la.txt.gz`."""
    if not folder.is_dir():
        raise AliceError(f"{folder} is not a folder with one file per language; give one, or --source CODE=SOURCE")
    found: dict[str, str] = {}
    for file in sorted(folder.iterdir()):
        code = file.name.split(".")[0].lower()
        if code and file.name.lower().endswith(tuple(READERS)):
            if code in found:
                raise AliceError(f"{folder} has two files for {code!r}, {Path(found[code]).name} and {file.name}")
            found[code] = str(file)
    if not found:
        raise AliceError(f"{folder} has no file such as la.txt.gz; name one file per language by its code")
    return found


def named_sources(pairs: Iterable[str]) -> dict[str, str]:
    """Return the source of each language from pairs such as `la=FILE`."""
    found: dict[str, str] = {}
    for pair in pairs:
        code, sign, source = pair.partition("=")
        if not (sign and source and code.isalpha()):
            raise AliceError(f"--source {pair} does not name its language; write for example la={pair or 'FILE'}")
        if code.lower() in found:
            raise AliceError(f"--source names {code.lower()!r} twice; give one source per language")
        found[code.lower()] = source
    return found


def segments(rows: Iterable[str], at_least: int = SEGMENT) -> Iterator[str]:
    """Join words, across rows, into segments of at least `at_least` characters, spaces counted; words stay whole.

    Words after the last full segment are dropped.
    """
    if at_least < 1:
        raise AliceError(f"segments of at least {at_least} characters are not possible; give 1 or more")
    return _accumulate(rows, at_least)


def _accumulate(rows: Iterable[str], at_least: int) -> Iterator[str]:
    words: list[str] = []
    length = -1  # of the words joined by spaces: one space fewer than words
    for row in rows:
        for word in row.split():
            words.append(word)
            length += len(word) + 1
            if length >= at_least:
                yield " ".join(words)
                words, length = [], -1


def in_turn(texts: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, str]]:
    """Yield one text of each language in turn, with its code, until one language has no more.

    Every language therefore has the same share, also in every prefix.
    """
    for row in zip(*texts.values(), strict=False):
        yield from zip(row, texts, strict=True)
