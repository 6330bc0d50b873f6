"""Cryptograms the classical way: climb from key to better key by how likely the letters follow one another.

A baseline without a network. Its knowledge of a language is a table of quadgrams, counted in texts that it is given.
All that is no letter counts as one symbol, the boundary, so that it knows where words begin and end, as a model does.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import combinations, islice

import numpy as np
from numpy.typing import NDArray

from alice.alphabet import LETTERS
from alice.cipher import N_LETTERS, Key, random_keys
from alice.errors import AliceError

Ints = NDArray[np.int64]

ORDER = 4
BOUNDARY = N_LETTERS
N_SYMBOLS = N_LETTERS + 1
START = np.full(ORDER - 1, BOUNDARY)
SWAPS = np.array(list(combinations(range(N_LETTERS), 2)))
"""All 325 pairs of letters, (swap, 2)."""
TEXTS_AT_ONCE = 1000


def symbols_of(text: str) -> Ints:
    """Return the letters of a text as 0-25 and one boundary for all between; three boundaries before, one after."""
    codes = np.frombuffer(text.upper().encode("ascii", errors="replace"), dtype=np.uint8).astype(np.int64) - ord("A")
    symbols = np.where((codes >= 0) & (codes < N_LETTERS), codes, BOUNDARY)
    symbols = np.concatenate([START, symbols, [BOUNDARY]])
    again = (symbols[1:] == BOUNDARY) & (symbols[:-1] == BOUNDARY)
    again[: ORDER - 2] = False  # those before the text stay
    return symbols[np.concatenate([[True], ~again])]


def quadgrams_of(symbols: Ints) -> Ints:
    """Number every four symbols that follow one another, (..., n) -> (..., n - 3)."""
    numbers = symbols[..., : symbols.shape[-1] - ORDER + 1]
    for place in range(1, ORDER):
        numbers = numbers * N_SYMBOLS + symbols[..., place : symbols.shape[-1] - ORDER + 1 + place]
    return numbers


@dataclass(frozen=True, eq=False)
class Quadgrams:
    """How likely a symbol is after three others."""

    logs: NDArray[np.float32]
    """Log of the probability, by the number of the four symbols, (27 ** 4,)."""

    @classmethod
    def count(cls, texts: Iterable[str]) -> "Quadgrams":
        """Count in texts; where they say little, fewer symbols before decide (Witten and Bell 1991)."""
        counts, texts = np.zeros(N_SYMBOLS**ORDER), iter(texts)
        while some := list(islice(texts, TEXTS_AT_ONCE)):
            numbers = np.concatenate([quadgrams_of(symbols_of(text)) for text in some])
            counts += np.bincount(numbers, minlength=len(counts))
        if not counts.any():
            raise AliceError("there is no letter to count quadgrams in; give texts that have some")
        chance = np.full(N_SYMBOLS, 1 / N_SYMBOLS)
        whole = counts.reshape((N_SYMBOLS,) * ORDER)
        for left_out in reversed(range(ORDER)):
            seen = whole.sum(tuple(range(left_out)))
            kinds, total = (seen > 0).sum(-1, keepdims=True), seen.sum(-1, keepdims=True)
            chance = np.where(total > 0, (seen + kinds * chance) / np.maximum(total + kinds, 1), chance)
        return cls(np.log(chance).ravel().astype(np.float32))

    def score(self, symbols: Ints) -> NDArray[np.float32]:
        """Return the log-probability of each row of symbols, (..., n) -> (...)."""
        return self.logs[quadgrams_of(symbols)].sum(-1)


@dataclass(frozen=True, eq=False)
class HillClimber:
    """Starts from random keys and makes the best of all 325 swaps of two letters until none helps."""

    quadgrams: Quadgrams
    climbs: int = 40
    """How many starts at most."""
    agree: int = 3
    """How often the best top must be reached before it is taken for the highest."""

    def solve(self, ciphertext: str, rng: np.random.Generator) -> str:
        """Return the plaintext in capitals; what is no letter stays."""
        key = Key.from_array(self.find_key(symbols_of(ciphertext), rng)[:N_LETTERS])
        return ciphertext.upper().translate(str.maketrans(LETTERS, key.letters))

    def find_key(self, cipher: Ints, rng: np.random.Generator) -> Ints:
        """Return what each cipher symbol stands for, (27,), in the best of several climbs."""
        best, top, reached = np.arange(N_SYMBOLS), -np.inf, 0
        for start in random_keys(self.climbs, rng):
            key, score = self.climb(cipher, np.append(start, BOUNDARY).astype(np.int64))
            if score > top:
                best, top, reached = key, score, 0
            reached += score == top
            if reached == self.agree:
                break
        return best

    def climb(self, cipher: Ints, key: Ints) -> tuple[Ints, float]:
        """Swap letters of a key, (27,), as long as that helps; return the last key and the score of its text."""
        score = float(self.quadgrams.score(key[cipher]))
        while True:
            neighbours = swapped(key)
            scores = self.quadgrams.score(neighbours[:, cipher])
            best = int(scores.argmax())
            if scores[best] <= score:
                return key, score
            key, score = neighbours[best], float(scores[best])


def swapped(key: Ints) -> Ints:
    """Return the key after each of the 325 swaps, (swap, 27)."""
    keys = np.tile(key, (len(SWAPS), 1))
    rows = np.arange(len(SWAPS))
    keys[rows, SWAPS[:, 0]], keys[rows, SWAPS[:, 1]] = key[SWAPS[:, 1]], key[SWAPS[:, 0]]
    return keys
