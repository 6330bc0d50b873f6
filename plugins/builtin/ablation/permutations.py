"""Permutation tests: whether groups of heads, or a statistic of theirs, explain the effects better than chance."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.stats import rankdata

from alice.statistics import Floats, Ints

LEAST = 3
"""Heads without which nothing can be tested."""


@dataclass(frozen=True)
class Explained:
    """How much of the effects a grouping explains, and how often shuffled effects are explained as well."""

    share: float
    """Share of the variance of the ranks of the effects that lies between groups, 0 to 1; NaN if undefined."""
    chance: float
    """Mean of that share over permutations; more groups explain more by chance."""
    p: float
    """Share of the permutations over all heads that reach it, the observed order included."""
    p_within: float
    """The same for permutations within blocks, which leave the effect of depth as it is."""


@dataclass(frozen=True)
class Correlation:
    """Rank correlation of the effects with a statistic of the heads."""

    rho: float
    """Spearman's coefficient; NaN if one of the two is constant."""
    p: float
    """Share of the permutations in which any of the statistics correlates as strongly, the observed order included."""


def explained_by(
    effects: Floats, groups: Sequence[object], blocks: Ints, rng: np.random.Generator, *, permutations: int
) -> Explained:
    """Test whether groups of heads have different effects, (head,) each; heads are in the order of their blocks.

    Ranks keep one very large effect from deciding everything; the statistic is that of Kruskal and Wallis.
    """
    names = sorted({str(group) for group in groups})
    member = np.array([[str(group) == name for group in groups] for name in names], dtype=float)
    ranks = rankdata(effects)
    if len(effects) < LEAST or len(names) < 2 or np.ptp(ranks) == 0:
        return Explained(np.nan, np.nan, np.nan, np.nan)
    observed = _between(ranks[None], member)[0]
    free = _between(ranks[_orders(rng, np.zeros_like(blocks), permutations)], member)
    within = _between(ranks[_orders(rng, blocks, permutations)], member)
    return Explained(float(observed), float(free.mean()), _p_value(observed, free), _p_value(observed, within))


def correlations(
    effects: Floats, statistics: Floats, rng: np.random.Generator, *, permutations: int
) -> list[Correlation]:
    """Correlate effects, (head,), with every statistic, (head, statistic), corrected for their number."""
    ranks, others = _standard(rankdata(effects)[None])[0], _standard(rankdata(statistics, axis=0).T)
    observed = others @ ranks  # (statistic,)
    if len(effects) < LEAST or not ranks.any():
        return [Correlation(np.nan, np.nan)] * len(observed)
    orders = _orders(rng, np.zeros(len(effects), dtype=np.int64), permutations)
    largest = np.abs(ranks[orders] @ others.T).max(1)  # (permutation,)
    return [
        Correlation(float(rho), _p_value(abs(rho), largest)) if row.any() else Correlation(np.nan, np.nan)
        for rho, row in zip(observed, others, strict=True)
    ]


def _orders(rng: np.random.Generator, blocks: Ints, count: int) -> Ints:
    """Return random orders of the heads, (count, head), that keep each block where it is."""
    return np.argsort(rng.random((count, len(blocks))) + blocks, axis=1)


def _between(ranks: Floats, member: Floats) -> Floats:
    """Return the share of the variance between groups; ranks are (permutation, head), members (group, head)."""
    centred = ranks - ranks.mean(1, keepdims=True)
    sums = centred @ member.T  # (permutation, group)
    shares: Floats = (sums**2 / member.sum(1)).sum(1) / (centred**2).sum(1)
    return shares


def _standard(values: Floats) -> Floats:
    """Scale rows to mean 0 and length 1; constant ones become 0."""
    centred = values - values.mean(1, keepdims=True)
    length = np.linalg.norm(centred, axis=1, keepdims=True)
    return np.divide(centred, length, out=np.zeros_like(centred), where=length > 0)


def _p_value(observed: float, drawn: Floats) -> float:
    """Return the share of draws at least as large; rounding must not tell equal values apart."""
    return float((1 + (drawn >= observed - 1e-9).sum()) / (1 + len(drawn)))
