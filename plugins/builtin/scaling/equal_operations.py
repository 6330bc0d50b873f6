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
FEWEST_SIZES = 3
"""Sizes that are needed to predict one from the others."""
DRAWS = 2000
"""Draws of seeds for an interval."""
FEWEST_SEEDS = 2
NOT_COMPARED = "The sizes are not compared at equal operations: "
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

    def misfit(self) -> float:
        """Return the largest factor between the law and the mean error of a size at the most operations."""
        errors = self.law(self.weights, self.flops[-1]) / self.ser[:, :, -1].mean(1)
        return float(np.exp(np.abs(np.log(errors)).max()))

    def held_out(self) -> Floats:
        """Return the largest size's error at the most operations by the law of the others, with its interval, (3,).

        This is the control of a prediction for larger models: how far such a law can be trusted for the next size. NaN
        with fewer than three sizes.
        """
        if len(self.weights) < FEWEST_SIZES:
            return np.full(3, np.nan)
        count = len(self.seeds)
        laws = [
            fit(self.weights[:-1], self.flops, self.ser[:-1][:, list(seeds)])
            for seeds in (range(count), *_draws(count))
        ]
        found = [float(law(self.weights[-1], self.flops[-1])) for law in laws]
        return self.with_interval(found[1:], found[0])

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


def compare_sizes(
    trainings: Sequence[TrainingRecord], names: Sequence[str]
) -> tuple[EqualOperations | None, tuple[str, ...]]:
    """Compare sizes that were trained with the same seeds; None unless there are two sizes with measurements.

    `names` has what each training's size is called. Encodings other than the letters as they are do not take part. Also
    returns sentences: which trainings are left out, why nothing is compared, and what makes the comparison unfair.
    """
    called = {one.model.block_weights: name for one, name in zip(trainings, names, strict=True)}
    plain = [one for one in trainings if one.model.relabel == "none"]
    runs: dict[tuple[int, int], TrainingRecord] = {}
    for one in filter(_usable, plain):
        runs.setdefault((one.model.block_weights, one.recipe.seed), one)
    weights = sorted({size for size, _ in runs})
    seeds = tuple(sorted({seed for _, seed in runs if all((size, seed) in runs for size in weights)}))
    if len(weights) < 2:
        return None, ()
    if not seeds:
        return None, (f"{NOT_COMPARED}no seed was used for all sizes; train each with the same `--seeds`.",)
    kept = [runs[size, seed] for size in weights for seed in seeds]
    last = min(one.error.flops[-1] for one in kept)
    late = [one.name for one in kept if one.error.flops[0] > last / SPAN]
    if late:
        return None, (
            f"{NOT_COMPARED}{', '.join(late)} had spent more than a {SPAN:g}th of the operations that all have spent "
            "when first measured; measure more often (`--eval-every`), or give the cheaper sizes more steps.",
        )
    flops = np.geomspace(last / SPAN, last, POINTS)
    curves = [[runs[size, seed].error for seed in seeds] for size in weights]
    ser = np.exp([[np.interp(np.log(flops), np.log(one.flops), np.log(one.values)) for one in row] for row in curves])
    sizes = np.array(weights, dtype=np.float64)
    found = EqualOperations(
        tuple(called[size] for size in weights),
        sizes,
        seeds,
        flops,
        ser,
        fit(sizes, flops, ser),
        tuple(fit(sizes, flops, ser[:, list(drawn)]) for drawn in _draws(len(seeds))),
    )
    return found, (*_left_out(plain, kept), *_decaying(kept))


def _left_out(plain: Sequence[TrainingRecord], kept: Sequence[TrainingRecord]) -> list[str]:
    """Name the trainings that do not take part."""
    used = {one.folder for one in kept}
    left = [one.name for one in plain if one.folder not in used]
    if not left:
        return []
    return [
        "Left out of the comparison at equal operations, being without measurements, of a seed that other sizes lack, "
        f"or of the size and seed of another training: {', '.join(left)}."
    ]


def _decaying(kept: Sequence[TrainingRecord]) -> list[str]:
    """Say that a comparison is unfair if it takes some curves at their end, after the decay, and others before it."""
    if all(one.recipe.schedule == "constant" for one in kept):
        return []
    return [
        "The learning rate decays, so the comparison at equal operations favours the trainings that end there; train "
        "with `--schedule constant` before you conclude which size is better."
    ]


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
