"""A made-up language for tests of solvers: words of syllables, some more frequent than others."""

from functools import cache

import numpy as np

SYLLABLES = ("BA", "CHE", "DI", "FOR", "GU", "HAN", "JEL", "KI", "LOM", "MUR", "NA", "PEX", "QUI", "RO", "STU", "TAV")
SYLLABLES += ("WEY", "ZO")


@cache
def dictionary():
    """Return 150 words of one to three syllables, and the probability of each."""
    rng = np.random.default_rng(1)
    words = ["".join(rng.choice(SYLLABLES, rng.integers(1, 4))) for _ in range(150)]
    chance = 1 / np.arange(1, 151)
    return words, chance / chance.sum()


def language(words, *, seed):
    """Return a text of `words` words."""
    known, chance = dictionary()
    return " ".join(np.random.default_rng(seed).choice(known, words, p=chance))
