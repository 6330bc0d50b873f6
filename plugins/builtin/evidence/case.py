"""One text whose letters are to be explained: its symbols, its words, and where its characters lie."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.causal import right_symbols
from alice.model import Alice
from alice.statistics import Ints
from alice.text import PAD, Alphabet, Batch

PLACES = {
    "own": "the symbol itself",
    "beside": "letters beside it",
    "same-word": "rest of its words",
    "elsewhere": "same letters elsewhere",
    "other-letters": "all other letters",
    "not-letters": "spaces, punctuation",
}
"""Kinds of places as seen from a cipher symbol, with the labels for readers; every character is in exactly one.

`elsewhere` are letters of words without the symbol that also occur in a word with it.
"""


@dataclass(frozen=True, eq=False)
class Case:
    """A text without padding, and the answer whose log-probability is explained for each of its symbols."""

    title: str
    """What reports call the text, such as `example 0`."""
    number: int
    """Its number among the texts."""
    alphabet: Alphabet
    """Symbols of the ids."""
    cipher_ids: Tensor
    """The text as the model sees it, (pos,)."""
    plain_ids: Tensor
    """The solution, (pos,); the ciphertext itself if it is not known."""
    key: Ints
    """Number of the cipher letter that stands for each plain letter, (26,)."""
    answers: Tensor
    """Plain symbol whose log-probability is the score of each cipher symbol, (symbol,): the right one, or the model's
    own answer if the solution is not known."""
    embedding: Tensor
    """What the model makes of the text before the first block, (pos, d_model)."""
    known: bool
    """Whether the solution is known."""

    @classmethod
    def of(cls, model: Alice, batch: Batch, row: int, *, title: str, known: bool = True) -> "Case":
        """Take one text of a batch."""
        length = int(batch.mask[row].sum())
        cipher = batch.cipher_ids[row, :length]
        with torch.no_grad():
            embedding = model.resid(cipher[None], stop=0)[0]
            if known:
                answers = right_symbols(batch, model.alphabet)[row]
            else:
                answers = model.decode_symbols(model.resid(cipher[None]), cipher[None], soft=False)[0].argmax(-1)
        plain, key = batch.plain_ids[row, :length], batch.keys[row].cpu().numpy()
        number = int(batch.index[row])
        return cls(title, number, model.alphabet, cipher, plain, key, answers, embedding, known)

    @property
    def ids(self) -> Ints:
        """The ciphertext as numbers, (pos,)."""
        return self.cipher_ids.cpu().numpy().astype(np.int64)

    @cached_property
    def letters(self) -> Ints:
        """Cipher symbols of letters that the text contains, in alphabetical order, (letters,)."""
        return np.intersect1d(self.ids, self.alphabet.letter_ids).astype(np.int64)

    @cached_property
    def words(self) -> Ints:
        """Number of the word that each character belongs to, (pos,); -1 between words. Words are runs of letters."""
        letter = np.isin(self.ids, self.alphabet.letter_ids)
        starts = letter & ~np.concatenate([[False], letter[:-1]])
        return np.where(letter, np.cumsum(starts) - 1, -1)

    @cached_property
    def word_members(self) -> NDArray[np.bool_]:
        """Which characters each word has, (word, pos)."""
        return self.words == np.arange(self.words.max(initial=-1) + 1)[:, None]

    def places(self, symbol: int) -> Ints:
        """Return the kind of place of each character as seen from a cipher symbol, (pos,): an index into PLACES."""
        own = self.ids == symbol
        around = np.zeros(len(own), dtype=np.bool_)
        around[1:] |= own[:-1]
        around[:-1] |= own[1:]
        same_word = self.word_members[(self.word_members & own).any(1)].any(0)
        linked = np.isin(self.ids, self.ids[same_word])
        letter = self.words >= 0
        # The first condition that holds decides.
        return np.select([own, ~letter, around, same_word, linked], [0, 5, 1, 2, 3], default=4)

    def masked(self, removed: Tensor) -> Tensor:
        """Return the ciphertext with padding where characters are removed, (..., pos)."""
        return torch.where(removed, PAD, self.cipher_ids)
