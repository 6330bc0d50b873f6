"""Bayesian bootstrap of ratios of sums over texts, one batch at a time."""

import numpy as np
from numpy.typing import NDArray

from alice.metrics import BOOTSTRAP_DRAWS, Floats

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
