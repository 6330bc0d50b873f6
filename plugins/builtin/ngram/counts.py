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
BLOCK = 8192
"""Number of n-grams whose weighted sums are in memory at a time."""


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


def cosine_by_text(one: NgramCounts, other: NgramCounts) -> Floats:
    """Return the cosine between the counts of each text, (text,); NaN for a text without n-grams."""
    _, left, right = np.intersect1d(one.codes, other.codes, assume_unique=True, return_indices=True)
    product = one.counts[:, left].multiply(other.counts[:, right]).sum(axis=1)
    norms = np.sqrt(one.counts.power(2).sum(axis=1) * other.counts.power(2).sum(axis=1))
    return ratio(np.asarray(product), np.asarray(norms))


def cosine_of_sums(one: NgramCounts, other: NgramCounts, weights: Floats, norms: Floats) -> Floats:
    """Return the cosine of counts summed over the texts by weights, (draw, text) -> (draw,).

    `norms` are those of the first, from `norms_of_sums`. NaN where no text has n-grams.
    """
    _, left, right = np.intersect1d(one.codes, other.codes, assume_unique=True, return_indices=True)
    product = _products(one.counts[:, left], other.counts[:, right], weights)
    return ratio(product, norms * norms_of_sums(other, weights))


def norms_of_sums(counts: NgramCounts, weights: Floats) -> Floats:
    """Return the norms of the counts summed over the texts by weights, (draw, text) -> (draw,)."""
    return np.sqrt(_products(counts.counts, counts.counts, weights))


def _products(one: csr_array, other: csr_array, weights: Floats) -> Floats:
    """Return the scalar products of the weighted sums, (draw,), a block of n-grams at a time to save memory."""
    left, right, by_text = one.tocsc(), other.tocsc(), weights.T
    total = np.zeros(len(weights))
    for start in range(0, one.shape[1], BLOCK):
        columns = slice(start, start + BLOCK)
        total += ((left[:, columns].T @ by_text) * (right[:, columns].T @ by_text)).sum(0)
    return total


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
