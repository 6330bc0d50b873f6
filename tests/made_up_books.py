"""Rows of books with invented names, in random order, as in a corpus that does not say which book a row is from."""

from dataclasses import dataclass

import numpy as np

BOOKS, ROWS, NAMES = 60, 40, 50


@dataclass(frozen=True)
class Library:
    """Rows of ten names of their book and ten common words."""

    rows: list[str]
    """The texts."""
    books: np.ndarray
    """The number of the book of each row, (rows,)."""
    book_of: dict[str, int]
    """The book of each name."""


def invented(rng, count):
    """Return words of seven random letters."""
    letters = np.array(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ"))
    return ["".join(word) for word in rng.choice(letters, (count, 7))]


def make_library(seed):
    """Return a library of `BOOKS` books with `ROWS` rows each."""
    rng = np.random.default_rng(seed)
    common = invented(rng, 40)
    rows, books, book_of = [], [], {}
    for book in range(BOOKS):
        names = invented(rng, NAMES)
        book_of |= dict.fromkeys(names, book)
        for _ in range(ROWS):
            rows.append(" ".join(rng.permutation([*rng.choice(names, 10, replace=False), *rng.choice(common, 10)])))
            books.append(book)
    order = rng.permutation(len(rows))
    return Library([rows[place] for place in order], np.array(books)[order], book_of)
