"""Character n-grams with Witten-Bell smoothing (1991), counted in texts.

Any run of characters that are not letters is one symbol, the boundary, which marks where words begin and end. Counts
of rare contexts are interpolated with those of shorter contexts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alice.errors import AliceError
from alice.text import N_LETTERS

Ints = NDArray[np.int64]
Floats = NDArray[np.float32]

BOUNDARY = N_LETTERS
N_SYMBOLS = N_LETTERS + 1
LONGEST = 6
"""Longest n-grams; one more symbol would make the table of contexts 27 times as large, 1.5 GB."""
TEXTS_AT_ONCE, PARTS = 5_000, 8
"""Texts that are counted at once, and counted parts that are kept before they are summed."""
_BEFORE = "\n"


def symbols_of(text: str, order: int) -> Ints:
    """Return the symbols of a text: letters as 0-25, boundaries as 26; `order` - 1 boundaries before, one after."""
    return symbols_of_all([text], order)[0]


def symbols_of_all(texts: Iterable[str], order: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the concatenated symbols of texts, and which of them are the boundaries put before a text."""
    whole = "".join(f"{_BEFORE * (order - 1)}{text.replace(_BEFORE, ' ')} " for text in texts)
    codes = np.frombuffer(whole.encode("ascii", errors="replace").upper(), dtype=np.uint8).astype(np.int64)
    before = codes == ord(_BEFORE)
    symbols = codes - ord("A")
    symbols[(symbols < 0) | (symbols >= N_LETTERS)] = BOUNDARY
    again = np.diff(symbols, prepend=-1) == 0
    kept = before | (symbols != BOUNDARY) | ~again
    return symbols[kept], before[kept]


def number_ngrams(symbols: Ints, order: int) -> Ints:
    """Return the number of each n-gram in base 27, (..., n) -> (..., n - order + 1)."""
    count = symbols.shape[-1] - order + 1
    numbers = symbols[..., :count]
    for place in range(1, order):
        numbers = numbers * N_SYMBOLS + symbols[..., place : count + place]
    return numbers


@dataclass(frozen=True, eq=False)
class CharNgrams:
    """Log-probability of a symbol given its context of up to `order` - 1 symbols."""

    order: int
    rows: tuple[NDArray[np.int32], ...]
    """For contexts of 0, 1, ... symbols: start of the row of each context in `table`, by its number, (27 ** length,).
    A context that does not occur in the texts shares the row of its longest suffix that does."""
    table: Floats
    """Log-probabilities of the 27 symbols after each context of the texts, row by row, (27 * contexts,)."""

    @classmethod
    def count(cls, texts: Iterable[str], order: int) -> "CharNgrams":
        """Count n-grams in texts."""
        if not 1 <= order <= LONGEST:
            raise AliceError(f"n-grams of {order} symbols cannot be counted; choose an order from 1 to {LONGEST}")
        codes, counts = _count(texts, order)
        if not len(codes):
            raise AliceError("there is no letter to count n-grams in; give texts with letters")
        rows = [np.zeros(1, dtype=np.int32)]
        chances = [_interpolated(codes % N_SYMBOLS, counts, np.full((1, N_SYMBOLS), 1 / N_SYMBOLS, np.float32))]
        for length in range(1, order):
            contexts, places = np.unique(codes // N_SYMBOLS % N_SYMBOLS**length, return_inverse=True)
            shorter = rows[-1][contexts % N_SYMBOLS ** (length - 1)] // N_SYMBOLS
            lower = np.concatenate(chances)[shorter]  # a copy
            rows.append(np.tile(rows[-1], N_SYMBOLS))
            rows[-1][contexts] = N_SYMBOLS * (sum(map(len, chances)) + np.arange(len(contexts)))
            chances.append(_interpolated(places * N_SYMBOLS + codes % N_SYMBOLS, counts, lower))
        table = np.concatenate(chances).ravel()
        return cls(order, tuple(rows), np.log(table, out=table))

    def logs(self, contexts: NDArray[Any], symbols: NDArray[Any], length: int) -> Floats:
        """Return the log-probability of symbols after contexts of one length, which are given by their numbers."""
        return self.table[self.rows[length][contexts] + symbols]

    def symbol_logs(self, symbols: Ints, order: int | None = None) -> Floats:
        """Return the log-probability of each symbol given those before it, (..., n) -> (..., n - order + 1)."""
        length = (order or self.order) - 1
        return self.logs(number_ngrams(symbols[..., :-1], length), symbols[..., length:], length)

    def score(self, symbols: Ints) -> Floats:
        """Return the log-probability of each row of symbols, (..., n) -> (...)."""
        return self.symbol_logs(symbols).sum(-1)


def _count(texts: Iterable[str], order: int) -> tuple[Ints, Ints]:
    """Return the numbers of the n-grams that occur, ascending, and their counts."""
    parts: list[tuple[NDArray[Any], Ints]] = [(np.zeros(0, dtype=np.uint32), np.zeros(0, dtype=np.int64))]
    texts = iter(texts)
    while some := list(islice(texts, TEXTS_AT_ONCE)):
        symbols, padding = symbols_of_all(some, order)
        numbers = number_ngrams(symbols, order)[~padding[order - 1 :]].astype(np.uint32)  # sorts faster, and fits
        parts.append(np.unique(numbers, return_counts=True))
        if len(parts) > PARTS:  # to save memory
            parts = [_summed(parts)]
    codes, counts = _summed(parts)
    return codes.astype(np.int64), counts


def _summed(parts: Iterable[tuple[NDArray[Any], Ints]]) -> tuple[NDArray[Any], Ints]:
    """Return every number once, ascending, with the sum of its counts."""
    codes, counts = (np.concatenate(column) for column in zip(*parts, strict=True))
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    firsts = np.flatnonzero(np.diff(codes, prepend=codes[:1] + 1))
    return codes[firsts], np.add.reduceat(counts[order], firsts) if len(firsts) else counts


def _interpolated(codes: Ints, counts: Ints, lower: Floats) -> Floats:
    """Return the probabilities of symbols after each context, (contexts, 27), given those after shorter contexts.

    Args:
        codes: 27 times the row of a context plus a symbol after it, (ngrams,).
        counts: count of each, (ngrams,).
        lower: probabilities of the symbols after the shorter context of each context; it is overwritten, being large.

    """
    codes, counts = _summed([(codes, counts)])
    totals, kinds = (np.bincount(codes // N_SYMBOLS, values, minlength=len(lower)) for values in (counts, None))
    lower *= kinds[:, None].astype(np.float32)
    lower.ravel()[codes] += counts
    lower /= (totals + kinds)[:, None].astype(np.float32)
    return lower
