"""Means over texts with standard errors: the Bayesian bootstrap of means and of ratios of sums. Pure numpy."""

import math
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
    """Return the mean and its standard deviation over random weightings of the texts (Rubin 1981).

    A single text has only one weighting, so it has a mean but no error.
    """
    if len(values) < 2:
        return Estimate(float(values[0]) if len(values) else math.nan, math.nan, len(values))
    weights = rng.dirichlet(np.ones(len(values)), size=draws)  # (draws, texts)
    return Estimate(float(values.mean()), float((weights @ values).std(ddof=1)), len(values))


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
