"""The texts that an analysis reads: taken from their source in its order, and only as many as are needed."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any
from weakref import finalize

from alice.errors import AliceError, one_line
from alice.text import (
    Alphabet,
    Batch,
    Batches,
    BatchLimit,
    EncodedTexts,
    Split,
    letters_of,
    open_corpus,
    overlapping,
    split_of,
    text_keys,
)
from alice.text.batches import KEY_STREAM, TRAINING_STREAM
from alice.text.cleaning import LONGEST
from alice.text.split import select

if TYPE_CHECKING:
    import numpy as np
    import torch
    from numpy.typing import NDArray

    from alice.plugins.hookspecs import CorpusOpener

LIMIT = BatchLimit(tokens=4096)
AT_ONCE = 256
"""Texts that a later sample reads from its source at a time."""


class TextPool:
    """Texts of one source for one alphabet; what was read is kept for other contexts that share the pool."""

    def __init__(
        self,
        source: str,
        texts: Callable[[], Iterable[str]],
        training: Callable[[], Iterable[str]] | None = None,
        outside: Callable[[], Iterable[str]] = tuple,
    ) -> None:
        self.source, self._open, self.outside = source, texts, outside
        self.training = TextPool(source, training) if training is not None else self
        self._read: list[str] = []
        self._rest: Iterator[str] | None = None

    def __getstate__(self) -> dict[str, Any]:
        """Return what other machines need: the texts that were read, and no source."""
        return vars(self) | {"_open": tuple, "outside": tuple, "_rest": None}

    def first(self, count: int | None) -> list[str]:
        """Return the first `count` texts, or all of them."""
        try:
            self._rest = self._rest or self._begin()
            self._read += islice(self._rest, None if count is None else max(0, count - len(self._read)))
        except BaseException:  # open a source that failed again next time, or it would seem to end here
            self._read, self._rest = [], None
            raise
        return self._read[:count]

    def _begin(self) -> Iterator[str]:
        """Open the source; a generator is closed together with the pool, at the latest at exit."""
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
    """Split of the source that the pool reads."""
    seed: int
    """Seed of the keys."""
    count: int | None = None
    """How many texts; all if None."""
    stream: int = KEY_STREAM
    """Stream of the keys: texts to learn from have keys of their own."""
    _used: list[int] = field(default_factory=lambda: [0], repr=False)
    """Largest number of texts that this sample or one derived from it has read; the list is shared by all of them."""
    _trained: list[int] = field(default_factory=lambda: [0], repr=False)
    """The same for texts of the training split."""

    def first(self, count: int) -> Sample:
        """Return a sample of at most `count` texts."""
        if count < 1:
            raise AliceError(f"a sample of {count} texts is empty; ask for 1 or more")
        return replace(self, count=count if self.count is None else min(count, self.count))

    def after(self, count: int) -> Sample:
        """Return the sample that begins after the first `count` texts, with the same texts to learn from."""
        pool = self.pool

        def rest() -> Iterator[str]:
            read = count
            while more := pool.first(read + AT_ONCE)[read:]:
                read += len(more)
                yield from more

        own = TextPool(f"{pool.source}, after {count} texts", rest, outside=pool.outside)
        own.training = own if pool.training is pool else pool.training
        return replace(self, pool=own).unread()

    def unread(self) -> Sample:
        """Return the same sample with nothing read yet, as far as `provenance` is concerned."""
        return replace(self, _used=[0], _trained=[0])

    @property
    def texts(self) -> list[str]:
        """The texts themselves."""
        texts = self.pool.first(self.count)
        if not texts:
            where = "" if self.split == "all" else f" is in the {self.split} split; the split 'all' has every text"
            raise AliceError(f"no text of {self.pool.source} that this model can read{where or ' was found'}")
        self._used[0] = max(self._used[0], len(texts))
        return texts

    @cached_property
    def encoded(self) -> EncodedTexts:
        """The texts as ids."""
        return EncodedTexts(self.texts, self.alphabet)

    def training_texts(self, count: int) -> list[str]:
        """Return the first texts of the training split, without those that have the letters of one in the sample."""
        own = set() if self.split in ("test", "validation") else set(map(letters_of, self.texts))
        found: list[str] = []
        read = 0
        while len(found) < count and (more := self.pool.training.first(read + count + len(own))[read:]):
            read += len(more)
            found += [text for text in more if letters_of(text) not in own]
        self._trained[0] = max(self._trained[0], read)
        return found[:count]

    def overlapping(self) -> NDArray[np.bool_]:
        """Return which texts share a passage with a text of another split of the source, (texts,); it is streamed."""
        return overlapping(self.texts, self.pool.outside())

    def training(self, count: int) -> Sample:
        """Return a sample of the texts that `training_texts` gives, under keys of their own; it is read on first use.

        What it reads is recorded in the provenance of this sample.
        """
        if count < 1:
            raise AliceError(f"a sample of {count} training texts is empty; ask for 1 or more")

        def texts() -> list[str]:
            if not (found := self.training_texts(count)):
                raise AliceError(
                    f"{self.pool.source} has no training texts besides those that are analysed; use a larger corpus"
                )
            return found

        pool = TextPool(self.pool.source, texts, lambda: ())
        return replace(self, pool=pool, split="train", count=None, stream=TRAINING_STREAM).unread()

    def joined(self, length: int) -> Sample:
        """Return the texts joined by spaces and cut into pieces of one length; an incomplete last piece is dropped.

        The result has no training split, because texts are split as a whole.
        """
        whole = " ".join(self.texts)
        pieces = [whole[start : start + length] for start in range(0, len(whole) - length + 1, length)]
        if not pieces:
            raise AliceError(f"the texts make {len(whole)} characters, too few for {length}; take more texts")
        source = f"{self.pool.source}, joined and cut to {length} characters"
        return replace(self, pool=TextPool(source, lambda: pieces, lambda: ()), count=None).unread()

    def batches(self, device: torch.device) -> SampleBatches:
        """Return the batches of this sample on a device."""
        batches = Batches(
            self.encoded, self.alphabet, limit=LIMIT, keys=text_keys(len(self.encoded), self.seed, stream=self.stream)
        )
        return SampleBatches(batches, device)

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that determines the batches of the sample."""
        return self._hash(self.pool.first(self.count))

    @property
    def description(self) -> dict[str, str | int]:
        """Which texts these are, in words: source, split, number and seed of the keys."""
        texts = len(self.pool.first(self.count))
        return {"source": self.pool.source, "split": self.split, "texts": texts, "seed": self.seed}

    def provenance(self) -> dict[str, str | int] | None:
        """Describe the texts that were read; None if there were none."""
        if not (used := self._used[0]):
            return None
        read: dict[str, str | int] = {
            "source": self.pool.source,
            "split": self.split,
            "texts": used,
            "sha256": self._hash(self.pool.first(used)),
        }
        if not (trained := self._trained[0]):
            return read
        return read | {"training_texts": trained, "training_sha256": self._hash(self.pool.training.first(trained))}

    def _hash(self, texts: list[str]) -> str:
        digest = sha256(repr((self.alphabet.symbols, self.seed, LIMIT, self.stream)).encode())
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


