"""Losses of parts and interactions of pairs, with intervals over texts."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from alice.causal import Recovered, recovered
from alice.plugins.builtin.ablation.measure import ROTATED, WAYS, Measured
from alice.statistics import Floats, PairedBootstrap

MAIN = "resample"
"""The replacement that kinds and pairs are judged by: it stays among what the model has seen."""


@dataclass(frozen=True, eq=False)
class Losses:
    """Losses in percent with their intervals, for the whole report."""

    by_part: dict[str, Recovered]
    """Recovered share of the score by way, (part,)."""
    errors: dict[str, tuple[Floats, Floats]]
    """SER added, in percentage points: means (part,) and intervals (part, 2), by way."""
    pairs: Floats
    """Interaction of pairs with its interval, resampled and rotated, (2, 3, pair): value, low, high."""
    beyond: int
    """Parts that cost more than their rotated control, with a paired 95 % interval."""

    @classmethod
    def of(cls, measured: Measured, rng: np.random.Generator) -> "Losses":
        """Compute all losses with the same weightings of the texts, so that they can be subtracted from one another."""
        texts, parts = len(measured.clean), len(measured.parts)
        scores = [measured.without[..., 0].reshape(texts, -1), measured.without_pairs.reshape(texts, -1)]
        found = recovered(np.concatenate(scores, axis=1), measured.clean[:, 0], measured.corrupted[:, 0], rng)
        columns = {way: slice(number * parts, (number + 1) * parts) for number, way in enumerate(WAYS)}
        by_part = {
            way: Recovered(found.share[here], found.low[here], found.high[here], found.draws[:, here])
            for way, here in columns.items()
        }
        added = 100 * (measured.without[..., 1] - measured.clean[:, None, None, 1])
        errors = {}
        for number, way in enumerate(WAYS):
            drawn = PairedBootstrap(added[:, number], rng)
            errors[way] = drawn.mean, drawn.interval()
        both = np.concatenate([found.share[None], found.draws])[:, len(WAYS) * parts :]
        more = by_part[ROTATED].draws - by_part[MAIN].draws
        beyond = int((np.percentile(more, 2.5, axis=0) > 0).sum()) if texts > 1 else 0
        return cls(by_part, errors, _interactions(measured, by_part, both), beyond)

    def loss(self, way: str) -> Floats:
        """Return the loss of each part in percent with its interval, (3, part)."""
        found = self.by_part[way]
        return 100 * (1 - np.stack([found.share, found.high, found.low]))


def _interactions(measured: Measured, by_part: Mapping[str, Recovered], both: Floats) -> Floats:
    """Return what pairs cost beyond the sum of their single losses, in percent, with intervals, (2, 3, pair).

    `both` are the shares without both heads, resampled then rotated, (1 + draw, 2 * pair), all texts first.
    """
    pairs = len(measured.pairs)
    first, second = np.array(measured.pairs, dtype=np.int64).reshape(-1, 2).T
    found = []
    for way, together in zip((MAIN, ROTATED), (both[:, :pairs], both[:, pairs:]), strict=True):
        alone = np.concatenate([by_part[way].share[None], by_part[way].draws])
        extra = 100 * (alone[:, first] + alone[:, second] - together - 1)
        ends = np.percentile(extra[1:], [2.5, 97.5], axis=0)
        found.append(np.concatenate([extra[:1], ends if len(measured.clean) > 1 else np.full((2, pairs), np.nan)]))
    return np.stack(found)
