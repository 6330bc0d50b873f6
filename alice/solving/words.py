"""Word unigrams and bigrams with Witten-Bell smoothing, for texts whose characters have a probability already.

A word is a run of letters. The probability of a word after another is interpolated with that of the word alone, and
that with the probability of its characters, so that every word has one.
"""

from collections.abc import Iterable
from dataclasses import dataclass, fields
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alice.solving.language_model import (
    BOUNDARY,
    N_SYMBOLS,
    PARTS,
    TEXTS_AT_ONCE,
    Floats,
    Ints,
    symbols_of_all,
)

Hashes = NDArray[np.uint64]
Counted = tuple[Hashes, Hashes, Floats]
"""Hashes, ascending, what belongs to each, and how often each occurs."""


LONGEST_WORD = 64
"""Letters beyond these do not count with their place in a word."""
LEAST = -600.0
"""Lower bound for the log-probability of a word, whose exponential must not vanish."""
_ODD = np.uint64(0x9E3779B97F4A7C15)  # multiplying by an odd number loses nothing modulo 2 ** 64
_PLACES: Hashes = _ODD ** np.arange(LONGEST_WORD, dtype=np.uint64)
_VALUES: Hashes = (np.arange(1, N_SYMBOLS + 1, dtype=np.uint64) * np.uint64(0xC2B2AE3D27D4EB4F)) ^ np.uint64(0x5851F42D)
_VALUES[BOUNDARY] = 0  # so that the boundary after a word does not count
_PAIR = np.uint64(0xFF51AFD7ED558CCD)
_NO_WORD = np.uint64(0)
"""Stands before the first word of a text."""


@dataclass(frozen=True, eq=False)
class WordNgrams:
    """Counts of words and of pairs of neighbouring words, found by 64-bit hashes."""

    words: Hashes
    """Hash of every word, ascending, (words,)."""
    times: Floats
    """Count of each word, (words,)."""
    followed: Floats
    """How often another word comes after each word, (words,)."""
    followers: Floats
    """Number of different words that come after each word, (words,)."""
    pairs: Hashes
    """Hash of every pair of words, ascending, (pairs,)."""
    pair_times: Floats
    """Count of each pair, (pairs,)."""

    @classmethod
    def count(cls, texts: Iterable[str]) -> "WordNgrams":
        """Count words and pairs of words in texts; the start of a text counts as a word before the first."""
        words, pairs, texts = list[Counted](), list[Counted](), iter(texts)
        while some := list(islice(texts, TEXTS_AT_ONCE)):
            symbols, padding = symbols_of_all(some, 2)
            starts = word_starts(symbols)
            hashes = hash_words(symbols[None], starts)[0]
            before = np.where(padding[starts - 1], _NO_WORD, np.roll(hashes, 1))
            counted = np.concatenate([hashes, np.zeros(len(some), dtype=np.uint64)])
            _add(words, counted, counted)
            _add(pairs, _paired(before, hashes), before)
        known, _, times = _summed(words)
        both, heads, pair_times = _summed(pairs)
        places = np.searchsorted(known, heads)
        followed = np.bincount(places, pair_times, minlength=len(known)).astype(np.float32)
        followers = np.bincount(places, minlength=len(known)).astype(np.float32)
        return cls(known, times, followed, followers, both, pair_times)

    def score(self, symbols: Ints, starts: Ints, spelled: Floats) -> Floats:
        """Return the log-probability of rows of symbols, (rows,).

        Args:
            symbols: the texts, which differ in their letters only, (rows, symbols).
            starts: where words start, from `word_starts`, (words,).
            spelled: log-probability of each word by its characters, (rows, words).

        """
        hashes = hash_words(symbols, starts)
        before = np.concatenate([np.full((len(hashes), 1), _NO_WORD), hashes[:, :-1]], axis=1)
        total, kinds = float(self.times.sum()), len(self.words)
        chances = np.exp(np.maximum(spelled.astype(np.float64), LEAST))
        alone = (_found(self.words, self.times, hashes) + kinds * chances) / (total + kinds)
        joint = _found(self.pairs, self.pair_times, _paired(before, hashes))
        followed, followers = (_found(self.words, values, before) for values in (self.followed, self.followers))
        after = (joint + followers * alone) / np.maximum(followed + followers, 1)
        return np.log(np.where(followed > 0, after, alone)).sum(1).astype(np.float32)

    def arrays(self) -> dict[str, NDArray[Any]]:
        """Return the arrays by name."""
        return {field.name: getattr(self, field.name) for field in fields(self)}


def word_starts(symbols: Ints) -> Ints:
    """Return the places of letters that follow a boundary, (words,)."""
    letters = symbols != BOUNDARY
    return np.flatnonzero(letters[1:] & ~letters[:-1]) + 1


def hash_words(symbols: Ints, starts: Ints) -> Hashes:
    """Return the hash of each word of each row, (rows, symbols) -> (rows, words)."""
    if not len(starts):
        return np.zeros((len(symbols), 0), dtype=np.uint64)
    places = np.arange(symbols.shape[1]) - starts[np.searchsorted(starts, np.arange(symbols.shape[1]), "right") - 1]
    factors = _PLACES[np.clip(places, 0, LONGEST_WORD - 1)]
    return np.add.reduceat(_VALUES[symbols] * factors, starts, axis=1)


def _paired(before: Hashes, word: Hashes) -> Hashes:
    return before * _PAIR + word


def _found(known: Hashes, values: Floats, wanted: Hashes) -> Floats:
    """Return the value of each wanted hash, 0 for an unknown one."""
    places = np.minimum(np.searchsorted(known, wanted), len(known) - 1)
    return np.where(known[places] == wanted, values[places], 0)


def _summed(parts: list[Counted]) -> Counted:
    """Return every hash once, ascending, with what belongs to it and the sum of its counts."""
    hashes = np.concatenate([part[0] for part in parts])
    order = np.argsort(hashes, kind="stable")
    hashes = hashes[order]
    firsts = np.flatnonzero(np.diff(hashes, prepend=hashes[0] + np.uint64(1)))
    times = np.add.reduceat(np.concatenate([part[2] for part in parts])[order], firsts)
    belonging = np.concatenate([part[1] for part in parts])[order[firsts]]
    return hashes[firsts], belonging, times


def _add(parts: list[Counted], hashes: Hashes, belonging: Hashes) -> None:
    """Add hashes to counted parts, which are summed now and then to save memory."""
    parts.append(_summed([(hashes, belonging, np.ones(len(hashes), dtype=np.float32))]))
    if len(parts) > PARTS:
        parts[:] = [_summed(parts)]
