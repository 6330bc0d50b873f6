"""Means over texts with standard errors: the Bayesian bootstrap of means, of their differences, and of ratios of sums.

Pure numpy.
"""

import math
from copy import copy
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

BOOTSTRAP_DRAWS = 50


@dataclass(frozen=True)
class Estimate:
    """A mean over texts with its standard error, which is NaN for fewer than two texts."""

    mean: float
    error: float
    count: int

    def __format__(self, spec: str) -> str:
        """Format the mean, and the error if it is known: `1.09 ± 0.07`."""
        mean = format(self.mean, spec)
        return mean if math.isnan(self.error) else f"{mean} ± {format(self.error, spec)}"

    @property
    def cells(self) -> tuple[float | None, float | None]:
        """Mean and error for a table; None if unknown."""
        return blank_nan(self.mean), blank_nan(self.error)


@dataclass(frozen=True)
class Spread:
    """A median over texts with the 16th and 84th percentiles."""

    median: float
    low: float
    high: float
    count: int


def blank_nan(value: float) -> float | None:
    """Return a number for a table: None instead of NaN."""
    return None if math.isnan(value) else float(value)


def bayesian_bootstrap(values: Floats, rng: np.random.Generator, *, draws: int = BOOTSTRAP_DRAWS) -> Estimate:
    """Return the mean and its standard deviation over random weightings of the texts (Rubin 1981), (texts,).

    A single text has only one weighting, so it has a mean but no error.
    """
    return PairedBootstrap(np.asarray(values, np.float64)[:, None], rng, draws=draws).estimates[0]


class PairedBootstrap:
    """Means of several columns over the same texts, with one set of random weightings for all columns.

    Two things measured on the same texts, such as two layers or two models, vary together from text to text. Because
    every weighting is applied to all columns alike, the error of a difference is that of a paired comparison.

        found = PairedBootstrap(errors, ctx.rng)    # (texts, columns)
        found.mean, found.error, found.interval()   # of each column
        found.difference(0, 3).interval()           # of column 0 minus column 3
    """

    def __init__(self, values: Floats, rng: np.random.Generator, *, draws: int = BOOTSTRAP_DRAWS) -> None:
        """Draw the weightings of values, (texts, columns).

        A text whose value is NaN does not contribute to that column.
        """
        values = np.asarray(values, np.float64)
        present = ~np.isnan(values)
        self.count: Ints = present.sum(0)
        """Number of texts that contribute to each column, (columns,)."""
        filled = np.where(present, values, 0.0)
        self.mean: Floats = ratio(filled.sum(0), self.count)
        """Mean of each column, (columns,); NaN without texts."""
        weights = rng.dirichlet(np.ones(len(values)), size=draws) if len(values) > 1 else np.ones((draws, len(values)))
        whole = np.ones((draws, 1)) if present.all() else weights @ present
        self.draws: Floats = ratio(weights @ filled, np.broadcast_to(whole, (draws, values.shape[1])))
        """Mean of each column for each weighting, (draws, columns)."""

    @property
    def error(self) -> Floats:
        """Standard error of each column, (columns,); NaN for fewer than two texts."""
        return np.where(self.count > 1, self.draws.std(0, ddof=1), np.nan)

    @property
    def estimates(self) -> list[Estimate]:
        """Mean, error and number of texts of each column."""
        return [
            Estimate(float(mean), float(error), int(count))
            for mean, error, count in zip(self.mean, self.error, self.count, strict=True)
        ]

    def interval(self, level: float = 0.95) -> Floats:
        """Return the lower and upper end that enclose a share `level` of the weightings, (columns, 2)."""
        ends = np.percentile(self.draws, [50 * (1 - level), 50 * (1 + level)], axis=0).T
        return np.where(self.count[:, None] > 1, ends, np.nan)

    def difference(self, first: int | Ints, second: int | Ints) -> "PairedBootstrap":
        """Return columns `first` minus columns `second` as new columns, with the errors of a paired comparison."""
        first, second = np.broadcast_arrays(np.atleast_1d(first), np.atleast_1d(second))
        found = copy(self)
        found.mean = self.mean[first] - self.mean[second]
        found.draws = self.draws[:, first] - self.draws[:, second]
        found.count = np.minimum(self.count[first], self.count[second])
        return found


def spread(values: Floats) -> Spread:
    """Return the median with the 16th and 84th percentiles."""
    if len(values) == 0:
        return Spread(float("nan"), float("nan"), float("nan"), 0)
    low, median, high = np.percentile(values, [16, 50, 84])
    return Spread(float(median), float(low), float(high), len(values))


Counts = NDArray[np.integer] | NDArray[np.bool_]


class RatioBootstrap:
    """Sums parts and wholes, such as wrong and all occurrences of each letter; gives their ratio with its error.

    `bayesian_bootstrap` is for a mean and holds a value per text. This is for a ratio whose whole differs between
    texts, and holds only sums. Exponential weights are unnormalised Dirichlet weights; in a ratio the norm cancels.
    """

    def __init__(self, rng: np.random.Generator, size: int, *, draws: int = BOOTSTRAP_DRAWS) -> None:
        self._rng = rng
        self.part = np.zeros(size)
        """Sum of the parts, (size,)."""
        self.whole = np.zeros(size)
        """Sum of the wholes, (size,)."""
        self.part_draws = np.zeros((draws, size))
        """The same for each weighting of the texts, (draws, size)."""
        self.whole_draws = np.zeros((draws, size))
        """The same for the wholes, (draws, size)."""
        self.texts = np.zeros(size, dtype=np.int64)
        """Number of texts whose whole is not 0, (size,)."""

    def add(self, part: Counts, whole: Counts) -> None:
        """Add texts, (texts, size) each."""
        weights = self._rng.exponential(size=(len(self.part_draws), len(part)))
        self.part += part.sum(0)
        self.whole += whole.sum(0)
        self.texts += (whole > 0).sum(0)
        self.part_draws += weights @ part
        self.whole_draws += weights @ whole

    @property
    def ratio(self) -> Floats:
        """Part over whole, (size,); NaN where the whole is 0."""
        return ratio(self.part, self.whole)

    @property
    def ratio_draws(self) -> Floats:
        """The ratio for each weighting, (draws, size)."""
        return ratio(self.part_draws, self.whole_draws)

    @property
    def error(self) -> Floats:
        """Standard error of the ratio, (size,); NaN where fewer than two texts contribute."""
        return self.spread(self.ratio_draws)

    def spread(self, draws: Floats) -> Floats:
        """Return the standard error of a quantity of the draws, (draws, size) -> (size,); NaN as in `error`."""
        return np.where(self.texts > 1, draws.std(0, ddof=1), np.nan)


def ratio(part: Floats, whole: Floats) -> Floats:
    """Divide; NaN where the whole is 0."""
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0)
