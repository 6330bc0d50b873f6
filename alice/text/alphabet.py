"""Symbols and their ids: padding is 0, every other id stands for one character."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from string import ascii_uppercase

import numpy as np
from numpy.typing import NDArray

from alice.errors import AliceError

PAD = 0
LETTERS = ascii_uppercase
PUNCTUATION = ".,!?-;:'\""

Ids = NDArray[np.uint8]


def pad(rows: Sequence[Ids]) -> Ids:
    """Return texts of different lengths as one array, (batch, pos), padded on the right."""
    padded = np.full((len(rows), max(map(len, rows), default=0)), PAD, dtype=np.uint8)
    for place, row in zip(padded, rows, strict=True):
        place[: len(row)] = row
    return padded


@dataclass(frozen=True)
class Alphabet:
    """An ordered set of symbols; the symbol at index i has id i + 1, and id 0 is padding."""

    symbols: str = LETTERS + " " + PUNCTUATION
    letter_ids: NDArray[np.int64] = field(init=False, repr=False, compare=False)
    """Ids of A to Z, in that order, (26,); of the same type as the ids of a batch."""
    _id_of_code: NDArray[np.uint8] = field(init=False, repr=False, compare=False)
    _code_of_id: NDArray[np.uint32] = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        if len(set(self.symbols)) != len(self.symbols):
            raise AliceError(f"alphabet {self.symbols!r:.60} repeats a symbol; list each one once")
        if missing := set(LETTERS) - set(self.symbols):
            raise AliceError(f"alphabet {self.symbols!r:.60} lacks {''.join(sorted(missing))}; it needs all of A-Z")
        if len(self.symbols) > 255:
            raise AliceError(f"alphabet has {len(self.symbols)} symbols; at most 255 are possible")
        codes = np.array([ord(c) for c in self.symbols], dtype=np.uint32)
        id_of_code = np.zeros(int(codes.max()) + 2, dtype=np.uint8)
        id_of_code[codes] = np.arange(1, len(codes) + 1)
        object.__setattr__(self, "_id_of_code", id_of_code)
        object.__setattr__(self, "_code_of_id", np.concatenate([np.zeros(1, np.uint32), codes]))
        object.__setattr__(self, "letter_ids", id_of_code[[ord(c) for c in LETTERS]].astype(np.int64))

    @property
    def size(self) -> int:
        """Number of ids, padding included."""
        return len(self.symbols) + 1

    def encode(self, text: str) -> Ids:
        """Return the ids of a text, (length,); a character outside the alphabet is an error."""
        codes = np.frombuffer(text.encode("utf-32-le", errors="surrogatepass"), dtype=np.uint32)
        ids = self._id_of_code[np.minimum(codes, len(self._id_of_code) - 1)]
        if not ids.all():
            raise AliceError(self._complaint(text, np.flatnonzero(ids == PAD)))
        return ids

    def decode(self, ids: NDArray[np.integer]) -> str:
        """Return the text of an array of ids, (length,); padding is left out."""
        ids = np.asarray(ids)
        if ids.size and (ids.min() < 0 or ids.max() >= self.size):
            raise AliceError(
                f"ids {ids.min()} to {ids.max()} do not fit an alphabet of {self.size} ids (0 to {self.size - 1})"
            )
        return self._code_of_id[ids[ids != PAD]].tobytes().decode("utf-32-le")

    def _complaint(self, text: str, positions: NDArray[np.integer]) -> str:
        """Name the first five characters outside the alphabet and their positions."""
        named = ", ".join(f"{text[i]!r} at position {i}" for i in positions[:5])
        more = f" and {len(positions) - 5} more" if len(positions) > 5 else ""
        return f"the text has characters outside the alphabet: {named}{more}; remove or replace them"


ENGLISH = Alphabet()
"""The paper's alphabet: letters, space and nine punctuation marks; 37 ids with padding."""
LETTERS_AND_SPACE = Alphabet(LETTERS + " ")
"""The alphabet of the multilingual model."""
ALPHABETS = {"english": ENGLISH, "letters": LETTERS_AND_SPACE}
"""Alphabets by the name that commands use."""
