"""How a letter's share of the errors compares with how often it occurs."""

from dataclasses import dataclass

import numpy as np

from alice.statistics import Floats


def excess(error_rates: Floats, frequencies: Floats) -> Floats:
    """Return by how much each letter's share of the errors exceeds its share of the text, (..., 26) each.

    As in the paper: the error rate of a letter times its frequency, divided by the sum of that over all letters, minus
    the frequency. A letter without an error rate is left out and stays NaN; without any errors all are NaN.
    """
    weighted = error_rates * frequencies
    total = np.nansum(weighted, axis=-1, keepdims=True)
    share = np.divide(weighted, total, out=np.full(weighted.shape, np.nan), where=total > 0)
    return share - frequencies


@dataclass(frozen=True)
class Line:
    """A least-squares line through points."""

    slope: float
    """Change of y for a step of one in x."""
    slope_error: float
    """Standard error of the slope."""
    intercept: float
    """Height at zero."""
    correlation: float
    """Pearson's r."""
    p_value: float
    """Probability of a slope this far from zero if the true slope were zero, under the usual assumptions."""


def fit_line(x: Floats, y: Floats) -> Line | None:
    """Fit a line through the finite points, (points,) each; None with fewer than three or without variation."""
    from scipy.stats import linregress  # here, because it takes a second to import

    finite = np.isfinite(x) & np.isfinite(y)
    if finite.sum() < 3 or np.ptp(x[finite]) == 0 or np.ptp(y[finite]) == 0:
        return None
    found = linregress(x[finite], y[finite])
    values = (found.slope, found.stderr, found.intercept, found.rvalue, found.pvalue)
    return Line(*map(float, values))


def fit_slopes(x: Floats, y: Floats) -> Floats:
    """Return the slope of the line through the points of each row, (points,), (rows, points) -> (rows,).

    Points that are not finite are left out; a row without two of them has the slope NaN.
    """
    finite = np.isfinite(x) & np.isfinite(y)
    count = np.maximum(finite.sum(-1, keepdims=True), 1)
    away = np.where(finite, x - np.where(finite, x, 0.0).sum(-1, keepdims=True) / count, 0.0)
    squares = (away**2).sum(-1)
    product = (away * np.where(finite, y, 0.0)).sum(-1)
    return np.divide(product, squares, out=np.full(squares.shape, np.nan), where=squares > 0)
