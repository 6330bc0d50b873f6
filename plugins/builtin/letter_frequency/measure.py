"""What a model takes each letter for, counted over many texts."""

from dataclasses import dataclass

import numpy as np

from alice.plugins.builtin.answers import OTHER, answers
from alice.plugins.builtin.letter_frequency.frequencies import excess, fit_slopes
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints, RatioBootstrap, spread_of_draws
from alice.text import N_LETTERS


@dataclass(frozen=True, eq=False)
class Measured:
    """What one model takes each letter for."""

    model: str
    """Name of the checkpoint."""
    texts: int
    """Texts read."""
    confusion: Ints
    """Characters of each plain letter by the letter that they are taken for, (26, 27); last: not a letter."""
    wrong: RatioBootstrap
    """Wrong characters of each letter over all of them, (26,)."""

    @property
    def characters(self) -> Ints:
        """Characters of each letter, (26,)."""
        return self.confusion.sum(1)

    @property
    def mistakes(self) -> Ints:
        """The confusion without right answers, (26, 27)."""
        without = self.confusion.copy()
        np.fill_diagonal(without, 0)
        return without

    @property
    def frequencies(self) -> Floats:
        """Share of each letter among the letters of these texts, (26,)."""
        return self.characters / max(self.characters.sum(), 1)

    def excess(self, frequencies: Floats | None = None) -> tuple[Floats, Floats]:
        """Return each letter's share of the errors minus its frequency, and the standard error of that, (26,) each.

        By default the frequencies are those of these texts, and the error includes their uncertainty.
        """
        found = self.frequencies if frequencies is None else frequencies
        return excess(self.wrong.ratio, found), self.wrong.spread(self._excess_draws(frequencies)[0])

    def slope_error(self, frequencies: Floats | None = None) -> float:
        """Return the standard error over texts of the slope of the excess over the frequencies; NaN without errors."""
        more, drawn = self._excess_draws(frequencies)
        return float(spread_of_draws(fit_slopes(drawn, more)[:, None], self.texts)[0])

    def _excess_draws(self, frequencies: Floats | None) -> tuple[Floats, Floats]:
        """Return the excess and the frequencies for each weighting of the texts, (draws, 26) each."""
        drawn = self.wrong.whole_draws / np.maximum(self.wrong.whole_draws.sum(1, keepdims=True), 1e-9)
        if frequencies is not None:
            drawn = np.broadcast_to(frequencies, drawn.shape)
        return excess(self.wrong.ratio_draws, drawn), drawn


def measure(ctx: RunContext) -> Measured:
    """Read all texts of a context, keeping only sums."""
    confusion = np.zeros((N_LETTERS, OTHER + 1), dtype=np.int64)
    wrong = RatioBootstrap(ctx.rng, N_LETTERS)
    plain = np.arange(N_LETTERS)
    texts = 0
    for found in answers(ctx):
        counts, claims = found.counts, found.claims
        np.add.at(confusion, (np.broadcast_to(plain, claims.shape), claims), counts)
        wrong.add(counts * (claims != plain), counts)
        texts += len(counts)
    return Measured(ctx.checkpoint, texts, confusion, wrong)
