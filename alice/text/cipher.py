"""Substitution ciphers: a key is a permutation of A-Z; characters that are not letters stay.

Arrays of keys have shape (n, 26): entry [i, p] is the cipher letter (0-25) of plain letter p.
"""

from dataclasses import dataclass
from typing import Literal, Self, get_args

import numpy as np
from numpy.typing import NDArray

from alice.errors import AliceError
from alice.text.alphabet import LETTERS, Alphabet, Ids

KeyArray = NDArray[np.uint8]
N_LETTERS = len(LETTERS)
Relabel = Literal["none", "frequency", "recurrence"]
"""How cipher letters are renamed before a solver reads them; see `alice.text.relabel`."""
RELABELS: tuple[Relabel, ...] = get_args(Relabel)


@dataclass(frozen=True)
class Key:
    """One cipher: the string that A-Z is encrypted to."""

    letters: str

    def __post_init__(self) -> None:
        if sorted(self.letters) != list(LETTERS):
            raise AliceError(f"key {self.letters!r} is not a permutation of A-Z; give each of the 26 capitals once")

    @classmethod
    def random(cls, rng: np.random.Generator) -> Self:
        """Draw a key uniformly from all 26! keys."""
        return cls.from_array(random_keys(1, rng)[0])

    @classmethod
    def from_array(cls, key: NDArray[np.integer]) -> Self:
        """Make a key from cipher letters given as numbers 0-25, shape (26,)."""
        return cls("".join(LETTERS[i] for i in key))

    def to_array(self) -> KeyArray:
        """Return the cipher letters as numbers 0-25, shape (26,)."""
        return np.frombuffer(self.letters.encode(), dtype=np.uint8) - ord("A")

    def inverse(self) -> Self:
        """Return the key that undoes this one."""
        return self.from_array(invert(self.to_array()))

    def encrypt(self, text: str) -> str:
        """Replace every capital letter of a text; other characters stay."""
        return text.translate(str.maketrans(LETTERS, self.letters))

    def decrypt(self, text: str) -> str:
        """Undo `encrypt`."""
        return text.translate(str.maketrans(self.letters, LETTERS))


def random_keys(count: int, rng: np.random.Generator) -> KeyArray:
    """Draw `count` keys uniformly and independently, shape (count, 26)."""
    return rng.permuted(np.tile(np.arange(N_LETTERS, dtype=np.uint8), (count, 1)), axis=1)


def key_pool(size: int, seed: int) -> KeyArray:
    """Return a fixed pool of `size` different keys, shape (size, 26); a smaller pool is a prefix of a larger one."""
    rng = np.random.default_rng([seed, N_LETTERS])
    seen: dict[bytes, None] = {}
    while len(seen) < size:
        seen[random_keys(1, rng)[0].tobytes()] = None
    return np.frombuffer(b"".join(seen), dtype=np.uint8).reshape(-1, N_LETTERS)


def invert(keys: NDArray[np.integer]) -> KeyArray:
    """Return the inverse of each key, shape (..., 26)."""
    return np.argsort(keys, axis=-1).astype(np.uint8)


def encrypt_ids(ids: Ids, keys: NDArray[np.integer], alphabet: Alphabet) -> Ids:
    """Encrypt rows of ids, shape (batch, pos), each with its own key, shape (batch, 26); padding stays padding."""
    table = np.tile(np.arange(alphabet.size, dtype=np.uint8), (len(keys), 1))
    table[:, alphabet.letter_ids] = alphabet.letter_ids[keys]
    return np.take_along_axis(table, ids.astype(np.intp), axis=1)
