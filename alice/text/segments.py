"""Sequences of nearly equal length from running text, as in the multilingual experiments of the paper."""

from collections.abc import Iterable, Iterator

from alice.errors import AliceError


def segments(rows: Iterable[str], at_least: int = 256) -> Iterator[str]:
    """Join words, across rows, into segments of `at_least` characters (spaces counted); no word is ever cut.

    What is left after the last full segment is dropped.
    """
    if at_least < 1:
        raise AliceError(f"segments of at least {at_least} characters make no sense; give 1 or more")
    return _accumulate(rows, at_least)


def _accumulate(rows: Iterable[str], at_least: int) -> Iterator[str]:
    words: list[str] = []
    length = -1  # of the words joined by spaces: one space fewer than words
    for row in rows:
        for word in row.split():
            words.append(word)
            length += len(word) + 1
            if length >= at_least:
                yield " ".join(words)
                words, length = [], -1
