"""Counts of n-grams and their cosine similarity: pure functions of arrays of ids.

All texts are in one array of ids, with an array of text numbers next to it, so that they are counted at once. An n-gram
never crosses from one text into the next.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.stats import spearmanr

from alice.errors import AliceError
from alice.statistics import Floats, ratio

Ints = NDArray[np.integer[Any]]


@dataclass(frozen=True, eq=False)
class NgramCounts:
    """How often each text has each n-gram."""

    codes: NDArray[np.int64]
    """The n-grams that occur, each encoded as one number, in ascending order, (ngram,)."""
    counts: csr_array
    """(text, ngram)."""

    @property
    def has_any(self) -> NDArray[np.bool_]:
        """Whether each text is long enough to have an n-gram, (text,)."""
        return np.diff(self.counts.indptr) > 0


def count_ngrams(ids: Ints, owner: Ints, n: int, *, symbols: int, texts: int) -> NgramCounts:
    """Count the n-grams of many texts.

    Args:
        ids: ids of all texts after one another, below `symbols`, (character,).
        owner: number of the text that each belongs to, below `texts`; texts are contiguous, (character,).
        n: length of the n-grams.
        symbols: number of different ids.
        texts: number of texts.

    """
    codes, owners = encode_ngrams(ids, owner, n, symbols=symbols)
    found, columns = np.unique(codes, return_inverse=True)
    ones = np.ones(len(codes))
    # Duplicates of a row and column are summed, which counts them.
    counts = csr_array((ones, (owners, columns)), shape=(texts, len(found)))
    counts.sum_duplicates()
    return NgramCounts(found, counts)


def encode_ngrams(ids: Ints, owner: Ints, n: int, *, symbols: int) -> tuple[NDArray[np.int64], Ints]:
    """Return each n-gram as the number whose digits in base `symbols` are its ids, and the number of its text."""
    if n < 1:
        raise AliceError(f"there are no {n}-grams; give an n of 1 or more")
    if symbols**n > 2**63:
        raise AliceError(f"{n}-grams of {symbols} symbols are too many to number; choose a smaller n")
    count = max(0, len(ids) - n + 1)
    codes = np.zeros(count, dtype=np.int64)
    for place in range(n):
        codes = codes * symbols + ids[place : place + count]
    whole = owner[:count] == owner[n - 1 : n - 1 + count]
    return codes[whole], owner[:count][whole]


def cosines_by_text(ids: Ints, other: Ints, owner: Ints, longest: int, *, symbols: int, texts: int) -> Floats:
    """Return the cosine between the n-gram counts of two versions of each text, n = 1 to `longest`, (text, n).

    NaN for a text without n-grams.
    """
    found = []
    for n in range(1, longest + 1):
        one, owners = encode_ngrams(ids, owner, n, symbols=symbols)
        two, _ = encode_ngrams(other, owner, n, symbols=symbols)
        if symbols**n > 2**63 // texts:  # too many to number them once more by text
            one, two = np.unique([one, two], return_inverse=True)[1].reshape(2, -1)
        width = 1 + int(max(one.max(initial=0), two.max(initial=0)))
        left, ours = np.unique(owners * width + one, return_counts=True)
        right, theirs = np.unique(owners * width + two, return_counts=True)
        place = np.atleast_1d(np.searchsorted(left, right))
        shared = np.append(left, -1)[place] == right
        products = theirs[shared] * ours[place[shared]]
        sums = ((right[shared], products), (left, ours**2), (right, theirs**2))
        product, square, other_square = (
            np.bincount(keys // width, values, texts).astype(np.float64) for keys, values in sums
        )
        found.append(ratio(product, np.sqrt(square * other_square)))
    return np.stack(found, axis=1)


def corpus_values(one: NgramCounts, other: NgramCounts) -> Floats:
    """Return a value for each text whose mean is the cosine of the counts summed over all texts, (text,).

    The rest of a value is the first order of what the text's weight changes in that cosine, so that errors and
    intervals are those of a mean. NaN for a text without n-grams.
    """
    codes = np.union1d(one.codes, other.codes)
    left, right = (_widened(counts, codes) for counts in (one, other))
    ours, theirs = (np.asarray(counts.sum(axis=0), np.float64) for counts in (left, right))
    our_square, their_square = (max(float(totals @ totals), 1.0) for totals in (ours, theirs))
    norm = np.sqrt(our_square * their_square)
    cosine = ours @ theirs / norm
    change = (left @ theirs + right @ ours) / norm - cosine * (left @ ours / our_square + right @ theirs / their_square)
    return np.where(one.has_any, cosine + one.has_any.sum() * change, np.nan)


def _widened(counts: NgramCounts, codes: NDArray[np.int64]) -> csr_array:
    """Return the counts with a column for each of the codes, which include its own, (text, code)."""
    found = counts.counts
    columns = np.searchsorted(codes, counts.codes)[found.indices]
    return csr_array((found.data, columns, found.indptr), shape=(found.shape[0], len(codes)))


def gain_layers(similarity: Floats) -> NDArray[np.int64]:
    """Return the layer at which each n gains most, (..., layer, n) -> (..., n); layer 0 has no gain."""
    return np.diff(similarity, axis=-2).argmax(axis=-2) + 1


def rank_correlation(layers: Ints) -> float:
    """Return Spearman's correlation of n = 1, 2... with a layer for each, (n,).

    It is 0 where all n have the same layer.
    """
    if len(layers) < 2 or np.ptp(layers) == 0:
        return 0.0
    return float(spearmanr(np.arange(len(layers)), layers).statistic)
