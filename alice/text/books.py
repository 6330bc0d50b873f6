"""Probable books in a corpus that does not name them, to hold out: rows that share rare words, mostly names.

A group starts with the rows of one rare word and grows or shrinks until it is stable: it consists of the rows whose
rare words are far more probable given the other rows of the group than given the corpus (naive Bayes). Most such groups
fade into the rest of the corpus. Those with the sharpest edge are held out, and the rows near the edge are on neither
side.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import numpy as np
from numpy.typing import NDArray

from alice.errors import AliceError

Rows = NDArray[np.int64]
"""Numbers of rows, in increasing order."""

SHARE = 0.03
"""Share of the rows to hold out; whole groups make it slightly more."""
LARGEST = 0.02
"""Largest share of the rows in a group; what grows beyond is a style or a topic, not a book."""
STARTS = 60
"""Words from which groups are grown."""
INSIDE = np.log(100.0)
"""Log odds from which a row belongs to a group: a hundred books are equally probable beforehand."""
EDGE = -3.0
"""Log odds below which a row is clear of a group."""
ROUNDS = 20
WORD = r"[^\W\d_]{2,}"
"""What counts as a word: two letters or more."""
PRIOR_WORDS = 500.0
"""How many words of the whole corpus are added to those of a group."""


@dataclass(frozen=True)
class Sides:
    """Which rows of a corpus are held out, and which are too close to those to be trained on."""

    held_out: NDArray[np.bool_]
    """Rows of the chosen groups, (rows,)."""
    between: NDArray[np.bool_]
    """Rows near the edge of a chosen group, on neither side, (rows,)."""
    groups: tuple[Rows, ...]
    """The chosen groups; two that started from different words may share rows."""

    @property
    def training(self) -> NDArray[np.bool_]:
        """The other rows, (rows,)."""
        return ~(self.held_out | self.between)


@dataclass(frozen=True)
class _Group:
    rows: Rows
    near: NDArray[np.bool_]  # rows inside the group or near its edge, (rows,)

    @property
    def blur(self) -> float:
        """How many rows are near, for each row inside: 1 for a group with a sharp edge."""
        return float(self.near.sum() / len(self.rows))


def hold_out_books(rows: Sequence[str], share: float = SHARE) -> Sides:
    """Choose groups of rows that are probably whole books, about `share` of the rows; deterministic."""
    held_out, near = np.zeros((2, len(rows)), np.bool_)
    chosen: list[Rows] = []
    for group in sorted(_groups(rows), key=lambda group: group.blur):
        if held_out.sum() >= share * len(rows):
            break
        held_out[group.rows] = True
        near |= group.near
        chosen.append(group.rows)
    if not chosen or held_out.sum() < share * len(rows):
        raise AliceError(
            f"only {held_out.sum():,} of {len(rows):,} rows share rare words as the rows of one book do, and "
            f"{share:.0%} are needed; give a longer source"
        )
    if near.sum() > len(rows) / 2:
        raise AliceError(
            f"{near.sum():,} of {len(rows):,} rows are too close to the books to hold out; give a longer source"
        )
    return Sides(held_out, near & ~held_out, tuple(chosen))


def _groups(rows: Sequence[str]) -> list[_Group]:
    """Grow a group from each of some rare words, chosen by a hash, and return those that are large enough."""
    from sklearn.feature_extraction.text import CountVectorizer

    counter = CountVectorizer(lowercase=False, token_pattern=WORD, min_df=2, dtype=np.float32)
    try:
        table = counter.fit_transform(rows).tocsr()
    except ValueError:  # no word occurs twice
        return []
    names = counter.get_feature_names_out()
    in_rows = np.bincount(table.indices, minlength=len(names))
    rare = in_rows <= max(30, len(rows) // 90)
    words, names, in_rows = _Words(table[:, rare].tocsr()), names[rare], in_rows[rare]
    fewest, most = max(4, len(rows) // 3000), max(12, len(rows) // 400)
    possible: list[int] = np.flatnonzero((in_rows >= fewest) & (in_rows <= most)).tolist()
    starts = sorted(possible, key=lambda word: blake2b(names[word].encode(), digest_size=8).digest())[:STARTS]
    smallest = max(5, len(rows) // 400)
    grown = (words.grow(word, largest=int(LARGEST * len(rows))) for word in starts)
    return [group for group in grown if group is not None and len(group.rows) >= smallest]


class _Words:
    """How often each rare word occurs in each row, (rows, words), and what follows from it."""

    def __init__(self, table: Any) -> None:
        self.table = table
        self.by_word = table.tocsc()
        total = np.asarray(table.sum(axis=0)).ravel()
        self.prior = PRIOR_WORDS * total / total.sum()
        self.lengths = np.asarray(table.sum(axis=1)).ravel()

    def grow(self, word: int, largest: int) -> _Group | None:
        """Return the stable group that the rows of a word lead to; None if it vanishes or outgrows a book."""
        rows = np.sort(self.by_word.indices[slice(*self.by_word.indptr[word : word + 2])]).astype(np.int64)
        for _ in range(ROUNDS):
            odds = self.log_odds(rows)
            inside = np.flatnonzero(odds > INSIDE)
            if not 2 <= len(inside) <= largest:
                return None
            if np.array_equal(inside, rows):
                break
            rows = inside
        return _Group(rows, odds > EDGE)

    def log_odds(self, group: Rows) -> NDArray[np.float64]:
        """Return the log odds of each row, group against corpus, (rows,); a row is no evidence for itself."""
        own = self.table[group]
        counts = np.asarray(own.sum(axis=0)).ravel().astype(np.float64)
        total = counts.sum()
        odds = self.table @ np.log((counts + self.prior) / self.prior) - self.lengths * np.log1p(total / PRIOR_WORDS)
        place = np.repeat(np.arange(len(group)), np.diff(own.indptr))
        others = (counts[own.indices] - own.data + self.prior[own.indices]) / self.prior[own.indices]
        evidence = np.bincount(place, weights=own.data * np.log(others), minlength=len(group))
        odds[group] = evidence - self.lengths[group] * np.log1p((total - self.lengths[group]) / PRIOR_WORDS)
        return np.asarray(odds, dtype=np.float64)
