"""A corpus of several languages in equal shares, as in the paper: which sources it has, and their texts in turn."""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from alice.errors import AliceError
from alice.text.readers import READERS

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
"""Characters that a segment of the paper has at least."""
COLUMNS = ("text", "language")
"""Columns of a multilingual corpus file."""


def folder_sources(folder: Path) -> dict[str, str]:
    """Return the source of each language in a folder whose files are named by language code, as in `la.txt.gz`."""
    if not folder.is_dir():
        raise AliceError(f"{folder} is no folder with one file per language; give one, or --source CODE=SOURCE")
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
            raise AliceError(
                f"--source {pair} does not say whose language it is; write for example la={pair or 'FILE'}"
            )
        if code.lower() in found:
            raise AliceError(f"--source names {code.lower()!r} twice; give one source per language")
        found[code.lower()] = source
    return found


def in_turn(texts: Mapping[str, Iterable[str]]) -> Iterator[tuple[str, str]]:
    """Yield a text of each language by turns, with its code, until one language has no more.

    So every language has the same share, also of any first part.
    """
    for row in zip(*texts.values(), strict=False):
        yield from zip(row, texts, strict=True)
