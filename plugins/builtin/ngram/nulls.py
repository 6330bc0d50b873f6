"""Null models: plaintexts with as many wrong letters as an answer has, but no other knowledge of n-grams.

A more accurate answer has more n-grams right, whatever it was that made it accurate. Only what exceeds answers of the
same accuracy says something about n-grams.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from alice.statistics import Floats, Ints
from alice.text import N_LETTERS, Alphabet, lewand

Null = Literal["independent", "frequency", "symbols", "rare"]
NULLS: dict[Null, str] = {
    "independent": "wrong characters anywhere",
    "frequency": "wrong characters, drawn by English frequency",
    "symbols": "wrong letters, wrong everywhere",
    "rare": "wrong letters, rare ones first",
}
"""Null models with their titles."""
_DOMAIN = 9_000_011  # separates these draws from everything else that is drawn with the same seed
Bytes = NDArray[np.uint8]


@dataclass(frozen=True, eq=False)
class NullModel:
    """One draw of a null model, for all accuracies: with fewer errors, some of the same characters are wrong."""

    threshold: Floats
    """A character is wrong if its text has more wrong letters than this, (character,); infinite if not a letter."""
    wrong: Bytes
    """What it is then taken for, (character,)."""

    def answers(self, plain: Bytes, found: Bytes, owner: Ints, texts: int) -> Bytes:
        """Return an answer with as many wrong letters in each text as `found` has, (character,) each.

        Characters that are not letters are taken from `found`.
        """
        letters = np.isfinite(self.threshold)
        mistakes = np.bincount(owner[letters & (found != plain)], minlength=texts)
        known = np.where(letters, plain, found)
        return np.where(self.threshold < mistakes[owner], self.wrong, known).astype(np.uint8)


def null_models(
    plain: Bytes, owner: Ints, numbers: Ints, alphabet: Alphabet, *, seed: int, draw: int
) -> Iterator[NullModel]:
    """Yield each of NULLS for some plaintexts; what is drawn for a text depends on the seed and its number alone.

    Args:
        plain: ids of all texts after one another, (character,).
        owner: place of the text that each belongs to, (character,).
        numbers: numbers of the texts, (text,).
        alphabet: symbols of the ids.
        seed: of the run.
        draw: which draw.

    """
    letter_of = np.full(alphabet.size, -1)
    letter_of[alphabet.letter_ids] = np.arange(N_LETTERS)
    letter, lengths = letter_of[plain], np.bincount(owner, minlength=len(numbers))
    each = [np.random.default_rng((seed, number, draw, _DOMAIN)) for number in numbers.tolist()]
    place, guess = np.concatenate([rng.random((2, length)) for rng, length in zip(each, lengths, strict=True)], axis=1)
    order, other = np.stack([rng.random((2, N_LETTERS)) for rng in each], axis=1)  # (text, letter) each
    is_letter, counts = letter >= 0, np.zeros((len(numbers), N_LETTERS))
    np.add.at(counts, (owner[is_letter], letter[is_letter]), 1)

    anywhere = np.full(len(plain), np.inf)
    anywhere[is_letter] = _rank_in_text(place[is_letter], owner[is_letter]) + 0.5
    yield NullModel(anywhere, _ids(_another(letter, guess), alphabet))
    yield NullModel(anywhere, _ids(_by_frequency(letter, guess), alphabet))
    everywhere = _ids(_another(letter, other[owner, letter]), alphabet)
    for key in (order, counts + order):  # random letters first, or those with the lowest counts
        yield NullModel(np.where(is_letter, _mistakes_before(counts, key)[owner, letter], np.inf), everywhere)


def _rank_in_text(keys: Floats, owner: Ints) -> Ints:
    """Return the rank of each character in its text by its key, (character,) each; texts are contiguous."""
    ranks = np.empty(len(keys), dtype=np.int64)
    starts = np.searchsorted(owner, owner)
    ranks[np.lexsort((keys, owner))] = np.arange(len(keys))
    return ranks - starts


def _mistakes_before(counts: Floats, keys: Floats) -> Floats:
    """Return how many characters are wrong before a letter is, half of its own included, (text, letter) each.

    Letters become wrong in the order of their keys. With the half, the number of wrong characters is as near to the
    wanted one as whole letters allow.
    """
    order = np.argsort(keys, axis=1)
    sorted_counts = np.take_along_axis(counts, order, axis=1)
    before = np.empty_like(counts)
    np.put_along_axis(before, order, np.cumsum(sorted_counts, axis=1) - sorted_counts / 2, axis=1)
    return before


def _another(letter: Ints, guess: Floats) -> Ints:
    """Return a letter other than the right one, all equally likely, from numbers in [0, 1)."""
    return (letter + 1 + (guess * (N_LETTERS - 1)).astype(np.int64)) % N_LETTERS


def _by_frequency(letter: Ints, guess: Floats) -> Ints:
    """Return a letter other than the right one by its frequency in English, from numbers in [0, 1)."""
    others = np.where(np.eye(N_LETTERS, dtype=bool), 0.0, lewand())
    reached = np.cumsum(others, axis=1) / others.sum(1, keepdims=True)  # (right letter, letter)
    reached[:, -2:] = np.where(reached[:, -2:] > 1 - 1e-9, 1.0, reached[:, -2:])  # rounding
    return (reached[letter] <= guess[:, None]).sum(1)


def _ids(letter: Ints, alphabet: Alphabet) -> Bytes:
    found: Bytes = alphabet.letter_ids[letter].astype(np.uint8)
    return found
