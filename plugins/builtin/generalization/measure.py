"""Smoothed losses and accuracies on unseen keys, from the logs of trainings on pools of keys."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.signal import savgol_filter

from alice.reports.names import distinct_names
from alice.statistics import Floats
from alice.training.records import Found, differences

ORDER = 3
"""Degree of the polynomials that smoothing fits."""


@dataclass(frozen=True, eq=False)
class Pool:
    """One training on a pool of keys."""

    size: int | None
    """Keys in its pool; None for all."""
    seed: int
    training: str
    """Name of the training."""
    eval_texts: int
    """Held-out texts that accuracy is measured on."""
    loss_steps: Floats
    """Steps at which the loss was logged, (point,)."""
    raw_loss: Floats
    """Training loss per character in nats, (point,)."""
    loss: Floats
    """The same, smoothed, (point,)."""
    accuracy_steps: Floats
    """Steps at which accuracy was measured, (measurement,)."""
    accuracy: Floats
    """Share of correct characters under unseen keys, (measurement,)."""

    @property
    def final_loss(self) -> float:
        """The last smoothed loss."""
        return float(self.loss[-1])

    @property
    def final_accuracy(self) -> float | None:
        """The last accuracy, if any was measured."""
        return float(self.accuracy[-1]) if len(self.accuracy) else None

    @property
    def best(self) -> tuple[float, int] | None:
        """The best accuracy and its step, if any was measured."""
        if not len(self.accuracy):
            return None
        place = int(np.argmax(self.accuracy))
        return float(self.accuracy[place]), int(self.accuracy_steps[place])

    @property
    def confidence(self) -> float:
        """Geometric mean of the probability of each correct character in training, exp(-loss)."""
        return math.exp(-self.final_loss)

    @property
    def gap(self) -> float | None:
        """How much higher the confidence in training is than the accuracy on unseen keys."""
        return None if self.final_accuracy is None else self.confidence - self.final_accuracy


@dataclass(frozen=True, eq=False)
class Pools:
    """All trainings that were read."""

    pools: tuple[Pool, ...]
    """In ascending order of size."""
    notes: tuple[str, ...] = ()
    """Sentences about trainings that differ in more than their pool or were left out."""

    @property
    def merged(self) -> "tuple[Pool, ...]":
        """The mean over seeds of each pool; the trainings as they are where one pool has a seed twice."""
        if len({(pool.size, pool.seed) for pool in self.pools}) < len(self.pools):
            return self.pools
        groups: dict[int | None, list[Pool]] = {}
        for pool in self.pools:
            groups.setdefault(pool.size, []).append(pool)
        return tuple(group[0] if len(group) == 1 else _merged(group) for group in groups.values())


def measure(found: Found, *, window: int) -> Pools:
    """Smooth the losses of the trainings and put them in the order of their pools."""
    found = found.renamed(distinct_names(training.name for training in found.trainings))
    ordered = sorted(found.trainings, key=lambda training: training.recipe.cipher_pool or math.inf)
    pools = tuple(
        Pool(
            training.recipe.cipher_pool,
            training.recipe.seed,
            training.name,
            training.recipe.eval_texts,
            training.loss.steps,
            training.loss.values,
            smooth(training.loss.values, window),
            training.error.steps,
            1 - training.error.values,
        )
        for training in ordered
    )
    besides = ["cipher_pool", *(["seed"] if _crossed(pools) else [])]
    return Pools(pools, (*differences(found.trainings, besides=besides), *found.notes))


def _merged(group: Sequence[Pool]) -> Pool:
    """Return the mean of trainings on pools of one size, at the steps that all of them have."""
    steps, (raw, loss) = _means([(one.loss_steps, one.raw_loss, one.loss) for one in group])
    measured, (accuracy,) = _means([(one.accuracy_steps, one.accuracy) for one in group])
    name = f"{len(group)} seeds"
    return Pool(group[0].size, group[0].seed, name, group[0].eval_texts, steps, raw, loss, measured, accuracy)


def _means(curves: Sequence[tuple[Floats, ...]]) -> tuple[Floats, Floats]:
    """Return the common steps of curves, (point,), and the means of their values there, (value, point)."""
    steps = np.array(sorted(set.intersection(*(set(one[0].tolist()) for one in curves))))
    rows = [[values[np.searchsorted(one[0], steps)] for values in one[1:]] for one in curves]
    return steps, np.mean(rows, axis=0)


def _crossed(pools: Sequence[Pool]) -> bool:
    """Return whether every pool was trained with the same seeds, so that seeds cause no difference between pools."""
    seeds: dict[int | None, set[int]] = {}
    for pool in pools:
        seeds.setdefault(pool.size, set()).add(pool.seed)
    return len(set(map(frozenset, seeds.values()))) == 1


def smooth(values: Floats, window: int) -> Floats:
    """Smooth a curve with a Savitzky-Golay filter over at most `window` points, (point,) -> (point,).

    The window of a short curve is a tenth of its points, made odd; where that is too few for the filter, the curve is
    returned as it is.
    """
    width = min(window, len(values) // 10)
    width -= 1 - width % 2
    return savgol_filter(values, width, ORDER) if width > ORDER else values.copy()