def open_samples(
    source: str | Path | Iterable[str],
    alphabets: Sequence[Alphabet],
    *,
    longest: int,
    split: Split | None,
    count: int | None,
    seed: int,
    corpora: Mapping[str, CorpusOpener],
) -> list[Sample]:
    """Open a source for several models; those with the same alphabet share a pool.

    If no split is chosen, it is the test split of a corpus, and all texts of a list.
    """
    source = str(source) if isinstance(source, str | Path) else list(source)
    split = split or ("test" if isinstance(source, str) else "all")
    pools = {
        alphabet: open_pool(source, alphabet=alphabet, longest=longest, split=split, corpora=corpora)
        for alphabet in dict.fromkeys(alphabets)
    }
    samples = (Sample(pools[alphabet], alphabet, split, seed) for alphabet in alphabets)
    return [sample if count is None else sample.first(count) for sample in samples]


def open_pool(
    source: str | list[str], *, alphabet: Alphabet, longest: int, split: Split, corpora: Mapping[str, CorpusOpener]
) -> TextPool:
    """Open a source: a corpus of a plugin, anything that `open_corpus` reads, or a list of texts."""
    longest = min(longest, LONGEST)
    if not isinstance(source, str):
        return _pool_of("the given list", lambda split: _wanted(source, longest, split), split)
    if source in corpora:
        corpus = _open_plugin_corpus(source, corpora[source], alphabet)
    else:
        corpus = open_corpus(source, alphabet=alphabet, max_length=longest, also=corpora)
    return _pool_of(source, lambda split: _wanted(corpus, longest, split), split)


def _open_plugin_corpus(name: str, opener: CorpusOpener, alphabet: Alphabet) -> Iterable[str]:
    """Open a corpus of a plugin; whatever it raises becomes one sentence."""
    try:
        return opener(alphabet)
    except (AliceError, KeyboardInterrupt):
        raise
    except BaseException as error:  # also SystemExit
        raise AliceError(f"the corpus {name!r} could not be opened: {one_line(error)}") from error


def _pool_of(source: str, texts: Callable[[Split], Iterable[str]], split: Split) -> TextPool:
    """Return the pool of one split, which also knows the pool of the training split."""
    training = None if split == "train" else lambda: texts("train")

    def outside() -> Iterator[str]:
        return (text for text in texts("all") if split not in ("all", split_of(text)))

    return TextPool(source, lambda: texts(split), training, outside)


def _wanted(texts: Iterable[str], longest: int, split: Split) -> Iterator[str]:
    return select((text for text in texts if 0 < len(text) <= longest), split)
