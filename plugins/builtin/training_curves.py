"""What can be read off curves of training: smoothed lines, the best error that some compute buys, a power law."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.signal import savgol_filter
from scipy.stats import linregress

from alice.statistics import Floats

ORDER = 3
"""Degree of the polynomials that smoothing fits."""
FEWEST_POINTS = 4
"""A line through fewer points says nothing of its own error."""


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


def smooth(values: Floats, window: int) -> Floats:
    """Smooth a curve with a Savitzky-Golay filter over `window` points, (points,) -> the same.

    A short curve gets a window of a tenth of its points, odd; where that is too few for the filter, it stays as it is.
    """
    width = min(window, len(values) // 10)
    width -= 1 - width % 2
    return savgol_filter(values, width, ORDER) if width > ORDER else values.copy()


def frontier(x: Floats, y: Floats) -> NDArray[np.int64]:
    """Return which points have a lower y than every point of smaller x, in the order of x."""
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
