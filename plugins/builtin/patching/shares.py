"""Scores after patches as shares of the way to the other run, with intervals, and functions of these shares."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alice.causal import Into, recovered
from alice.plugins.builtin.patching.depth import HALF, NEARLY_ALL, Depth, crossing, first_layer
from alice.plugins.builtin.patching.measure import Map
from alice.statistics import Floats, ratio

ENDS = [2.5, 97.5]
"""Percentiles at the ends of an interval."""


@dataclass(frozen=True, eq=False)
class Shares:
    """Percent of the way from the patched run to the other, any shape."""

    value: Floats
    """The share over all texts."""
    draws: Floats
    """The share under each weighting of the texts, (draw, ...)."""

    @property
    def ends(self) -> Floats:
        """Lower and upper end of the 95 % interval, (2, ...)."""
        found: Floats = np.percentile(self.draws, ENDS, axis=0)
        return found

    @property
    def cells(self) -> Floats:
        """Value, lower and upper end, (3, ...)."""
        return np.concatenate([self.value[None], self.ends])


def shares_of(
    columns: Sequence[Floats], clean: Floats, corrupted: Floats, into: Into, rng: np.random.Generator
) -> list[Shares]:
    """Return scores as shares; all columns, (text, ...) each, have the same weightings of the texts."""
    if not len(clean):
        nothing = [np.full((1, *column.shape[1:]), np.nan) for column in columns]
        return [Shares(blank[0], blank) for blank in nothing]
    flat = [column.reshape(len(column), -1) for column in columns]
    found = recovered(np.concatenate(flat, axis=1), clean, corrupted, rng)
    sign, offset = (1, 0) if into == "corrupted" else (-1, 1)
    value, draws = 100 * (offset + sign * found.share), 100 * (offset + sign * found.draws)
    if len(clean) < 2:
        draws = np.full_like(draws, np.nan)
    stops = np.cumsum([part.shape[1] for part in flat])
    return [
        Shares(one.reshape(column.shape[1:]), many.reshape(-1, *column.shape[1:]))
        for column, one, many in zip(columns, np.split(value, stops), np.split(draws, stops, axis=1), strict=False)
    ]


@dataclass(frozen=True, eq=False)
class MapShares:
    """The shares of a `Map`."""

    found: Map
    stream: Shares
    """(layer, place)."""
    parts: Shares
    """(part,)."""
    attention: Shares
    """(block,)."""
    stream_estimates: Shares
    """(layer, place)."""
    part_estimates: Shares
    """(part,)."""

    @classmethod
    def of(cls, found: Map, rng: np.random.Generator) -> "MapShares":
        """Return the shares of a map."""
        columns = (found.stream, found.parts, found.attention, found.stream_estimates, found.part_estimates)
        return cls(found, *shares_of(columns, found.clean, found.corrupted, found.into, rng))

    def correlation(self, what: str) -> Floats:
        """Return how well attribution agrees with exact patches over `parts` or `stream`, and its interval, (3,)."""
        exact, estimate = (self.parts, self.part_estimates) if what == "parts" else (self.stream, self.stream_estimates)
        drawn = _pearson(
            *(np.concatenate([one.value[None], one.draws]).reshape(1 + len(one.draws), -1) for one in (exact, estimate))
        )
        return np.array([drawn[0], *np.percentile(drawn[1:], ENDS)])


@dataclass(frozen=True, eq=False)
class DepthShares:
    """The shares of a `Depth`, and the depth itself."""

    found: Depth
    moved: Shares
    """With the stream of each layer patched, (layer,)."""
    wrong: Shares
    """With shifts in a wrong direction, over the texts that have one, (layer,)."""
    beyond: Shares
    """The difference of the two over these texts, paired, (layer,)."""
    plain: Shares
    """With each layer patched, by the log-probability of the original answers alone, (layer,)."""

    @classmethod
    def of(cls, found: Depth, rng: np.random.Generator) -> "DepthShares":
        """Return the shares of a depth."""
        (moved,) = shares_of([found.scores], found.clean, found.corrupted, found.into, rng)
        there = ~np.isnan(found.wrong[:, 0])
        both = [found.scores[there], found.wrong[there]]
        right, wrong = shares_of(both, found.clean[there], found.corrupted[there], found.into, rng)
        clean, corrupted = found.log_probabilities.T[:2]
        (plain,) = shares_of([found.log_probabilities[:, 2:]], clean, corrupted, found.into, rng)
        beyond = Shares(right.value - wrong.value, right.draws - wrong.draws)
        return cls(found, moved, wrong, beyond, plain)

    @property
    def depth(self) -> Floats:
        """The layer at which half of the way is reached, and its interval, (3,); NaN if it is never reached."""
        return _with_ends(crossing(self.moved.value[None], 100 * HALF), crossing(self.moved.draws, 100 * HALF))

    @property
    def complete(self) -> Floats:
        """The first layer at which nearly all of the way is reached, and its interval, (3,)."""
        level = 100 * NEARLY_ALL
        return _with_ends(first_layer(self.moved.value[None], level), first_layer(self.moved.draws, level))


def _with_ends(value: Floats, draws: Floats) -> Floats:
    return np.array([value[0], *np.percentile(draws, ENDS)])


def _pearson(one: Floats, other: Floats) -> Floats:
    """Return the correlation of two arrays row by row, (row, value) -> (row,); NaN where one is constant."""
    one, other = one - one.mean(1, keepdims=True), other - other.mean(1, keepdims=True)
    scale = np.linalg.norm(one, axis=1) * np.linalg.norm(other, axis=1)
    return ratio((one * other).sum(1), scale)
