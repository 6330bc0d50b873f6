"""A language that no corpus has, so that tests of solvers need none: words of syllables, common ones more often."""

import numpy as np

SYLLABLES = ("BA", "CHE", "DI", "FOR", "GU", "HAN", "JEL", "KI", "LOM", "MUR", "NA", "PEX", "QUI", "RO", "STU", "TAV")
SYLLABLES += ("WEY", "ZO")


def language(words, *, seed):
    """Return text of so many words, each of one to three syllables from a fixed list."""
    dictionary = np.random.default_rng(1)
    known = ["".join(dictionary.choice(SYLLABLES, dictionary.integers(1, 4))) for _ in range(150)]
    chance = 1 / np.arange(1, 151)
    return " ".join(np.random.default_rng(seed).choice(known, words, p=chance / chance.sum()))
