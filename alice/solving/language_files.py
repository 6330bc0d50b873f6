"""Language models in the user's cache: learned from a corpus on first use, then read from a file.

A file is named by a hash of the corpus and of the format. It carries a checksum; one that is damaged, or from another
version, is learned again.
"""

import json
from collections.abc import Callable, Iterable, Iterator
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
from numpy.typing import NDArray

from alice.cache import cache_folder
from alice.errors import AliceError
from alice.files import atomic_write, regular_file
from alice.solving.language import Language, Languages, learn
from alice.solving.language_model import N_SYMBOLS, CharNgrams
from alice.solving.words import WordNgrams
from alice.text import QUOTES, Corpus, open_corpus, split_of
from alice.text.corpus import source_name

VERSION = 3
"""Raise it when the same corpus would give another model, or another file."""
FOLDER, ENDING = "languages", ".npz"
KEPT = 3
"""Files that stay, and one more for each further one that is used with them; those used least recently are removed."""
_ABOUT = "about"
_PLAIN = ("name", "usual", "texts", "share")
"""Fields of a language that are no arrays."""

T = TypeVar("T")
Tracker = Callable[[Iterable[T], str], Iterable[T]]


def open_languages(sources: Iterable[str] = (QUOTES,), track: "Tracker[str] | None" = None) -> Languages:
    """Return the languages of corpora, the first one first, from the cache or learned from their training splits.

    Args:
        sources: names or files of corpora, one language each.
        track: shows progress while texts are read: takes the texts and a label, and yields the texts.

    """
    known: list[Language] = []
    corpora = [open_corpus(source) for source in sources]
    for corpus in corpora:
        known += _open(corpus, track, keep=KEPT + len(corpora) - 1).known
    if not known:
        raise AliceError("there is no corpus to learn a language from; name one")
    return Languages(tuple(known))


def _open(corpus: Corpus, track: "Tracker[str] | None", *, keep: int) -> Languages:
    folder = cache_folder(FOLDER)
    name = sha256(f"{VERSION} {source_name(corpus.name)} {corpus.fingerprint()}".encode()).hexdigest()[:32]
    file = folder / f"{name}{ENDING}"
    with suppress(Exception):  # a damaged file raises almost anything, and a cache must never stop the program
        found = read(file)
        with suppress(OSError):
            file.touch()  # used just now
        return found
    found = _learn(corpus, track)
    with suppress(OSError, AliceError):  # no room, or no permission: it is learned again next time
        write(found, file)
        _remove_old(folder, keep)
    return found


def _learn(corpus: Corpus, track: "Tracker[str] | None") -> Languages:
    """Learn from the training split; the validation split says what is usual, and the test split is not used."""
    sides: dict[str, list[str]] = {"train": [], "validation": [], "test": []}
    label = f"Learning the language of {source_name(corpus.name)}"
    for text in track(corpus, label) if track else corpus:
        sides[split_of(text)].append(text)
    return learn(sides["train"], sides["validation"], name=source_name(corpus.name))


def write(languages: Languages, file: Path) -> None:
    """Write languages to a file, at once or not at all."""
    arrays: dict[str, NDArray[Any]] = {}
    about: list[dict[str, Any]] = []
    for number, language in enumerate(languages.known):
        chars = language.chars
        about.append({name: getattr(language, name) for name in _PLAIN} | {"order": chars.order})
        arrays |= {f"{number}.rows.{length}": rows for length, rows in enumerate(chars.rows)}
        arrays[f"{number}.table"] = chars.table
        arrays |= {f"{number}.words.{name}": array for name, array in language.words.arrays().items()}
    summary = json.dumps({"version": VERSION, "languages": about, "checksum": _checksum(arrays, about)})
    with atomic_write(file, "wb") as opened:
        np.savez(opened, allow_pickle=False, **{_ABOUT: np.frombuffer(summary.encode(), dtype=np.uint8)}, **arrays)


def read(file: Path) -> Languages:
    """Read languages from a file; raise if it is not exactly what was written."""
    with regular_file(file).open("rb") as source, np.load(source, allow_pickle=False) as opened:
        arrays = dict(opened.items())
    about = json.loads(arrays.pop(_ABOUT).tobytes())
    if about["version"] != VERSION or about["checksum"] != _checksum(arrays, about["languages"]):
        raise ValueError(f"{file} is damaged or of another version")
    return Languages(tuple(_read_one(arrays, number, one) for number, one in enumerate(about["languages"])))


def _read_one(arrays: dict[str, NDArray[Any]], number: int, about: dict[str, Any]) -> Language:
    order = int(about["order"])
    rows = tuple(arrays[f"{number}.rows.{length}"] for length in range(order))
    if [len(one) for one in rows] != [N_SYMBOLS**length for length in range(order)]:
        raise ValueError("the tables have other sizes than their order")
    prefix = f"{number}.words."
    words = WordNgrams(**{name[len(prefix) :]: array for name, array in arrays.items() if name.startswith(prefix)})
    chars = CharNgrams(order, rows, arrays[f"{number}.table"])
    return Language(chars=chars, words=words, **{name: about[name] for name in _PLAIN})


def _checksum(arrays: dict[str, NDArray[Any]], about: list[dict[str, Any]]) -> int:
    total = crc32(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        total = crc32(np.ascontiguousarray(arrays[name]).view(np.uint8).data, crc32(name.encode(), total))
    return total


def _remove_old(folder: Path, keep: int = KEPT) -> None:
    """Remove all but the `keep` files used most recently."""
    for file in sorted(_files(folder), key=lambda file: file.stat().st_mtime, reverse=True)[keep:]:
        file.unlink(missing_ok=True)


def _files(folder: Path) -> Iterator[Path]:
    return (file for file in folder.iterdir() if file.name.endswith(ENDING) and len(file.stem) == 32)
