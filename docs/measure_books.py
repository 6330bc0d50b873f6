"""Measure how well `alice.text.books` separates books: mix known ones into a corpus and see where their rows end up.

Usage: python docs/measure_books.py CORPUS FOLDER, where FOLDER has one text file per book.
"""

import sys
from pathlib import Path

import numpy as np

from alice.text import ALPHABETS, Cleaner, open_corpus
from alice.text.books import SHARE, hold_out_books

ROW = 256
"""Characters of a row, at most."""
ROWS = 260
"""Rows of a known book, about as many as a novel has in a corpus of 26,000 rows and a hundred novels."""
DRAWS = 5
"""How often rows of the known books are drawn."""


def main(corpus: Path, folder: Path) -> None:
    """Print where the rows of known books are after books have been held out."""
    unknown = list(open_corpus(str(corpus), alphabet=ALPHABETS["letters"], min_length=1, max_length=None))
    books = {file.stem: rows_of(file) for file in sorted(folder.glob("*.txt"))}
    found = [each for draw in range(DRAWS) for each in measure(unknown, books, draw)]
    counts = [count for count, _ in found]
    held_out, between, training = np.average([shares for _, shares in found], axis=0, weights=counts)
    print(f"mean over {sum(counts)} held-out rows of the shares of their book: {held_out:.1%} held out, ", end="")
    print(f"{between:.1%} between, {training:.1%} in training (with a split by row, {1 - SHARE:.0%})")


def measure(unknown: list[str], books: dict[str, list[str]], draw: int) -> list[tuple[int, list[float]]]:
    """Return, for each book with held-out rows: how many, and the shares of it held out, between and in training."""
    rng = np.random.default_rng(draw)
    drawn = [[rows[place] for place in rng.permutation(len(rows))[:ROWS]] for rows in books.values()]
    sides = hold_out_books([*unknown, *(row for rows in drawn for row in rows)])
    owner = np.repeat(np.arange(-1, len(books)), [len(unknown), *map(len, drawn)])
    found = []
    for number, name in enumerate(books):
        own = owner == number
        shares = [float(side[own].mean()) for side in (sides.held_out, sides.between, sides.training)]
        if count := int((sides.held_out & own).sum()):
            found.append((count, shares))
            print(f"draw {draw}: {name}: {count} rows held out, {shares[1]:.0%} between, {shares[2]:.0%} in training")
    pure = [np.bincount(owner[group] + 1, minlength=2) / len(group) for group in sides.groups]
    known = [share[1:].max() for share in pure if share[0] < 0.5]
    if known:
        print(f"draw {draw}: mean purity {np.mean(known):.0%} of {len(known)} groups with mostly known books")
    return found


def rows_of(file: Path) -> list[str]:
    """Return the cleaned rows of a book."""
    clean = Cleaner(ALPHABETS["letters"], 1, None).clean
    rows, row = [], ""
    for word in file.read_text(encoding="latin-1").split():
        if len(row) + 1 + len(word) > ROW:
            rows.append(row)
            row = word
        else:
            row = f"{row} {word}".strip()
    return [text for text in map(clean, rows) if isinstance(text, str)]


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:]))
