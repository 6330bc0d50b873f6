"""Cryptograms the classical way: climb from key to better key by how likely the letters follow one another.

A baseline without a network. Its knowledge of a language are quadgrams, counted in texts that it is given.
"""

from dataclasses import dataclass
from itertools import combinations

import numpy as np

from alice.solving.language_model import BOUNDARY, N_SYMBOLS, CharNgrams, Ints, symbols_of
from alice.text.cipher import N_LETTERS, Key, random_keys

ORDER = 4
"""Length of the n-grams that it is meant for."""
SWAPS = np.array(list(combinations(range(N_LETTERS), 2)))
"""All 325 pairs of letters, (swap, 2)."""


@dataclass(frozen=True, eq=False)
class HillClimber:
    """Starts from random keys and makes the best of all 325 swaps of two letters until none helps."""

    ngrams: CharNgrams
    climbs: int = 40
    """How many starts at most."""
    agree: int = 3
    """How often the best top must be reached before it is taken for the highest."""

    def solve(self, ciphertext: str, rng: np.random.Generator) -> str:
        """Return the plaintext in capitals; what is no letter stays."""
        key = self.find_key(symbols_of(ciphertext, self.ngrams.order), rng)
        return Key.from_array(key[:N_LETTERS]).encrypt(ciphertext.upper())

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
        score = float(self.ngrams.score(key[cipher]))
        while True:
            neighbours = swapped(key)
            scores = self.ngrams.score(neighbours[:, cipher])
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
