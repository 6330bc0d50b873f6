"""Sizes of model at equal operations: errors over seeds, a law of weights and operations, and what it predicts."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alice.model import ModelConfig, training_flops
from alice.plugins import paper
from alice.statistics import Floats
from alice.training import TrainingRecord, model_config

SPAN = 4.0
"""The law is fitted to the last part of the operations that all trainings have spent: from a SPAN-th of them on."""
POINTS = 8
"""Points of each training that it is fitted to, evenly spaced over the logarithm of the operations."""
DRAWS = 2000
"""Draws of seeds for an interval."""
FEWEST_SEEDS = 2
CHARACTERS = 100
"""Characters of a text that the operations of the paper's trainings are estimated with; it does not print them."""
PAPER_BATCH = 96
"""Texts in a batch of the paper."""


@dataclass(frozen=True)
class SizeLaw:
    """SER = factor * weights ** -size * operations ** -compute."""

    factor: float
    size: float
    """At equal operations, larger models are better if this is above 0."""
    compute: float

    def __call__(self, weights: float | Floats, flops: float) -> Floats:
        """Return the SER, a fraction."""
        return np.asarray(self.factor * np.asarray(weights) ** -self.size * flops**-self.compute)


@dataclass(frozen=True, eq=False)
class EqualOperations:
    """Several sizes, each trained with the same seeds."""

    names: tuple[str, ...]
    """Names of the sizes, (size,)."""
    weights: Floats
    """Weights in blocks, ascending, (size,)."""
    seeds: tuple[int, ...]
    flops: Floats
    """Operations at which the errors are compared, ascending, (point,); the last is the most that all have spent."""
    ser: Floats
    """Symbol error rates, a fraction, interpolated at these operations, (size, seed, point)."""
    law: SizeLaw
    """Fitted to all seeds."""
    draws: tuple[SizeLaw, ...]
    """Fitted to draws of seeds; none with too few seeds."""

    def last(self) -> Floats:
        """Return mean, lower and upper end of each size's error at the most operations, (size, 3)."""
        values = self.ser[:, :, -1]
        means = [values[:, list(seeds)].mean(1) for seeds in _draws(len(self.seeds))]
        ends = np.percentile(means, [2.5, 97.5], axis=0) if means else np.full((2, len(values)), np.nan)
        return np.stack([values.mean(1), *ends], axis=1)

    def lead(self) -> Floats:
        """Return the largest model's error minus the smallest's at the most operations, with its interval, (3,)."""
        differences = self.ser[-1, :, -1] - self.ser[0, :, -1]  # the same seed has the same texts in the same order
        means = [differences[list(seeds)].mean() for seeds in _draws(len(self.seeds))]
        ends = np.percentile(means, [2.5, 97.5]) if means else [np.nan, np.nan]
        return np.array([differences.mean(), *ends])

    def with_interval(self, values: Sequence[float], value: float) -> Floats:
        """Return a number of the law with its interval over the draws, (3,)."""
        ends = np.percentile(values, [2.5, 97.5]) if len(values) else [np.nan, np.nan]
        return np.array([value, *ends])

    def exponents(self) -> tuple[Floats, Floats]:
        """Return the exponents of size and of operations with their intervals, (3,) each."""
        size = self.with_interval([one.size for one in self.draws], self.law.size)
        return size, self.with_interval([one.compute for one in self.draws], self.law.compute)

    def prediction(self) -> Floats:
        """Return the SER that the law predicts for the paper's model after the paper's steps, with its interval."""
        weights, flops = paper_model().block_weights, paper_flops()
        found = [float(one(weights, flops)) for one in (self.law, *self.draws)]
        return self.with_interval(found[1:], found[0])


def paper_model() -> ModelConfig:
    """Return the size that the paper finds best."""
    return model_config(paper.BEST_SCALING_PRESET)


def paper_flops() -> float:
    """Estimate the operations of the paper's scaling run of that size."""
    texts = paper.SCALING_STEPS * PAPER_BATCH
    return training_flops(paper_model(), texts * CHARACTERS, texts * CHARACTERS**2)


def compare_sizes(trainings: Sequence[TrainingRecord], names: Sequence[str]) -> EqualOperations | None:
    """Compare sizes that were trained with the same seeds; None unless there are two sizes with measurements.

    `names` has what each training's size is called. Encodings other than the letters as they are do not take part.
    """
    plain = [(one, name) for one, name in zip(trainings, names, strict=True) if one.model.relabel == "none"]
    runs = {(one.model.block_weights, one.recipe.seed): one for one, _ in plain if _usable(one)}
    weights = sorted({size for size, _ in runs})
    seeds = tuple(sorted({seed for _, seed in runs if all((size, seed) in runs for size in weights)}))
    if len(weights) < 2 or not seeds:
        return None
    curves = [[runs[size, seed].error for seed in seeds] for size in weights]
    last = min(curve.flops[-1] for row in curves for curve in row)
    flops = np.geomspace(last / SPAN, last, POINTS)
    if any(curve.flops[0] > flops[0] for row in curves for curve in row):
        return None
    ser = np.exp([[np.interp(np.log(flops), np.log(one.flops), np.log(one.values)) for one in row] for row in curves])
    called = {one.model.block_weights: name for one, name in plain}
    sizes = np.array(weights, dtype=np.float64)
    return EqualOperations(
        tuple(called[size] for size in weights),
        sizes,
        seeds,
        flops,
        ser,
        fit(sizes, flops, ser),
        tuple(fit(sizes, flops, ser[:, list(drawn)]) for drawn in _draws(len(seeds))),
    )


def _usable(training: TrainingRecord) -> bool:
    """Return whether a training's errors have logarithms."""
    curve = training.error
    return len(curve.values) > 0 and bool((curve.values > 0).all() and (curve.flops > 0).all())


def fit(weights: Floats, flops: Floats, ser: Floats) -> SizeLaw:
    """Fit the law by least squares between the logarithms, (size,), (point,), (size, seed, point)."""
    across, along = np.broadcast_arrays(np.log(weights)[:, None, None], np.log(flops)[None, None])
    shape = ser.shape
    columns = [np.ones(shape), -np.broadcast_to(across, shape), -np.broadcast_to(along, shape)]
    found = np.linalg.lstsq(np.stack([column.ravel() for column in columns], axis=1), np.log(ser).ravel(), rcond=None)
    height, size, compute = found[0]
    return SizeLaw(float(np.exp(height)), float(size), float(compute))


def _draws(count: int) -> list[tuple[int, ...]]:
    """Return draws of seeds with replacement, always the same ones; none with too few seeds."""
    if count < FEWEST_SEEDS:
        return []
    rng = np.random.default_rng(count)
    return [tuple(row) for row in rng.integers(count, size=(DRAWS, count)).tolist()]
