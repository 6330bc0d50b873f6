"""Means over texts with honest error bars: the Bayesian bootstrap of means and of ratios of sums. Pure numpy."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]

BOOTSTRAP_DRAWS = 50


@dataclass(frozen=True)
class Estimate:
    """A mean over texts with its standard error, which is NaN unless there are two texts at least."""

    mean: float
    error: float
    count: int

    def __format__(self, spec: str) -> str:
        """Write the mean with its error, if that is known, both in one format: `1.09 ± 0.07`."""
        mean = format(self.mean, spec)
        return mean if math.isnan(self.error) else f"{mean} ± {format(self.error, spec)}"

    @property
    def cells(self) -> tuple[float | None, float | None]:
        """Mean and error for a table, in which what is not known is left blank."""
        return blank_nan(self.mean), blank_nan(self.error)


@dataclass(frozen=True)
class Spread:
    """A median over texts with the 16th and 84th percentile."""

    median: float
    low: float
    high: float
    count: int


def blank_nan(value: float) -> float | None:
    """Return a number for a table, where None is a blank."""
    return None if math.isnan(value) else float(value)


def bayesian_bootstrap(values: Floats, rng: np.random.Generator, *, draws: int = BOOTSTRAP_DRAWS) -> Estimate:
    """Return the mean and the standard deviation of it over reweightings of the texts (Rubin 1981).

    A single text can only be weighted in one way, so it has a mean but no error.
    """
    if len(values) < 2:
        return Estimate(float(values[0]) if len(values) else math.nan, math.nan, len(values))
    weights = rng.dirichlet(np.ones(len(values)), size=draws)  # (draws, texts)
    return Estimate(float(values.mean()), float((weights @ values).std(ddof=1)), len(values))


def spread(values: Floats) -> Spread:
    """Return the median and the percentiles around it."""
    if len(values) == 0:
        return Spread(float("nan"), float("nan"), float("nan"), 0)
    low, median, high = np.percentile(values, [16, 50, 84])
    return Spread(float(median), float(low), float(high), len(values))


Counts = NDArray[np.integer] | NDArray[np.bool_]


class RatioBootstrap:
    """Adds up parts and wholes, such as wrong and all characters of each letter, and says how sure their ratio is.

    `bayesian_bootstrap` is for a mean over texts and holds them all. This is for a ratio whose whole differs from text
    to text; it holds only sums. Exponential weights are Dirichlet weights that are not yet divided by their sum, and in
    a ratio that makes no difference.
    """

    def __init__(self, rng: np.random.Generator, size: int, *, draws: int = BOOTSTRAP_DRAWS) -> None:
        self._rng = rng
        self.part = np.zeros(size)
        """Sum of the parts, (size,)."""
        self.whole = np.zeros(size)
        """Sum of the wholes, (size,)."""
        self.part_draws = np.zeros((draws, size))
        """The same under each reweighting of the texts, (draws, size)."""
        self.whole_draws = np.zeros((draws, size))
        """The same of the wholes, (draws, size)."""
        self.texts = np.zeros(size, dtype=np.int64)
        """Texts with any of the whole, (size,)."""

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
        """Part over whole, (size,); NaN where there is no whole."""
        return ratio(self.part, self.whole)

    @property
    def ratio_draws(self) -> Floats:
        """The ratio under each reweighting, (draws, size)."""
        return ratio(self.part_draws, self.whole_draws)

    @property
    def error(self) -> Floats:
        """Standard error of the ratio, (size,); NaN where fewer than two texts have a whole."""
        return self.spread(self.ratio_draws)

    def spread(self, draws: Floats) -> Floats:
        """Return the standard error of what was made of the draws, (draws, size) -> (size,), NaN in the same places."""
        return np.where(self.texts > 1, draws.std(0, ddof=1), np.nan)


def ratio(part: Floats, whole: Floats) -> Floats:
    """Divide; nothing over nothing is NaN."""
    return np.divide(part, whole, out=np.full(np.shape(part), np.nan), where=np.asarray(whole) > 0)
