"""Counterfactual ciphertexts: a second text for each text of a batch, of the same length, changed in one known way.

| kind | what changes | what stays |
| --- | --- | --- |
| `relabel-two` | two cipher symbols change places | the plaintext at every position |
| `relabel-all` | all cipher symbols get other names | the plaintext at every position |
| `other-text` | every word, and the key | length, word lengths, punctuation |
| `one-pattern` | one word, by one with the same pattern of repeated letters | the rest of the text, and the key |
| `one-word` | one word, by any other of its length | the rest of the text, and the key |

The right answer to both texts is known exactly. Each text has its own random generator, made from the seed, the kind
and its number, so a pair does not depend on the batch that it is in.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.errors import AliceError, nearest
from alice.text.alphabet import LETTERS, PAD, Alphabet
from alice.text.batches import Batch
from alice.text.cipher import N_LETTERS, encrypt_ids, random_keys

Kind = Literal["relabel-two", "relabel-all", "other-text", "one-pattern", "one-word"]
KINDS: tuple[str, ...] = get_args(Kind)
SHORTEST_REPLACED = 3
"""Letters of the shortest word that `one-word` and `one-pattern` replace; shorter ones have few alternatives."""
_WORD = re.compile("[A-Z]+")
_DOMAIN = 5_000_011  # separates these draws from everything else that is drawn with the same seed

Generator = np.random.Generator


@dataclass(frozen=True)
class Pair:
    """A batch and its counterfactual, aligned position by position."""

    clean: Batch
    """The texts as they are."""
    corrupted: Batch
    """The changed texts, of the same lengths and in the same order."""
    scored: Tensor
    """Cipher symbols whose answer tells the two apart, (batch, symbol): letters present in the clean text; for
    `relabel-two` only the two that change places."""
    reader: Tensor
    """Ids by which a stream of the corrupted run is read, (batch, pos): the clean ones, so that positions are compared
    with positions; after relabelling the corrupted ones, so that symbols are compared with symbols."""
    usable: Tensor
    """Whether a counterfactual was found for each text, (batch,); otherwise both texts are the same."""

    @property
    def differs(self) -> Tensor:
        """Where the two ciphertexts differ, (batch, pos)."""
        return self.clean.cipher_ids != self.corrupted.cipher_ids

    @property
    def by_symbol(self) -> bool:
        """Whether the two runs are compared symbol by symbol, as after relabelling, and not position by position."""
        return torch.equal(self.reader, self.corrupted.cipher_ids)

    def kept(self) -> "Pair":
        """Return the pair without the texts that have no counterfactual."""
        return self.chosen(self.usable)

    def chosen(self, rows: Tensor) -> "Pair":
        """Return some of the texts, by number or as a mask, (batch,)."""
        return Pair(
            self.clean.chosen(rows),
            self.corrupted.chosen(rows),
            self.scored[rows],
            self.reader[rows],
            self.usable[rows],
        )

    def to(self, device: torch.device | str) -> "Pair":
        """Return the pair on another device."""
        return replace(self, **{name: value.to(device) for name, value in vars(self).items()})


class Words:
    """The words of some texts, to draw other words of the same length or pattern from, as often as they occur."""

    def __init__(self, texts: Iterable[str]) -> None:
        groups = defaultdict[int | str, Counter[str]](Counter)
        for word, count in Counter(word for text in texts for word in _WORD.findall(text)).items():
            groups[len(word)][word] = count
            groups[pattern(word)][word] = count
        if not groups:
            raise AliceError("there are no words to make counterfactuals from; give texts with letters")
        self._groups = {
            name: (list(counts), np.cumsum([0, *counts.values()], dtype=np.int64)) for name, counts in groups.items()
        }

    def like(self, word: str, rng: Generator, *, same_pattern: bool = False) -> str | None:
        """Draw another word of the same length, or of the same pattern; None if there is none."""
        words, ends = self._groups.get(pattern(word) if same_pattern else len(word), ([], np.zeros(1, np.int64)))
        place = words.index(word) if word in words else 0
        skipped = int(ends[place + 1] - ends[place]) if word in words else 0
        if not (rest := int(ends[-1]) - skipped):
            return None
        drawn = int(rng.integers(rest))
        drawn += skipped if drawn >= ends[place] else 0
        return words[int(np.searchsorted(ends, drawn, side="right")) - 1]

    def of_length(self, word: str, rng: Generator) -> str:
        """Draw another word of the same length; letters at random if there is none, as for a very long word."""
        return self.like(word, rng) or "".join(LETTERS[i] for i in rng.integers(N_LETTERS, size=len(word)))


def pattern(word: str) -> str:
    """Return which letters of a word are equal, as letters numbered by first appearance: `THAT` is `ABCA`."""
    order = {letter: LETTERS[number] for number, letter in enumerate(dict.fromkeys(word))}
    return "".join(order[letter] for letter in word)


class Counterfactuals:
    """Makes the counterfactual of one kind for any batch."""

    def __init__(self, kind: str, alphabet: Alphabet, words: Words, *, seed: int = 0) -> None:
        if kind not in KINDS:
            known = f"; choose one of {', '.join(KINDS)}"
            raise AliceError(f"there is no counterfactual {kind!r:.60}{nearest(kind, KINDS) or known}")
        self.kind, self.alphabet, self.words, self.seed = kind, alphabet, words, seed

    def pair(self, batch: Batch) -> Pair:
        """Return a batch with its counterfactual, on the device of the batch."""
        plain, keys, cipher = (values.cpu().numpy() for values in (batch.plain_ids, batch.keys, batch.cipher_ids))
        scored = self._present(cipher)
        other_plain, other_keys = plain.copy(), keys.copy()
        for row, rng in enumerate(self._generators(batch)):
            if self.kind in ("relabel-two", "relabel-all"):
                names = self._relabelling(scored[row], rng)
                other_keys[row] = names[keys[row]]
                scored[row, self.alphabet.letter_ids] &= names != np.arange(N_LETTERS)
                continue
            if self.kind == "other-text":
                other_keys[row] = random_keys(1, rng)[0]
            text = self._changed(self.alphabet.decode(plain[row]), rng)
            other_plain[row, plain[row] != PAD] = self.alphabet.encode(text)
        other_cipher = encrypt_ids(other_plain.astype(np.uint8), other_keys, self.alphabet)
        arrays = (other_cipher, other_plain, other_keys, batch.index.cpu().numpy())
        corrupted = Batch(*(torch.from_numpy(array.astype(np.int64)) for array in arrays)).to(batch.keys.device)
        relabelled = self.kind.startswith("relabel")
        return Pair(
            clean=batch,
            corrupted=corrupted,
            scored=torch.from_numpy(scored).to(batch.keys.device),
            reader=corrupted.cipher_ids if relabelled else batch.cipher_ids,
            usable=(batch.cipher_ids != corrupted.cipher_ids).any(1),
        )

    def _generators(self, batch: Batch) -> Iterator[Generator]:
        number = KINDS.index(self.kind)
        return (np.random.default_rng((self.seed, _DOMAIN, number, text)) for text in batch.index.tolist())

    def _present(self, cipher: NDArray[np.integer]) -> NDArray[np.bool_]:
        """Return which letters occur in each ciphertext, (batch, symbol)."""
        present = np.zeros((len(cipher), self.alphabet.size), dtype=np.bool_)
        np.put_along_axis(present, cipher, True, axis=1)
        letters = np.zeros(self.alphabet.size, dtype=np.bool_)
        letters[self.alphabet.letter_ids] = True
        return present & letters

    def _relabelling(self, present: NDArray[np.bool_], rng: Generator) -> NDArray[np.int64]:
        """Return the new name of each cipher letter, (26,); only letters that occur change places with one another."""
        names = np.arange(N_LETTERS)
        there = np.flatnonzero(present[self.alphabet.letter_ids])
        if self.kind == "relabel-two":
            there = rng.permutation(there)[:2]
        cycle = rng.permutation(there)  # each letter takes the name of the one before, so every letter changes
        names[cycle] = np.roll(cycle, 1)
        return names

    def _changed(self, text: str, rng: Generator) -> str:
        """Return a plaintext with all words or one of them replaced."""
        if self.kind == "other-text":
            return _WORD.sub(lambda found: self.words.of_length(found.group(), rng), text)
        found = [match for match in _WORD.finditer(text) if len(match.group()) >= SHORTEST_REPLACED]
        for number in rng.permutation(len(found)):
            start, end = found[number].span()
            if word := self.words.like(text[start:end], rng, same_pattern=self.kind == "one-pattern"):
                return text[:start] + word + text[end:]
        return text
