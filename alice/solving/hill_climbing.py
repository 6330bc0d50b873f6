"""Hill climbing over keys, the classical solver: a baseline without a network.

`HillClimber` knows a language by quadgrams counted in given texts. `open_subbreaker` opens Jens Guballa's solver of the
same kind, if it is installed.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass
from importlib.resources import files
from importlib.util import find_spec
from itertools import combinations

import numpy as np

from alice.solving.language_model import BOUNDARY, N_SYMBOLS, CharNgrams, Ints, symbols_of
from alice.text import N_LETTERS, Key, random_keys

ORDER = 4
"""Length of the n-grams that it is meant for."""
SWAPS = np.array(list(combinations(range(N_LETTERS), 2)))
"""All 325 pairs of letters, (swap, 2)."""
SUBBREAKER = "subbreaker"
"""A package that climbs over letter quadgrams of English, which it contains; it ignores spaces."""


@dataclass(frozen=True, eq=False)
class HillClimber:
    """Starts from random keys and makes the best of all 325 swaps of two letters until none improves the score."""

    ngrams: CharNgrams
    climbs: int = 40
    """Maximum number of starts."""
    agree: int = 3
    """How often the best score must be reached before the search stops."""

    def solve(self, ciphertext: str, rng: np.random.Generator) -> str:
        """Return the plaintext in capitals; characters that are not letters stay."""
        key = self.find_key(symbols_of(ciphertext, self.ngrams.order), rng)
        return Key.from_array(key[:N_LETTERS]).encrypt(ciphertext.upper())

    def find_key(self, cipher: Ints, rng: np.random.Generator) -> Ints:
        """Return the plain symbol of each cipher symbol, (27,), by the best of several climbs."""
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
        """Swap letters of a key, (27,), while that improves the score; return the last key and its score."""
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


def has_subbreaker() -> bool:
    """Return whether subbreaker is installed."""
    return find_spec(SUBBREAKER) is not None


def open_subbreaker(*, climbs: int, seed: int) -> Callable[[str], str]:
    """Return a function that solves a ciphertext in at most `climbs` climbs; a text too short for it is unchanged."""
    from subbreaker.breaker import Breaker

    with (files(SUBBREAKER) / "quadgram" / "EN.json").open(encoding="utf-8") as file:
        breaker = Breaker(file)

    def solve(ciphertext: str) -> str:
        before = random.getstate()  # it draws from the global generator
        random.seed(seed)
        try:
            return str(breaker.break_cipher(ciphertext, max_rounds=climbs).plaintext).upper()
        except ValueError:
            return ciphertext
        finally:
            random.setstate(before)

    return solve
