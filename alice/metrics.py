"""How wrong an answer is: symbol error rate, its bins by length, and honest error bars. Pure functions of arrays."""

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
    """A mean over texts with its standard error."""

    mean: float
    error: float
    count: int


@dataclass(frozen=True)
class Spread:
    """A median over texts with the 16th and 84th percentile."""

    median: float
    low: float
    high: float
    count: int


def bayesian_bootstrap(values: Floats, rng: np.random.Generator, *, draws: int = BOOTSTRAP_DRAWS) -> Estimate:
    """Return the mean and the standard deviation of it over reweightings of the texts (Rubin 1981)."""
    if len(values) == 0:
        return Estimate(float("nan"), float("nan"), 0)
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
