"""How alike the n-grams of answers and of plaintexts are, layer by layer, with a bootstrap over texts."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from alice.errors import AliceError
from alice.plugins.builtin.ngram.counts import (
    NgramCounts,
    cosine_by_text,
    cosine_of_sums,
    count_ngrams,
    gain_layers,
    norms_of_sums,
    rank_correlation,
)
from alice.plugins.builtin.ngram.readings import Readings, Small
from alice.statistics import Floats

DRAWS = 100
"""Reweightings of the texts."""
INTERVAL = (2.5, 97.5)
"""Percentiles of the draws that an interval reaches from and to."""
Measure = Literal["texts", "corpus"]
MEASURES: dict[Measure, str] = {"texts": "mean over texts", "corpus": "whole corpus"}
"""Ways to take one number from many texts."""


@dataclass(frozen=True, eq=False)
class Similarity:
    """Cosine similarities of one reader by one measure."""

    cosine: Floats
    """(layer, n)."""
    draws: Floats
    """The same under each reweighting of the texts, (draw, layer, n)."""
    texts: list[int]
    """In how many texts there are n-grams, (n,)."""

    @property
    def error(self) -> Floats:
        """Standard error, (layer, n); NaN where a single text has n-grams, which can be weighted in one way only."""
        return np.where(np.array(self.texts) > 1, self.draws.std(0, ddof=1), np.nan)

    @property
    def layers(self) -> NDArray[np.int64]:
        """The layer at which each n gains most, (n,)."""
        return gain_layers(self.cosine)

    @property
    def trend(self) -> float:
        """Spearman's correlation of n with that layer."""
        return rank_correlation(self.layers)

    @cached_property
    def trend_interval(self) -> tuple[float, float] | None:
        """The interval of that correlation over the reweightings; None for a single text, which has but one weight."""
        if max(self.texts) < 2:
            return None
        different, which = np.unique(gain_layers(self.draws), axis=0, return_inverse=True)  # most of them are alike
        low, high = np.percentile(np.array([*map(rank_correlation, different)])[which.ravel()], INTERVAL)
        return float(low), float(high)


@dataclass(frozen=True, eq=False)
class Similarities:
    """Everything about one model."""

    readings: Readings
    """What was read."""
    texts: list[int]
    """In how many texts there are n-grams, (n,), as far as there are any."""
    found: dict[tuple[str, Measure], Similarity]
    """By reader and measure."""


def compare(readings: Readings, longest: int, rng: np.random.Generator) -> Similarities:
    """Compare the n-grams of every reader at every layer with those of the plaintexts, n = 1 to `longest`."""
    # Exponential weights are Dirichlet weights not divided by their sum, which no cosine minds. The first are even.
    weights = np.concatenate([np.ones((1, readings.texts)), rng.exponential(size=(DRAWS, readings.texts))])
    answers = np.concatenate(list(readings.answers.values()))  # (reader * layer, character)
    texts, cosines = [], []
    for n in range(1, longest + 1):
        truth = _count(readings, readings.plain, n)
        if truth.has_any.any():
            texts.append(int(truth.has_any.sum()))
            cosines.append(_cosines(truth, (_count(readings, ids, n) for ids in answers), weights))
    if not texts:
        raise AliceError("there is nothing to count: no text that was held out has a letter; count all characters")
    # (n, measure, reader * layer, 1 + draw) -> (reader, measure, 1 + draw, layer, n)
    ordered = np.array(cosines).transpose(2, 1, 3, 0).reshape(len(readings.answers), -1, 2, len(weights), len(texts))
    ordered = ordered.transpose(0, 2, 3, 1, 4)
    found = {
        (reader, measure): Similarity(values[0], values[1:], texts)
        for reader, both in zip(readings.answers, ordered, strict=True)
        for measure, values in zip(MEASURES, both, strict=True)
    }
    return Similarities(readings, texts, found)


def _count(readings: Readings, ids: Small, n: int) -> NgramCounts:
    return count_ngrams(ids, readings.owner, n, symbols=readings.alphabet.size, texts=readings.texts)


def _cosines(truth: NgramCounts, counts: Iterable[NgramCounts], weights: Floats) -> Floats:
    """Return the mean over texts and the cosine of the whole corpus under each of the weights, (2, answer, draw).

    The counts are taken one after another, so that those of one answer are in memory at a time.
    """
    has, norms = truth.has_any, norms_of_sums(truth, weights)
    shares = weights[:, has].T / weights[:, has].sum(1)
    cosines = [(cosine_by_text(truth, one)[has] @ shares, cosine_of_sums(truth, one, weights, norms)) for one in counts]
    return np.array(cosines).transpose(1, 0, 2)
