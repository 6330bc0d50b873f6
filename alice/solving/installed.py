"""Cryptogram solvers by others, where they are installed."""

import random
from collections.abc import Callable
from importlib.resources import files
from importlib.util import find_spec

SUBBREAKER = "subbreaker"
"""Jens Guballa's solver: hill climbing over letter quadgrams of English, which it brings along; spaces are not used."""


def has_subbreaker() -> bool:
    """Say whether it is installed."""
    return find_spec(SUBBREAKER) is not None


def open_subbreaker(*, climbs: int, seed: int) -> Callable[[str], str]:
    """Return a function that solves a ciphertext in at most so many climbs.

    A text too short for it comes back as it is.
    """
    from subbreaker.breaker import Breaker

    with (files(SUBBREAKER) / "quadgram" / "EN.json").open(encoding="utf-8") as file:
        breaker = Breaker(file)

    def solve(ciphertext: str) -> str:
        before = random.getstate()  # it takes its dice from the global generator
        random.seed(seed)
        try:
            return str(breaker.break_cipher(ciphertext, max_rounds=climbs).plaintext).upper()
        except ValueError:
            return ciphertext
        finally:
            random.setstate(before)

    return solve
