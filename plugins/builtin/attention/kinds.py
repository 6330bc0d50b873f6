"""Clusters attention heads into kinds by their statistics, and names each kind after what sets it apart."""

from collections import Counter
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from alice.plugins.builtin.attention.statistics import SHARES, STATISTICS
from alice.statistics import Floats

MOST_KINDS = 6
NEARLY_BEST = 0.05
"""The finest clustering is chosen whose silhouette is within this of the best."""
OUTSTANDING = 0.1
"""Share of the attention by which a kind must exceed uniform attention to be named after that share."""
BROAD = 2.0
"""A kind without an outstanding share is broad if its entropy is within this many bits of uniform attention."""
NEAR = 0.5
"""It is near if its mean distance is below this fraction of that of uniform attention."""
CONSTANT = 1e-6
"""A statistic that varies less than this between heads is ignored."""


@dataclass(frozen=True)
class Kind:
    """Heads with similar statistics."""

    name: str
    """The share of attention that exceeds uniform attention most, or `broad`, `near` or `elsewhere`.

    Kinds that would get the same name also carry the next share, or a number.
    """
    heads: tuple[int, ...]
    """Numbers of the heads, the most pronounced first."""
    representative: int
    """The head nearest to the centre of the kind."""


def find_kinds(values: Floats, uniform: Floats) -> tuple[list[Kind], float]:
    """Cluster heads by their statistics, the kinds with most heads first; return also the silhouette, NaN for one kind.

    `values` are (head, statistic) and `uniform` (statistic,), in the order of `STATISTICS`; every statistic has the
    same weight. Of two to six kinds, the largest number is chosen whose silhouette is nearly the best. Fewer than three
    heads, or identical heads, form one kind.
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
    clusterings = [AgglomerativeClustering(count).fit_predict(scaled) for count in counts]
    if not clusterings:
        return np.zeros(len(scaled), dtype=np.int64), float("nan")
    silhouettes = [float(silhouette_score(scaled, labels)) for labels in clusterings]
    finest = max(place for place, found in enumerate(silhouettes) if found >= max(silhouettes) - NEARLY_BEST)
    return clusterings[finest], silhouettes[finest]


def _describe(heads: NDArray[np.int64], values: Floats, uniform: Floats, scaled: Floats) -> Kind:
    excess = values[heads].mean(0) - uniform
    statistic = STATISTICS.index(SHARES[int(np.argmax(excess[-len(SHARES) :]))])
    name = STATISTICS[statistic]
    if excess[statistic] < OUTSTANDING:
        name, statistic = _nameless(excess, uniform)
    # Broad heads come in order of falling entropy, near ones of rising distance, the others of rising entropy.
    sign = 1 if name in ("near", "elsewhere") else -1
    ordered = heads[np.argsort(sign * values[heads, statistic], kind="stable")]
    centre = scaled[heads].mean(0)
    nearest = heads[np.argmin(np.linalg.norm(scaled[heads] - centre, axis=1).round(9))]
    return Kind(name, tuple(ordered.tolist()), int(nearest))


def _nameless(excess: Floats, uniform: Floats) -> tuple[str, int]:
    """Return the name of a kind without an outstanding share, and the statistic that orders its heads."""
    entropy, distance = STATISTICS.index("entropy"), STATISTICS.index("distance")
    if excess[entropy] > -BROAD:
        return "broad", entropy
    return ("near", distance) if excess[distance] < (NEAR - 1) * uniform[distance] else ("elsewhere", entropy)


def _tell_apart(kinds: list[Kind], values: Floats, uniform: Floats) -> list[Kind]:
    """Extend equal names by the share that exceeds uniform attention second most, if it is outstanding."""
    totals = Counter(kind.name for kind in kinds)
    renamed = []
    for kind in kinds:
        excess = (values[list(kind.heads)].mean(0) - uniform)[-len(SHARES) :]
        second = int(np.argsort(-excess, kind="stable")[1])
        apart = totals[kind.name] > 1 and excess[second] >= OUTSTANDING
        renamed.append(replace(kind, name=f"{kind.name} and {SHARES[second]}") if apart else kind)
    return renamed


def _number_twins(kinds: list[Kind]) -> list[Kind]:
    """Number the kinds whose names are still equal."""
    totals, seen = Counter(kind.name for kind in kinds), Counter[str]()
    numbered = []
    for kind in kinds:
        seen[kind.name] += 1
        twin = totals[kind.name] > 1
        numbered.append(replace(kind, name=f"{kind.name} {seen[kind.name]}") if twin else kind)
    return numbered
