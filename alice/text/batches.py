"""Batches within a limit, of texts of similar or mixed lengths, encrypted on the fly.

A batch is a function of the texts, the seed and its number, so it does not depend on the process or the order.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain, count, islice
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

from alice.errors import AliceError
from alice.statistics import Floats
from alice.text.alphabet import PAD, Alphabet, Ids, pad
from alice.text.cipher import KeyArray, encrypt_ids, random_keys

MAX_PADDING = 0.05
KEY_STREAM = 1_000_003
"""Separates the keys of texts from everything else that is drawn with the same seed."""
TRAINING_STREAM = 1_000_033
"""The same for texts that an analysis learns from, so that text N of both sides has different keys."""


@dataclass(frozen=True)
class Batch:
    """Ciphertexts with their answers."""

    cipher_ids: Tensor
    """Input of the model, (batch, pos); 0 is padding."""
    plain_ids: Tensor
    """Correct answer, (batch, pos)."""
    keys: Tensor
    """Cipher letter (0-25) that stands for each plain letter, (batch, 26)."""
    index: Tensor
    """Number of each text in the corpus, (batch,)."""
    weights: Tensor | None = None
    """What a character of each text counts in the training loss, (batch,); None for equally much in this batch."""

    def __len__(self) -> int:
        return len(self.cipher_ids)

    @property
    def mask(self) -> Tensor:
        """Where there is text, (batch, pos)."""
        return self.cipher_ids != PAD

    def to(self, device: torch.device | str) -> Self:
        """Return the batch on another device."""
        return self._with(lambda value: value.to(device))

    def chosen(self, rows: Tensor) -> Self:
        """Return some rows, by number or as a mask, (batch,)."""
        return self._with(lambda value: value[rows])

    def share(self, rank: int, world: int) -> Self:
        """Return the rows that process `rank` of `world` computes: every world-th, so that shares are similar."""
        return self._with(lambda value: value[rank::world])

    def _with(self, change: Callable[[Tensor], Tensor]) -> Self:
        return replace(self, **{name: change(value) for name, value in vars(self).items() if value is not None})


class EncodedTexts:
    """Many texts as one array of ids, one byte per character."""

    def __init__(self, texts: Iterable[str], alphabet: Alphabet) -> None:
        rows = [alphabet.encode(text) for text in texts]
        if any(len(row) == 0 for row in rows):
            raise AliceError("there is an empty text; give texts of at least one character")
        self.lengths = np.array([len(row) for row in rows], dtype=np.int64)
        self._ids = np.concatenate(rows) if rows else np.zeros(0, np.uint8)
        self._starts = np.concatenate([[0], np.cumsum(self.lengths)])

    def __len__(self) -> int:
        return len(self.lengths)

    def padded(self, index: NDArray[np.integer]) -> Ids:
        """Return the texts of these numbers as rows, (batch, pos), padded on the right."""
        return pad([self._ids[self._starts[number] : self._starts[number + 1]] for number in index])


@dataclass(frozen=True)
class BatchLimit:
    """Maximum size of a batch: characters including padding, texts, or both."""

    tokens: int | None = 4096
    texts: int | None = None

    def allows(self, texts: int, longest: int) -> bool:
        """Return whether `texts` texts, the longest of length `longest`, may form one batch."""
        return (self.tokens is None or texts * longest <= self.tokens) and (self.texts is None or texts <= self.texts)


def plan(
    lengths: NDArray[np.integer], limit: BatchLimit, rng: np.random.Generator | None = None, *, mixed: bool = False
) -> list[NDArray[np.int64]]:
    """Group texts of similar length so that no group exceeds the limit or has more than 5 % padding.

    With a generator, texts of equal length and the groups are shuffled; the number of groups stays the same.
    If mixed, groups are texts in their order, or as shuffled, whatever their lengths and the padding.
    """
    order = np.arange(len(lengths)) if rng is None else rng.permutation(len(lengths))
    if not mixed:
        order = order[np.argsort(lengths[order], kind="stable")]
    groups, first, tokens, longest = [], 0, 0, 0
    for position, length in enumerate(lengths[order].tolist()):
        texts, longest = position - first + 1, max(longest, length)
        wasteful = not mixed and tokens + length < (1 - MAX_PADDING) * longest * texts
        if texts > 1 and (wasteful or not limit.allows(texts, longest)):
            groups.append(order[first:position])
            first, tokens, longest = position, 0, length
        tokens += length
    if len(order):
        groups.append(order[first:])
    if rng is not None and not mixed:
        groups = [groups[i] for i in rng.permutation(len(groups))]
    return groups


Weigh = Callable[[NDArray[np.integer], int], Floats | None]
"""Returns what a character of each text counts, (texts,), from all lengths, (texts,), and the number of batches."""


@dataclass(frozen=True)
class KeySource:
    """The keys to draw from: all 26!, or a pool; keys in `excluded` are never drawn."""

    pool: KeyArray | None = None
    excluded: KeyArray | None = None

    def draw(self, count: int, rng: np.random.Generator) -> KeyArray:
        """Draw keys, (count, 26)."""
        if self.pool is not None:
            return self.pool[rng.integers(len(self.pool), size=count)]
        keys = random_keys(count, rng)
        while self.excluded is not None and (taken := np.isin(_rows(keys), _rows(self.excluded))).any():
            keys[taken] = random_keys(int(taken.sum()), rng)
        return keys


def _rows(keys: KeyArray) -> NDArray[np.void]:
    """View each key as one comparable value."""
    return np.ascontiguousarray(keys).view(np.dtype((np.void, keys.shape[1]))).ravel()


def text_keys(count: int, seed: int, *, excluded: KeyArray | None = None, stream: int = KEY_STREAM) -> KeyArray:
    """Draw the keys of texts 0 to `count` - 1, (count, 26); a smaller count gives a prefix of a larger one.

    Keys in `excluded`, (n, 26), are never drawn; a text whose key was one of them then gets another. Another `stream`
    gives other keys for the same seed.
    """
    return KeySource(excluded=excluded).draw(count, np.random.default_rng((seed, stream)))


class Batches(Dataset[Batch]):
    """All batches over texts for one seed; every iteration gives the same ones. Works with a DataLoader.

    Keys are drawn per batch from a source, or given for each text, (texts, 26).
    """

    def __init__(
        self,
        texts: EncodedTexts,
        alphabet: Alphabet,
        *,
        limit: BatchLimit = BatchLimit(),  # noqa: B008  (frozen)
        seed: tuple[int, ...] = (0,),
        shuffle: bool = False,
        mixed: bool = False,
        keys: KeySource | KeyArray = KeySource(),  # noqa: B008  (frozen)
        weigh: Weigh = lambda lengths, batches: None,
    ) -> None:
        self._texts, self._alphabet, self._keys, self._seed = texts, alphabet, keys, seed
        self._groups = plan(texts.lengths, limit, np.random.default_rng(seed) if shuffle else None, mixed=mixed)
        self._weights = weigh(texts.lengths, len(self._groups))

    def __len__(self) -> int:
        return len(self._groups)

    def __getitem__(self, number: int) -> Batch:
        index = self._groups[number]
        if isinstance(self._keys, KeySource):
            keys = self._keys.draw(len(index), np.random.default_rng((*self._seed, number)))
        else:
            keys = self._keys[index]
        plain = self._texts.padded(index)
        cipher = encrypt_ids(plain, keys, self._alphabet)
        batch = Batch(*(torch.from_numpy(array.astype(np.int64)) for array in (cipher, plain, keys, index)))
        if self._weights is None:
            return batch
        return replace(batch, weights=torch.from_numpy(self._weights[index].astype(np.float32)))

    def __iter__(self) -> Iterator[Batch]:
        return (self[number] for number in range(len(self)))

    @property
    def padding(self) -> float:
        """Fraction of padding in all positions of these batches."""
        room = sum(int(self._texts.lengths[group].max()) * len(group) for group in self._groups)
        return 1 - int(self._texts.lengths.sum()) / room if room else 0.0


class BatchStream:
    """Endless shuffled batches, from texts that need not fit into memory.

    Texts are read in windows; a corpus that fits into one is read once and kept. A batch is determined by its number,
    so a stream can continue where another one stopped.
    """

    def __init__(
        self,
        texts: Callable[[], Iterable[str]],
        alphabet: Alphabet,
        *,
        limit: BatchLimit,
        seed: int,
        keys: KeySource,
        mixed: bool = False,
        weigh: Weigh = lambda lengths, batches: None,
        window: int = 1_000_000,
    ) -> None:
        self._texts, self._alphabet, self._limit, self._seed = texts, alphabet, limit, seed
        self._keys, self._mixed, self._weigh, self._window = keys, mixed, weigh, window
        self._whole: EncodedTexts | None = None

    def start(self, number: int = 0) -> Iterator[Batch]:
        """Yield batches from the given number on."""
        for epoch in count():
            for window, texts in enumerate(self._windows()):
                batches = Batches(
                    texts,
                    self._alphabet,
                    limit=self._limit,
                    seed=(self._seed, epoch, window),
                    shuffle=True,
                    mixed=self._mixed,
                    keys=self._keys,
                    weigh=self._weigh,
                )
                yield from (batches[i] for i in range(min(number, len(batches)), len(batches)))
                number = max(0, number - len(batches))

    def _windows(self) -> Iterator[EncodedTexts]:
        if self._whole is not None:
            yield self._whole
            return
        texts = iter(self._texts())
        first = EncodedTexts(islice(texts, self._window), self._alphabet)
        if not len(first):
            raise AliceError("there is no text to train on; check the corpus and the lengths allowed")
        rest = next(texts, None)
        if rest is None:
            self._whole = first
        yield first
        while rest is not None:
            yield EncodedTexts(chain([rest], islice(texts, self._window - 1)), self._alphabet)
            rest = next(texts, None)
