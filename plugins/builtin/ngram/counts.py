"""Counts of n-grams and how alike two of them are: pure functions of arrays of ids.

Many texts are one array of ids beside an array that says which text each belongs to, so that all of them are counted at
once. An n-gram never reaches from one text into the next.
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
"""n-grams whose weighted sums are held at a time."""


@dataclass(frozen=True, eq=False)
class NgramCounts:
    """How often each text has each n-gram."""

    codes: NDArray[np.int64]
    """The n-grams that occur, each as one number, in ascending order, (ngram,)."""
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
        owner: number of the text that each belongs to, below `texts`; a text stands in one piece, (character,).
        n: length of the n-grams.
        symbols: number of ids that there are.
        texts: number of texts.

    """
    codes, owners = encode_ngrams(ids, owner, n, symbols=symbols)
    found, columns = np.unique(codes, return_inverse=True)
    ones = np.ones(len(codes))
    # Duplicates of a row and column are summed: that is the counting.
    counts = csr_array((ones, (owners, columns)), shape=(texts, len(found)))
    counts.sum_duplicates()
    return NgramCounts(found, counts)


def encode_ngrams(ids: Ints, owner: Ints, n: int, *, symbols: int) -> tuple[NDArray[np.int64], Ints]:
    """Return each n-gram as the number whose digits to the base `symbols` are its ids, and the text that it is of."""
    if n < 1:
        raise AliceError(f"there are no {n}-grams; n is 1 or more")
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
    """Return the cosine of counts that are summed over the texts by weights, (draw, text) -> (draw,).

    `norms` are those of the first, from `norms_of_sums`. NaN where no text has n-grams.
    """
    _, left, right = np.intersect1d(one.codes, other.codes, assume_unique=True, return_indices=True)
    product = _products(one.counts[:, left], other.counts[:, right], weights)
    return ratio(product, norms * norms_of_sums(other, weights))


def norms_of_sums(counts: NgramCounts, weights: Floats) -> Floats:
    """Return how long the vectors are that are summed over the texts by weights, (draw, text) -> (draw,)."""
    return np.sqrt(_products(counts.counts, counts.counts, weights))


def _products(one: csr_array, other: csr_array, weights: Floats) -> Floats:
    """Return the scalar products of the weighted sums, (draw,): a block of n-grams at a time, since they are many."""
    left, right, by_text = one.tocsc(), other.tocsc(), weights.T
    total = np.zeros(len(weights))
    for start in range(0, one.shape[1], BLOCK):
        columns = slice(start, start + BLOCK)
        total += ((left[:, columns].T @ by_text) * (right[:, columns].T @ by_text)).sum(0)
    return total


def gain_layers(similarity: Floats) -> NDArray[np.int64]:
    """Return the layer at which each n gains most, (..., layer, n) -> (..., n); layer 0 has nothing before it."""
    return np.diff(similarity, axis=-2).argmax(axis=-2) + 1


def rank_correlation(layers: Ints) -> float:
    """Return Spearman's correlation of n = 1, 2... with a layer for each, (n,).

    Where all n have the same layer there is no order to speak of, and it is 0.
    """
    if len(layers) < 2 or np.ptp(layers) == 0:
        return 0.0
    return float(spearmanr(np.arange(len(layers)), layers).statistic)
