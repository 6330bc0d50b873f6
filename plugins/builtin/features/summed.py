"""The measured numbers summed over texts: shares with their intervals, by layer and over all layers."""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import numpy as np

from alice.causal import recovered
from alice.plugins.builtin.features.measure import Measured
from alice.plugins.builtin.features.reconstruction import Reconstruction
from alice.statistics import Floats, Ints, PairedBootstrap

COVERED = 0.5
"""F1 from which a concept counts as named."""
FEWEST = 10
"""Held-out characters that a concept must have to be counted."""
ENDS = (0.025, 0.975)
"""Ends of a 95 % interval."""


@dataclass(frozen=True, eq=False)
class Shares:
    """Shares with 95 % intervals; all arrays (column,), or numbers."""

    share: Floats
    low: Floats
    high: Floats
    draws: Floats
    """The shares under each weighting of the texts, (draw, column)."""

    @classmethod
    def of(cls, share: Floats, draws: Floats) -> Self:
        """Take the interval from the draws."""
        low, high = np.quantile(draws, ENDS, axis=0)
        return cls(share, low, high, draws)

    @property
    def halves(self) -> Floats:
        """Lengths of the interval below and above the share, (2, column)."""
        return np.stack([self.share - self.low, self.high - self.share])

    @property
    def mean(self) -> "Shares":
        """The mean over columns, with an interval of its own."""
        return Shares.of(self.share.mean(), self.draws.mean(1))

    def at(self, column: int) -> tuple[float, float, float]:
        """Return share, lower and upper end of one column."""
        return float(self.share[column]), float(self.low[column]), float(self.high[column])


@dataclass(frozen=True, eq=False)
class Summed:
    """What was measured, summed over texts."""

    found: Measured
    """By text."""
    recovered: Shares
    """Loss recovered at each layer, a fraction."""
    explained: Shares
    """Explained variance of each layer, a fraction."""
    active: PairedBootstrap
    """Active features per character of each layer."""

    @classmethod
    def of(cls, found: Measured, rng: np.random.Generator) -> Self:
        """Sum over texts; all layers share the weightings of the texts."""
        part, state = found.reconstruction, int(rng.integers(2**31))
        layers = range(part.replaced.shape[1])
        losses = [(-part.replaced[:, layer], -part.clean, -part.ablated[:, layer]) for layer in layers]
        rests = [(-part.unexplained[:, layer], np.zeros_like(part.clean), -part.variance[:, layer]) for layer in layers]
        return cls(found, _shares(losses, state), _shares(rests, state), PairedBootstrap(part.active, rng))

    @property
    def losses(self) -> Reconstruction:
        """The losses by text."""
        return self.found.reconstruction

    @cached_property
    def usual(self) -> list[int]:
        """Numbers of the concepts with enough held-out characters."""
        return np.flatnonzero(self.found.naming.members >= FEWEST).tolist()

    def of_kind(self, kind: str) -> list[int]:
        """Return the numbers of the usual concepts of a kind."""
        return [number for number in self.usual if self.found.naming.concepts[number].kind == kind]

    @property
    def always(self) -> Floats:
        """F1 of answering yes to every character, for each concept, (concept,)."""
        naming = self.found.naming
        return 2 * naming.members / (naming.members + naming.characters)

    @cached_property
    def best_layer(self) -> Ints:
        """The layer whose best feature has the highest F1 on training texts, (concept,)."""
        return self.found.naming.best.f1.argmax(0)

    @property
    def coverage(self) -> Shares:
        """Share of the concepts that the features of each layer name."""
        return self._coverage(self.found.naming.f1, self.found.naming.f1_draws)

    @property
    def probe_coverage(self) -> Shares:
        """Share of the concepts that the linear probes of each layer name."""
        return self._coverage(self.found.naming.probe_f1, self.found.naming.probe_draws)

    @property
    def covered(self) -> Shares:
        """Share of the concepts that features name in their best layer."""
        return self._covered(self.found.naming.f1, self.found.naming.f1_draws)

    @property
    def probe_covered(self) -> Shares:
        """Share of the concepts that linear probes name in the same layers."""
        return self._covered(self.found.naming.probe_f1, self.found.naming.probe_draws)

    def f1_interval(self, layer: int, concept: int) -> Floats:
        """Return the ends of the interval of the best feature's F1 for a concept, (2,)."""
        return np.quantile(self._known(self.found.naming.f1_draws[:, layer, concept]), ENDS)

    def _coverage(self, f1: Floats, draws: Floats) -> Shares:
        share, drawn = ((part[..., self.usual] >= COVERED).mean(-1) for part in (f1, draws))
        return Shares.of(share, self._known(drawn))

    def _covered(self, f1: Floats, draws: Floats) -> Shares:
        layers = self.best_layer[self.usual]
        share, drawn = ((part[..., layers, self.usual] >= COVERED).mean(-1) for part in (f1, draws))
        return Shares.of(share, self._known(drawn))

    def _known(self, draws: Floats) -> Floats:
        """Return the draws, or NaN for a single text, which has no spread."""
        return draws if len(self.losses.clean) > 1 else np.full_like(draws, np.nan)


def _shares(columns: list[tuple[Floats, Floats, Floats]], state: int) -> Shares:
    """Return how far scores lie between those of two other runs, for each column of (score, clean, corrupted)."""
    parts = [
        recovered(score[:, None], clean, corrupted, np.random.default_rng(state)) for score, clean, corrupted in columns
    ]
    share, low, high = (np.concatenate([getattr(part, name) for part in parts]) for name in ("share", "low", "high"))
    draws = np.concatenate([part.draws for part in parts], axis=1)
    return Shares(share, low, high, np.where(np.isnan(low), np.nan, draws))
