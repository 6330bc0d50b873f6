"""Whether another seed finds the same features."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import permutations

import numpy as np

from alice.statistics import Floats

SAME = 0.9
"""Cosine from which two features count as the same."""


@dataclass(frozen=True, eq=False)
class Stability:
    """How far the features of different seeds agree; means are over all ordered pairs of seeds, (layer,) each."""

    cosine: Floats
    """Mean over living features of the largest cosine with a living feature of the other seed; NaN without any."""
    found: Floats
    """Share of living features that have one of the other seed with a cosine of at least SAME."""
    nearest: tuple[Floats, ...]
    """For each living feature of the first seed the largest cosine with a feature of another seed, the smallest of the
    other seeds', (feature,) for each layer; 0 if another seed has none."""
    random: Floats
    """The same mean for as many random directions with the covariance of the features, instead of the features."""


def stability(directions: Sequence[Sequence[Floats]], rng: np.random.Generator) -> Stability | None:
    """Compare the living features of several seeds, by seed and layer: unit vectors (feature, d_model).

    Returns None if there is only one.
    """
    if len(directions) < 2:
        return None
    layers = range(len(directions[0]))
    pairs = [
        [_agreement(one[layer], other[layer], rng) for layer in layers] for one, other in permutations(directions, 2)
    ]
    cosine, found, random = np.mean(pairs, axis=0).T
    first, *others = directions
    nearest = tuple(
        np.min([(first[layer] @ other[layer].T).max(1, initial=0) for other in others], axis=0) for layer in layers
    )
    return Stability(cosine, found, nearest, random)


def _agreement(one: Floats, other: Floats, rng: np.random.Generator) -> tuple[float, float, float]:
    """Return mean largest cosine, share of features found again, and mean largest cosine of random directions."""
    if not len(one) or not len(other):
        return np.nan, np.nan, np.nan
    drawn = rng.standard_normal((len(one), len(one))) @ one  # the covariance of the features, if not their directions
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    largest, chance = ((vectors @ other.T).max(1) for vectors in (one, drawn))
    return float(largest.mean()), float((largest >= SAME).mean()), float(chance.mean())
