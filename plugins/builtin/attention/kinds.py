"""Sorts attention heads into kinds by their statistics, and names each kind by what sets it apart from uniform."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from alice.plugins.builtin.attention.statistics import SHARES, STATISTICS
from alice.statistics import Floats

MOST_KINDS = 6
NEARLY_BEST = 0.05
"""A finer sorting into kinds is taken as long as its silhouette is within this of the best."""
OUTSTANDING = 0.1
"""Share of the attention by which a kind must exceed uniform attention to be named after it."""
BROAD = 2.0
"""A kind that is named after nothing is broad if its entropy is within so many bits of uniform attention."""
NEAR = 0.5
"""It is near if it looks less far than this part of the mean distance of uniform attention."""
CONSTANT = 1e-6
"""A statistic that varies less than this between heads says nothing about kinds."""


@dataclass(frozen=True)
class Kind:
    """Heads that do about the same."""

    name: str
    """The share of attention that exceeds uniform attention most, or `broad`, `near` or `elsewhere`.

    Kinds that would be called alike have the next share in their name, or a number.
    """
    heads: tuple[int, ...]
    """Numbers of the heads, the most pronounced first."""
    representative: int
    """The head nearest to the centre of the kind."""


def find_kinds(values: Floats, uniform: Floats) -> tuple[list[Kind], float]:
    """Cluster heads by their statistics, the kinds with most heads first; return also the silhouette, NaN for one kind.

    `values` are (head, statistic) and `uniform` (statistic,), in the order of `STATISTICS`; every statistic weighs
    alike. Of two to six kinds the largest number is taken whose silhouette is nearly the best. Fewer than three heads,
    or heads that are all alike, are of one kind.
    """
    scaled = _standardise(values)
    labels, silhouette = _cluster(scaled)
    groups = [np.flatnonzero(labels == label) for label in np.unique(labels)]
    groups.sort(key=lambda heads: (-len(heads), heads[0]))
    kinds = [_describe(heads, values, uniform, scaled) for heads in groups]
    return _number_twins(_tell_apart(kinds, values, uniform)), silhouette


def _standardise(values: Floats) -> Floats:
    spread = values.std(0)
    return (values - values.mean(0)) / np.where(spread > CONSTANT, spread, np.inf)


def _cluster(scaled: Floats) -> tuple[NDArray[np.int64], float]:
    from sklearn.cluster import AgglomerativeClustering
    from sklearn.metrics import silhouette_score

    distinct = len(np.unique(scaled.round(9), axis=0))
    counts = range(2, min(MOST_KINDS, distinct, len(scaled) - 1) + 1)
    sortings = [AgglomerativeClustering(count).fit_predict(scaled) for count in counts]
    if not sortings:
        return np.zeros(len(scaled), dtype=np.int64), float("nan")
    silhouettes = [float(silhouette_score(scaled, labels)) for labels in sortings]
    finest = max(place for place, found in enumerate(silhouettes) if found >= max(silhouettes) - NEARLY_BEST)
    return sortings[finest], silhouettes[finest]


def _describe(heads: NDArray[np.int64], values: Floats, uniform: Floats, scaled: Floats) -> Kind:
    excess = values[heads].mean(0) - uniform
    statistic = STATISTICS.index(SHARES[int(np.argmax(excess[-len(SHARES) :]))])
    name = STATISTICS[statistic]
    if excess[statistic] < OUTSTANDING:
        name, statistic = _nameless(excess, uniform)
    # A broad head has much entropy; one that is near or elsewhere is so the more, the less far or wide it looks.
    sign = 1 if name in ("near", "elsewhere") else -1
    ordered = heads[np.argsort(sign * values[heads, statistic], kind="stable")]
    centre = scaled[heads].mean(0)
    nearest = heads[np.argmin(np.linalg.norm(scaled[heads] - centre, axis=1).round(9))]
    return Kind(name, tuple(ordered.tolist()), int(nearest))


def _nameless(excess: Floats, uniform: Floats) -> tuple[str, int]:
    """Name a kind that no share names, and say which statistic shows it."""
    entropy, distance = STATISTICS.index("entropy"), STATISTICS.index("distance")
    if excess[entropy] > -BROAD:
        return "broad", entropy
    return ("near", distance) if excess[distance] < (NEAR - 1) * uniform[distance] else ("elsewhere", entropy)


def _tell_apart(kinds: list[Kind], values: Floats, uniform: Floats) -> list[Kind]:
    """Give kinds of one name a second one after the share that exceeds uniform attention next, if any does."""
    totals = Counter(kind.name for kind in kinds)
    told = []
    for kind in kinds:
        excess = (values[list(kind.heads)].mean(0) - uniform)[-len(SHARES) :]
        second = int(np.argsort(-excess, kind="stable")[1])
        apart = totals[kind.name] > 1 and excess[second] >= OUTSTANDING
        told.append(replace(kind, name=f"{kind.name} and {SHARES[second]}") if apart else kind)
    return told


def _number_twins(kinds: list[Kind]) -> list[Kind]:
    """Tell kinds that still have one name apart by a number."""
    totals, seen = Counter(kind.name for kind in kinds), Counter[str]()
    numbered = []
    for kind in kinds:
        seen[kind.name] += 1
        twin = totals[kind.name] > 1
        numbered.append(replace(kind, name=f"{kind.name} {seen[kind.name]}") if twin else kind)
    return numbered
