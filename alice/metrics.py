"""How wrong an answer is: symbol error rate, its bins by length, and honest error bars. Pure functions of arrays."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from alice.alphabet import PAD

Floats = NDArray[np.float64]

LENGTH_BINS = (0, 32, 64, 128, 256)
"""Lower ends of the paper's bins; the last has no upper end."""
SHORT = 128
"""Texts below this length are compared apart from the others."""
BOOTSTRAP_DRAWS = 50


def error_rates(predicted: NDArray[np.integer], plain: NDArray[np.integer]) -> Floats:
    """Return the share of wrong characters of each text, (batch, pos) twice -> (batch,); every character counts."""
    text = plain != PAD
    return ((predicted != plain) & text).sum(1) / text.sum(1)


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


def length_bin(lengths: NDArray[np.integer]) -> NDArray[np.int64]:
    """Return the number of the paper's bin that each length falls in."""
    return np.digitize(lengths, LENGTH_BINS[1:]).astype(np.int64)


def bin_names() -> list[str]:
    """Return the bins as a reader writes them: `[0,32)` to `[256,)`."""
    uppers = [*LENGTH_BINS[1:], ""]
    return [f"[{low},{high})" for low, high in zip(LENGTH_BINS, uppers, strict=True)]
