"""The texts that a run reads: taken from their source only as far as they are wanted, and always in its order."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice
from typing import TYPE_CHECKING, Literal
from weakref import finalize

from alice.errors import AliceError
from alice.text.alphabet import Alphabet
from alice.text.batches import KEY_STREAM, Batch, Batches, BatchLimit, EncodedTexts, text_keys
from alice.text.corpus import open_corpus
from alice.text.split import letters_of, select

if TYPE_CHECKING:
    import torch

    from alice.plugins.hookspecs import CorpusOpener

Split = Literal["test", "train", "all"]
LIMIT = BatchLimit(tokens=4096)
LONGEST = 300
"""Longest text to read, as in the paper; a model that reads less sets a lower limit."""


class TextPool:
    """Texts of one source for one alphabet; those read once are kept, for other contexts of the same run."""

    def __init__(
        self, source: str, texts: Callable[[], Iterable[str]], training: Callable[[], Iterable[str]] | None = None
    ) -> None:
        self.source, self._open = source, texts
        self.training = TextPool(source, training) if training is not None else self
        self._read: list[str] = []
        self._rest: Iterator[str] | None = None

    def first(self, count: int | None) -> list[str]:
        """Return the first texts, all of them if no count is given."""
        try:
            self._rest = self._rest or self._begin()
            self._read += islice(self._rest, None if count is None else max(0, count - len(self._read)))
        except BaseException:  # a source that broke off must be opened again, or it would seem to end here
            self._read, self._rest = [], None
            raise
        return self._read[:count]

    def _begin(self) -> Iterator[str]:
        """Open the source; a generator is closed with the pool, at the latest when the program ends."""
        texts = iter(self._open())
        if isinstance(texts, Generator):
            finalize(self, texts.close)
        return texts


@dataclass(frozen=True, eq=False)
class Sample:
    """The first texts of a pool, each encrypted with the key that the seed gives to its number."""

    pool: TextPool
    """Where the texts come from."""
    alphabet: Alphabet
    """The model's alphabet."""
    split: Split
    """Side of the source that the pool reads."""
    seed: int
    """Seed of the keys."""
    count: int | None = None
    """How many texts; all if None."""
    _used: list[int] = field(default_factory=lambda: [0], repr=False)
    """The most texts that any sample made from this one has read: one shared number."""
    _trained: list[int] = field(default_factory=lambda: [0], repr=False)
    """The most texts of the training side, in the same way."""

    def first(self, count: int) -> Sample:
        """Return a smaller sample; one that is smaller already stays."""
        if count < 1:
            raise AliceError(f"a sample of {count} texts is empty; ask for 1 or more")
        return replace(self, count=count if self.count is None else min(count, self.count))

    def anew(self) -> Sample:
        """Return the same sample with nothing read yet, as far as `provenance` is concerned."""
        return replace(self, _used=[0], _trained=[0])

    @property
    def texts(self) -> list[str]:
        """The texts themselves."""
        texts = self.pool.first(self.count)
        if not texts:
            side = "" if self.split == "all" else f" on its {self.split} side; --split all takes every text"
            raise AliceError(f"{self.pool.source} has no text that this model can read{side}")
        self._used[0] = max(self._used[0], len(texts))
        return texts

    @cached_property
    def encoded(self) -> EncodedTexts:
        """The texts as ids."""
        return EncodedTexts(self.texts, self.alphabet)

    def training_texts(self, count: int) -> list[str]:
        """Return the first texts of the training side, without those that have the letters of one in the sample."""
        own = set() if self.split == "test" else set(map(letters_of, self.texts))
        found: list[str] = []
        read = 0
        while len(found) < count and (more := self.pool.training.first(read + count + len(own))[read:]):
            read += len(more)
            found += [text for text in more if letters_of(text) not in own]
        self._trained[0] = max(self._trained[0], read)
        return found[:count]

    def joined(self, length: int) -> Sample:
        """Return the texts joined by spaces and cut into pieces of one length; what is left at the end is dropped.

        It has no training side: that goes by whole texts.
        """
        whole = " ".join(self.texts)
        pieces = [whole[start : start + length] for start in range(0, len(whole) - length + 1, length)]
        if not pieces:
            raise AliceError(f"the texts make {len(whole)} characters, too few for {length}; take more texts")
        source = f"{self.pool.source}, joined and cut to {length} characters"
        return replace(self, pool=TextPool(source, lambda: pieces, lambda: ()), count=None).anew()

    def batches(self, device: torch.device) -> SampleBatches:
        """Return the batches of this sample on a device."""
        batches = Batches(self.encoded, self.alphabet, limit=LIMIT, keys=text_keys(len(self.encoded), self.seed))
        return SampleBatches(batches, device)

    @cached_property
    def fingerprint(self) -> str:
        """A hash that settles every batch of the sample."""
        return self._hash(self.pool.first(self.count))

    def provenance(self) -> dict[str, str | int] | None:
        """Say which texts were read, or nothing if none were."""
        if not (used := self._used[0]):
            return None
        name = self.pool.source
        read: dict[str, str | int] = {
            "source": name,
            "split": self.split,
            "texts": used,
            "sha256": self._hash(self.pool.first(used)),
        }
        if not (trained := self._trained[0]):
            return read
        return read | {"training texts": trained, "training sha256": self._hash(self.pool.training.first(trained))}

    def _hash(self, texts: list[str]) -> str:
        digest = sha256(repr((self.alphabet.symbols, self.seed, LIMIT, KEY_STREAM)).encode())
        for text in texts:
            digest.update(text.encode() + b"\n")
        return digest.hexdigest()


class SampleBatches:
    """Batches on the model's device; iterate as often as you like."""

    def __init__(self, batches: Batches, device: torch.device) -> None:
        self._batches, self._device = batches, device

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, number: int) -> Batch:
        if not 0 <= number < len(self):
            raise IndexError(number)
        return self._batches[number].to(self._device)

    def __iter__(self) -> Iterator[Batch]:
        return (self[number] for number in range(len(self)))


def open_pool(
    source: str | Iterable[str], *, alphabet: Alphabet, longest: int, split: Split, corpora: Mapping[str, CorpusOpener]
) -> TextPool:
    """Open a source: a corpus of a plugin, whatever `open_corpus` knows, or a list of texts."""
    longest = min(longest, LONGEST)
    if not isinstance(source, str):
        given = list(source)
        return _sides("the texts given", lambda side: _wanted(given, longest, side), split)
    if source in corpora:
        corpus = corpora[source](alphabet)
    else:
        corpus = open_corpus(source, alphabet=alphabet, max_length=longest, also=corpora)
    return _sides(source, lambda side: _wanted(corpus, longest, side), split)


def _sides(source: str, texts: Callable[[Split], Iterable[str]], split: Split) -> TextPool:
    """Return the pool of one side, from which that of the training side can be had."""
    return TextPool(source, lambda: texts(split), None if split == "train" else lambda: texts("train"))


def _wanted(texts: Iterable[str], longest: int, split: Split) -> Iterator[str]:
    fitting = (text for text in texts if 0 < len(text) <= longest)
    return fitting if split == "all" else select(fitting, split)
