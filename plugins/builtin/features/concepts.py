"""Concepts that a feature may stand for.

Every concept is a yes or no about one character: this plaintext letter, this cipher symbol, this place in its word, the
last letter of this n-gram.
"""

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal, Self

import torch
from torch import Tensor

from alice.probes import Task
from alice.probes.layers import IGNORED
from alice.probes.tasks import POSITIONS, Labels, plain_symbol, word_position
from alice.text import LETTERS, PAD, Alphabet, Batch

Kind = Literal["plain", "cipher", "position", "bigram", "trigram"]
KINDS: dict[Kind, str] = {
    "plain": "plaintext letter",
    "cipher": "cipher symbol",
    "position": "place in the word",
    "bigram": "end of a bigram",
    "trigram": "end of a trigram",
}
"""Kinds of concept with the labels for readers."""
NGRAMS = 20
"""How many of the most frequent bigrams and trigrams are concepts."""


@dataclass(frozen=True)
class Concept:
    """A yes or no about a character."""

    kind: Kind
    name: str
    """Such as `E`, `3` for the third letter of a word, or `THE`."""
    number: int
    """Its class in the task of its kind."""

    @property
    def label(self) -> str:
        """What a reader sees."""
        name = {" ": "space"}.get(self.name, self.name)
        phrases = {"plain": "plaintext {}", "cipher": "cipher {}", "position": "letter {} of a word"}
        return phrases.get(self.kind, "end of {}").format(name)


@dataclass(frozen=True, eq=False)
class Concepts:
    """All concepts, and a task of each kind for probes."""

    tasks: tuple[Task, ...]
    """A target of each kind, in the order of KINDS; every character has a label."""
    each: tuple[Concept, ...]
    """The concepts, sorted by kind."""

    @classmethod
    def of(cls, alphabet: Alphabet, texts: Iterable[str]) -> Self:
        """Return the concepts of an alphabet, with the n-grams that are most frequent in some plaintexts."""
        found = [*frequent_ngrams(texts)]
        tasks = [
            Task("plain", KINDS["plain"], alphabet.size, plain_symbol),
            Task("cipher", KINDS["cipher"], alphabet.size, lambda batch: batch.cipher_ids),
            Task("position", KINDS["position"], POSITIONS + 1, lambda batch: _place(batch, alphabet)),
            *(
                Task(kind, KINDS[kind], len(ngrams) + 1, _ngram_labels(ngrams, length, alphabet))
                for kind, length, ngrams in found
            ),
        ]
        names: list[tuple[Kind, Sequence[str], Sequence[int]]] = [
            ("plain", LETTERS, alphabet.letter_ids.tolist()),
            ("cipher", alphabet.symbols, range(PAD + 1, alphabet.size)),
            ("position", [*map(str, range(1, POSITIONS)), f"{POSITIONS} or later"], range(1, POSITIONS + 1)),
            *((kind, ngrams, range(1, len(ngrams) + 1)) for kind, _, ngrams in found),
        ]
        each = (Concept(kind, *pair) for kind, labels, numbers in names for pair in zip(labels, numbers, strict=True))
        return cls(tuple(tasks), tuple(each))

    def members(self, labels: Tensor) -> Tensor:
        """Return which concepts hold, labels of the tasks (task, token) -> (token, concept)."""
        order = list(KINDS)
        tasks = torch.tensor([order.index(one.kind) for one in self.each], device=labels.device)
        numbers = torch.tensor([one.number for one in self.each], device=labels.device)
        return labels[tasks].T.eq(numbers)


def frequent_ngrams(texts: Iterable[str]) -> list[tuple[Kind, int, list[str]]]:
    """Return kind, length and the most frequent n-grams within words; of equally frequent ones the first by name."""
    counts: dict[int, Counter[str]] = {2: Counter(), 3: Counter()}
    for word in (word for text in texts for word in re.findall("[A-Z]+", text)):
        for length, counter in counts.items():
            counter.update(word[start : start + length] for start in range(len(word) - length + 1))
    ranked = {length: sorted(counter, key=lambda one: (-counter[one], one)) for length, counter in counts.items()}
    return [("bigram", 2, ranked[2][:NGRAMS]), ("trigram", 3, ranked[3][:NGRAMS])]


def _place(batch: Batch, alphabet: Alphabet) -> Tensor:
    """Return the place of a letter in its word, from 1, and 0 for other characters."""
    place = word_position(batch, alphabet)
    return torch.where(place == IGNORED, 0, place + 1)


def _ngram_labels(ngrams: Sequence[str], length: int, alphabet: Alphabet) -> Labels:
    """Return a function that gives the number of the n-gram that ends at each character, from 1, or 0."""
    numbers = torch.zeros(len(LETTERS) ** length, dtype=torch.int64)
    for number, ngram in enumerate(ngrams, 1):
        code = 0
        for letter in ngram:
            code = code * len(LETTERS) + LETTERS.index(letter)
        numbers[code] = number
    letter_of = torch.full((alphabet.size,), -1, dtype=torch.int64)
    letter_of[torch.from_numpy(alphabet.letter_ids)] = torch.arange(len(LETTERS))

    def labels(batch: Batch) -> Tensor:
        letters = letter_of.to(batch.plain_ids.device)[batch.plain_ids]  # (batch, pos), -1 if not a letter
        code, inside = torch.zeros_like(letters), torch.ones_like(letters, dtype=torch.bool)
        for back in reversed(range(length)):
            earlier = torch.nn.functional.pad(letters, (back, 0), value=-1)[:, : letters.shape[1]]
            code, inside = code * len(LETTERS) + earlier, inside & (earlier >= 0)
        return torch.where(inside, numbers.to(code.device)[code.clamp(min=0)], 0)

    return labels
