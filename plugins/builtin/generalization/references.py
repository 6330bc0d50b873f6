"""Texts under keys of the pool and under new keys, with what the two Bayesian references answer to them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from itertools import islice

import numpy as np

from alice.errors import AliceError
from alice.solving import CharNgrams, general_posterior, open_languages, pool_posterior
from alice.statistics import Floats
from alice.text import (
    LETTERS,
    N_LETTERS,
    Alphabet,
    Batches,
    Corpus,
    EncodedTexts,
    Key,
    KeyArray,
    key_pool,
    text_keys,
)
from alice.text.split import select
from alice.training import Recipe, Training

FEWEST_CHARACTERS = 40
"""Below this length a text has many solutions, and the sampled posterior over all keys has a large error."""
SEED = 0
"""Seed of keys and samples, the same for every training, so that trainings are compared on the same texts."""
POOL_STREAM, NEW_STREAM, RENAMED_STREAM = 1_000_081, 1_000_099, 1_000_117
"""Keep the keys of the three sets apart from each other and from those of other measurements."""


@dataclass(frozen=True, eq=False)
class Encrypted:
    """The texts under one key each, with both references."""

    batches: Batches
    keys: KeyArray
    """Cipher letter of each plain letter, (text, 26)."""
    weights: Floats
    """Share of each cipher letter among the letters of a text, (text, 26)."""
    pool: Floats
    """What cipher letters stand for, knowing the pool, (text, 26 cipher, 26 plain)."""
    general: Floats
    """The same, knowing no key beforehand, (text, 26 cipher, 26 plain)."""


@dataclass(frozen=True, eq=False)
class Probes:
    """What the checkpoints of one training are measured on."""

    texts: list[str]
    pooled: Encrypted
    """Under keys of the pool; other new keys if the pool has all of them."""
    new: Encrypted
    """Under keys outside the pool."""
    renamed: Batches
    """The same texts in the same order under a second set of new keys."""
    general_error: float
    """Estimated error of the general reference: mean total variation over letters and texts."""


@dataclass(eq=False)
class References:
    """Makes probes; texts, language and general reference are shared by trainings on the same corpus."""

    count: int
    """Texts."""
    _shared: dict[tuple[object, ...], "_Shared"] = field(default_factory=dict)
    _last: tuple[Training, Probes] | None = None

    def of(self, training: Training) -> Probes:
        """Return the probes of a training; those of the last one are kept."""
        if self._last is not None and self._last[0] == training:
            return self._last[1]
        recipe = training.recipe
        about = (training.data, training.text_column, training.model.symbols, recipe.max_length, recipe.held_out)
        if about not in self._shared:
            self._shared[about] = _Shared.read(training.corpus(), training.data, recipe, self.count)
        shared = self._shared[about]
        if training.data_sha256 not in (None, shared.fingerprint):
            raise AliceError(
                f"{training.data} is not what {training.folder} was trained on; restore it, then repeat this"
            )
        self._last = training, shared.probes(recipe)
        return self._last[1]


@dataclass(frozen=True, eq=False)
class _Shared:
    """What does not depend on the pool."""

    fingerprint: str
    """Of the corpus."""
    alphabet: Alphabet
    texts: list[str]
    ngrams: CharNgrams
    general: Floats
    """The general reference for the texts as they are, (text, 26, 26); another key only renames its rows."""
    error: float

    @classmethod
    def read(cls, corpus: Corpus, data: str, recipe: Recipe, count: int) -> "_Shared":
        """Read held-out texts and sample the general reference for each."""
        long_enough = (text for text in select(corpus, recipe.held_out) if len(text) >= FEWEST_CHARACTERS)
        texts = list(islice(long_enough, count))
        if not texts:
            raise AliceError(
                f"{corpus.name} has no text of {FEWEST_CHARACTERS} to {recipe.max_length} characters in its "
                f"{recipe.held_out} split; use a larger corpus or train on longer texts"
            )
        ngrams = open_languages([data]).main.chars
        found = [
            general_posterior(ngrams, text, np.random.default_rng((SEED, number))) for number, text in enumerate(texts)
        ]
        error = float(np.mean([one.error for one in found]))
        entries = np.stack([one.entries for one in found])
        return cls(corpus.fingerprint(), corpus.cleaner.alphabet, texts, ngrams, entries, error)

    def probes(self, recipe: Recipe) -> Probes:
        """Return the texts under the keys of a recipe's pool and under new ones."""
        pool = key_pool(recipe.cipher_pool, recipe.seed) if recipe.cipher_pool else None
        pooled, new, renamed = (
            text_keys(len(self.texts), SEED, excluded=pool, stream=stream)
            for stream in (POOL_STREAM, NEW_STREAM, RENAMED_STREAM)
        )
        if pool is not None:
            pooled = pool[np.random.default_rng((SEED, POOL_STREAM)).integers(len(pool), size=len(self.texts))]
        return Probes(
            self.texts,
            self._encrypted(pooled, pool),
            self._encrypted(new, pool),
            self._batches(renamed),
            self.error,
        )

    def _batches(self, keys: KeyArray) -> Batches:
        return Batches(EncodedTexts(self.texts, self.alphabet), self.alphabet, keys=keys)

    def _encrypted(self, keys: KeyArray, pool: KeyArray | None) -> Encrypted:
        general = np.empty_like(self.general)
        np.put_along_axis(general, keys[:, :, None].astype(np.int64), self.general, axis=1)
        known = general
        if pool is not None:
            ciphers = [Key.from_array(key).encrypt(text) for key, text in zip(keys, self.texts, strict=True)]
            known = np.stack([pool_posterior(self.ngrams, cipher, pool).entries for cipher in ciphers])
        return Encrypted(self._batches(keys), keys, _shares(self.texts, keys), known, general)


def _shares(texts: Iterable[str], keys: KeyArray) -> Floats:
    """Return the share of each cipher letter among the letters of a text, (text, 26)."""
    shares = []
    for text, key in zip(texts, keys, strict=True):
        counts = np.zeros(N_LETTERS)
        counts[key] = [text.count(letter) for letter in LETTERS]
        shares.append(counts / max(1.0, counts.sum()))
    return np.stack(shares)
