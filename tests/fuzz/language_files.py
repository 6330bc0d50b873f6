"""Language models in the cache: a damaged file is noticed and learned again, so no search ever uses it."""

import io
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
from fuzz.pieces import Choices, Finding, new_folder
from trainings import write_corpus

from alice.cache import FOLDER_VARIABLE
from alice.solving.language import Language, Languages
from alice.solving.language_files import FOLDER, open_languages, read, write
from alice.solving.language_model import CharNgrams
from alice.solving.words import WordNgrams

SEEDS = (b"\x00", b"\x01\x02\x05\x00\x03\x13", b"\x02" + bytes(range(60)), b"\x03\x01" + bytes(range(90, 30, -1)))
PLACE = new_folder()
FILE = PLACE / "language.npz"
CORPUS = write_corpus(PLACE / "texts.txt", 60)
TEXTS = CORPUS.read_text().splitlines()
SMALL = Languages((Language("small", CharNgrams.count(TEXTS, 2), WordNgrams.count(TEXTS), -2.5, len(TEXTS)),))
write(SMALL, FILE)
WHOLE = FILE.read_bytes()
with np.load(io.BytesIO(WHOLE), allow_pickle=False) as opened:
    ARRAYS: dict[str, Any] = dict(opened.items())
ABOUT = json.loads(ARRAYS.pop("about").tobytes())
LEARNED: dict[str, Languages] = {}


def try_input(data: bytes) -> None:
    """Damage a file and read it, or let the program find it in its cache."""
    choices = Choices(data)
    if not choices.below(64):
        _in_cache(choices)
        return
    FILE.write_bytes(_damaged(choices))
    try:
        found = read(FILE)
    except Exception:  # whatever it is, the program learns the language again
        return
    if not _same(found, SMALL):
        raise Finding(f"a damaged file was read as {found}")


def _damaged(choices: Choices) -> bytes:
    """Damage the bytes, the description, or an array."""
    kind = choices.below(3)
    if kind == 0:
        return choices.damaged_bytes(WHOLE)
    arrays, about = dict(ARRAYS), json.dumps(ABOUT).encode()
    if kind == 1:
        about = choices.written(choices.damaged_document(ABOUT))
    else:
        name = choices.pick(sorted(arrays))
        arrays[name] = choices.pick(
            [arrays[name][:1], arrays[name] * 0, arrays[name].astype(str), np.zeros((0, 3)), np.full(3, np.nan)]
        )
    out = io.BytesIO()
    np.savez(out, allow_pickle=False, about=np.frombuffer(about, dtype=np.uint8), **arrays)
    return choices.damaged_bytes(out.getvalue())


def _in_cache(choices: Choices) -> None:
    """Damage the file in the cache; the program gives the same language as before."""
    before = os.environ.get(FOLDER_VARIABLE)
    os.environ[FOLDER_VARIABLE] = str(PLACE / "cache")
    try:
        known = LEARNED.setdefault("all", open_languages([str(CORPUS)]))
        (file,) = Path(PLACE, "cache", FOLDER).glob("*.npz")
        file.write_bytes(choices.pick([choices.damaged_bytes(file.read_bytes()), choices.rest()]))
        if not _same(open_languages([str(CORPUS)]), known):
            raise Finding("another language was learned from the same texts")
    finally:
        if before is None:
            del os.environ[FOLDER_VARIABLE]
        else:
            os.environ[FOLDER_VARIABLE] = before


def _same(found: Languages, known: Languages) -> bool:
    return len(found.known) == len(known.known) and all(
        _parts(one).keys() == _parts(other).keys()
        and all(np.array_equal(_parts(one)[name], _parts(other)[name]) for name in _parts(one))
        for one, other in zip(found.known, known.known, strict=True)
    )


def _parts(language: Language) -> dict[str, Any]:
    plain = {name: getattr(language, name) for name in ("name", "usual", "texts", "share")}
    rows = {f"rows {number}": row for number, row in enumerate(language.chars.rows)}
    return {**plain, **rows, "table": language.chars.table, **language.words.arrays()}
