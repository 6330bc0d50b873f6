"""Errors over operations from the logs of trainings, the lowest errors among them, and their power law."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import linregress

from alice.model import ModelConfig
from alice.plugins.builtin.scaling.encodings import Comparison, compare, crossed
from alice.plugins.builtin.scaling.equal_operations import EqualOperations, compare_sizes
from alice.reports.names import distinct_names, model_slug
from alice.statistics import Floats
from alice.training import PAPER_SIZES, TrainingRecord
from alice.training.presets import CPU_SIZES, Size
from alice.training.records import Found, differences

SIZE_FIELDS = ("d_model", "n_layers", "n_heads", "d_mlp", "hyper_layers", "hyper_heads", "cross_heads")
"""Fields of a model that are meant to differ between the trainings."""
FEWEST_POINTS = 4
"""Fewer points do not determine the error of a line."""


@dataclass(frozen=True, eq=False)
class Line:
    """One training."""

    name: str
    """The preset of its size; the name of the training if there is no such preset or several trainings share it."""
    training: str
    """Name of the training."""
    model: ModelConfig
    steps: Floats
    """Steps at each measurement, (point,)."""
    flops: Floats
    """Operations at each measurement, (point,)."""
    ser: Floats
    """Symbol error rate at each measurement, a fraction, (point,)."""
    last_step: int
    """Steps at the last logged loss."""
    last_flops: float
    """Operations at the last logged loss."""


@dataclass(frozen=True)
class PowerLaw:
    """y = factor * x ** exponent."""

    exponent: float
    exponent_error: float
    """Standard error of the exponent, as if the points were independent."""
    factor: float
    r_squared: float
    """Share of the variance of log y that it explains."""
    points: int
    """Points that it was fitted to."""

    def __call__(self, x: Floats) -> Floats:
        """Return y."""
        return self.factor * x**self.exponent


@dataclass(frozen=True, eq=False)
class Scaled:
    """All trainings that were read, and their power law."""

    lines: tuple[Line, ...]
    """In ascending order of weights."""
    frontier: Floats
    """Operations and errors that no training reached with fewer operations, (2, point)."""
    fitted: Floats
    """The points of the frontier that the law is fitted to, (2, point)."""
    law: PowerLaw | None
    """None with too few points."""
    comparisons: tuple[Comparison, ...] = ()
    """Trainings that differ in the renaming of letters."""
    sizes: EqualOperations | None = None
    """Sizes at equal operations; None unless there are several with the same seeds."""
    notes: tuple[str, ...] = ()
    """Sentences about trainings that differ in more than is compared, or were left out."""


def measure(found: Found, *, fit_below: float) -> Scaled:
    """Find the lowest errors of all trainings and fit a power law to those below `fit_below`, a fraction."""
    found = found.renamed(distinct_names(training.name for training in found.trainings))
    lines = _lines(found.trainings)
    flops = np.concatenate([line.flops for line in lines])
    ser = np.concatenate([line.ser for line in lines])
    best = frontier(flops, ser)
    fitted = best[(ser[best] < fit_below) & (ser[best] > 0) & (flops[best] > 0)]  # what has a logarithm
    comparisons = compare(found.trainings)
    constant = all(training.recipe.schedule == "constant" for training in found.trainings)
    besides = [
        *SIZE_FIELDS,
        *(["relabel"] if comparisons else []),
        *(["seed"] if crossed(found.trainings) else []),
        *(["steps"] if constant else []),  # any point of such a curve could be its end
    ]
    sizes, remarks = compare_sizes(found.trainings, [preset_of(one.model) or one.name for one in found.trainings])
    return Scaled(
        tuple(lines),
        np.stack([flops[best], ser[best]]),
        np.stack([flops[fitted], ser[fitted]]),
        power_law(flops[fitted], ser[fitted]),
        comparisons,
        sizes,
        (*differences(found.trainings, besides=besides), *found.notes, *remarks, *_estimates(found.trainings)),
    )


def _lines(trainings: Sequence[TrainingRecord]) -> list[Line]:
    ordered = sorted(trainings, key=lambda training: training.model.block_weights)
    return [
        Line(
            name,
            training.name,
            training.model,
            training.error.steps,
            training.error.flops,
            training.error.values,
            int(training.loss.steps[-1]),
            float(training.loss.flops[-1]),
        )
        for name, training in zip(_names(ordered), ordered, strict=True)
    ]


def _names(trainings: Sequence[TrainingRecord]) -> list[str]:
    """Return the preset of each training, or its own name where presets do not tell the trainings apart."""
    presets = [preset_of(training.model) or training.name for training in trainings]
    names = [
        training.name if presets.count(preset) > 1 else preset
        for preset, training in zip(presets, trainings, strict=True)
    ]
    distinct = len(set(map(model_slug, names))) == len(names)
    return names if distinct else [training.name for training in trainings]


def preset_of(model: ModelConfig) -> str | None:
    """Return the preset of this size, if there is one."""
    same = (
        name
        for name, size in (CPU_SIZES | PAPER_SIZES).items()
        if size == Size(model.d_model, model.n_layers, model.n_heads, model.d_mlp)
    )
    return next(same, None)


def _estimates(trainings: Sequence[TrainingRecord]) -> list[str]:
    """Say which trainings were logged before operations were counted."""
    estimated = [training.name for training in trainings if not training.exact_flops]
    if not estimated:
        return []
    return [
        f"The log of {', '.join(estimated)} has no operation counts; they are estimated from its characters, with "
        "attention as if every text were half as long as the longest allowed."
    ]


def frontier(x: Floats, y: Floats) -> NDArray[np.int64]:
    """Return the indices of the points whose y is lower than that of every point with smaller x, in the order of x."""
    order = np.lexsort((y, x))
    best = np.minimum.accumulate(y[order])
    better = np.concatenate([[True], best[1:] < best[:-1]]) if len(order) else np.zeros(0, bool)
    return order[better].astype(np.int64)


def power_law(x: Floats, y: Floats) -> PowerLaw | None:
    """Fit a power law by least squares between the logarithms; None with too few points above zero."""
    usable = (x > 0) & (y > 0)
    across, up = np.log(x[usable]), np.log(y[usable])
    if len(across) < FEWEST_POINTS or np.ptp(across) == 0:
        return None
    line = linregress(across, up)
    return PowerLaw(
        float(line.slope), float(line.stderr), float(np.exp(line.intercept)), float(line.rvalue**2), len(across)
    )
