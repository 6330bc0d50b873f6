"""Which texts share a long passage with other texts: commonplaces and variants of a quotation cross a split."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

Hashes = NDArray[np.uint64]

SHARED = 30
"""Characters in a row that two texts have in common if they overlap."""
_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # odd, so that no bit of a character is lost
_TABLE_BITS = 24
_TEXTS_AT_ONCE = 20_000


def overlapping(texts: Sequence[str], others: Iterable[str], *, length: int = SHARED) -> NDArray[np.bool_]:
    """Return which texts have `length` characters in a row that one of the others has, (texts,).

    Passages are compared by a 64-bit hash. The others are read once, some thousands at a time; only the hashes of
    `texts` are kept.
    """
    found = np.zeros(len(texts), dtype=np.bool_)
    hashes, owners = _own_hashes(texts, length)
    if not len(hashes):
        return found
    order = np.argsort(hashes, kind="stable")
    hashes, owners = hashes[order], owners[order]
    shift = np.uint64(64 - _TABLE_BITS)
    possible = np.zeros(2**_TABLE_BITS, dtype=np.bool_)  # most passages of the others are excluded by one look-up
    possible[hashes >> shift] = True
    shared = np.zeros(len(hashes), dtype=np.bool_)
    for theirs in _blocks(others, length):
        candidates = np.unique(theirs[possible[theirs >> shift]])
        shared |= np.isin(hashes, candidates)
    found[owners[shared]] = True
    return found


def _own_hashes(texts: Sequence[str], length: int) -> tuple[Hashes, NDArray[np.int64]]:
    """Return the hash of every passage inside a text, and the number of that text, (passages,) each."""
    hashes = _hashes(texts, length)
    starts = np.cumsum([0, *(len(text) + 1 for text in texts)])
    counts = np.array([max(0, len(text) - length + 1) for text in texts], dtype=np.int64)
    owners = np.repeat(np.arange(len(texts)), counts)
    firsts = np.repeat(np.cumsum(counts) - counts, counts)
    return hashes[starts[owners] + np.arange(len(owners)) - firsts], owners


def _blocks(texts: Iterable[str], length: int) -> Iterator[Hashes]:
    """Yield the hashes of all passages, also of those that reach into the next text, which no single text has."""
    rest = iter(texts)
    while block := list(islice(rest, _TEXTS_AT_ONCE)):
        yield _hashes(block, length)


def _hashes(texts: Sequence[str], length: int) -> Hashes:
    """Return the hash of the `length` characters from each position of the joined texts, (positions,).

    The hash is polynomial, so that of a passage follows from those of its two parts: passages double in length.
    """
    joined = "".join(f"{text}\0" for text in texts) + "\0" * length
    codes = np.frombuffer(joined.encode("utf-32-le"), dtype=np.uint32).astype(np.uint64) + np.uint64(1)
    total, covered = np.zeros(len(joined) - length, dtype=np.uint64), 0
    power, width = codes, 1
    while covered < length:
        if length & width:
            total = total * _power(width) + power[covered : covered + len(total)]
            covered += width
        power = power[:-width] * _power(width) + power[width:]
        width *= 2
    return total


def _power(exponent: int) -> np.uint64:
    """Return the multiplier to a power, modulo 2**64."""
    return np.uint64(pow(int(_MULTIPLIER), exponent, 2**64))
