"""Trainings of one size that rename the letters of their input in different ways, compared seed by seed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
from scipy.stats import t as student

from alice.model import ModelConfig
from alice.statistics import Floats
from alice.text import RELABELS
from alice.training import TrainingRecord
from alice.training.records import Curve

LEVEL = 0.95
"""Level of the intervals."""
SAME_OPERATIONS = 0.01
"""Relative difference of operations up to which they count as equal."""
MAY_DIFFER = {"relabel", "seed", "precision", "compile", "save_minutes", "log_every", "eval_every", "keep_steps"}
"""What may differ between compared trainings."""


@dataclass(frozen=True, eq=False)
class Comparison:
    """Encodings with the same seeds, measured after the same steps."""

    model: ModelConfig
    """One of the models, which differ in `relabel` only."""
    encodings: tuple[str, ...]
    """Values of `relabel`, (encoding,)."""
    seeds: tuple[int, ...]
    """Seeds that all of them have, (seed,)."""
    steps: Floats
    """Steps after which all of them were measured, (point,)."""
    flops: Floats
    """Operations until then, (encoding, seed, point)."""
    ser: Floats
    """Symbol error rate, a fraction, (encoding, seed, point)."""

    @property
    def equal_flops(self) -> bool:
        """Whether at each step the encodings have spent the same operations, apart from a percent."""
        return bool((np.ptp(self.flops, axis=0) <= SAME_OPERATIONS * self.flops.max(0)).all())

    def differences(self) -> "list[Difference]":
        """Return the difference of each pair of encodings at every step."""
        pairs = combinations(range(len(self.encodings)), 2)
        return [
            Difference(self.encodings[second], self.encodings[first], self.ser[second] - self.ser[first])
            for first, second in pairs
        ]


@dataclass(frozen=True, eq=False)
class Difference:
    """SER of one encoding minus that of another."""

    encoding: str
    reference: str
    values: Floats
    """For each seed, a fraction, (seed, point)."""

    @property
    def mean(self) -> Floats:
        """Mean over seeds, (point,)."""
        return np.asarray(self.values.mean(0))

    @property
    def error(self) -> Floats:
        """Standard error of the mean over seeds, (point,); NaN with one seed."""
        count = len(self.values)
        return self.values.std(0, ddof=1) / np.sqrt(count) if count > 1 else np.full(self.values.shape[1], np.nan)

    @property
    def interval(self) -> Floats:
        """Student's interval of the mean, (2, point); NaN with one seed."""
        half = student.ppf((1 + LEVEL) / 2, len(self.values) - 1) * self.error
        return np.stack([self.mean - half, self.mean + half])


def compare(trainings: Iterable[TrainingRecord]) -> tuple[Comparison, ...]:
    """Compare the trainings that differ in nothing but encoding and seed, for each size with several encodings."""
    groups: dict[str, list[TrainingRecord]] = {}
    for training in trainings:
        groups.setdefault(_settings(training), []).append(training)
    return tuple(found for group in groups.values() if (found := _compared(group)) is not None)


def _compared(group: Sequence[TrainingRecord]) -> Comparison | None:
    """Compare trainings of one kind; None without two encodings, a seed and a measurement that they share."""
    found = {(training.model.relabel, training.recipe.seed): training for training in group}
    encodings = tuple(name for name in RELABELS if any(name == other for other, _ in found))
    seeds = tuple(sorted({seed for _, seed in found if all((name, seed) in found for name in encodings)}))
    if len(encodings) < 2 or not seeds:
        return None
    curves = [[found[name, seed].error for seed in seeds] for name in encodings]
    steps = np.array(sorted(set.intersection(*(set(curve.steps.tolist()) for row in curves for curve in row))))
    if not len(steps):
        return None
    flops, ser = (
        np.array([[_at(steps, curve, values) for curve in row] for row in curves]) for values in ("flops", "values")
    )
    return Comparison(group[0].model, encodings, seeds, steps, flops, ser)


def crossed(trainings: Iterable[TrainingRecord]) -> bool:
    """Return whether every kind of model was trained with the same seeds, so that seeds cause no difference."""
    seeds: dict[str, set[int]] = {}
    for training in trainings:
        seeds.setdefault(str(training.model), set()).add(training.recipe.seed)
    return len(set(map(frozenset, seeds.values()))) == 1


def _settings(training: TrainingRecord) -> str:
    """Return everything that compared trainings must have in common."""
    settings = {**training.model.to_dict(), **training.recipe.to_dict()}
    common = {name: value for name, value in settings.items() if name not in MAY_DIFFER}
    return str((training.data, training.data_sha256, common))


def _at(steps: Floats, curve: Curve, values: str) -> Floats:
    """Return the flops or values of a curve after each of some steps."""
    return np.asarray(getattr(curve, values)[np.searchsorted(curve.steps, steps)])
