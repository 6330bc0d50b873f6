"""What was measured with one model, as means over texts with their intervals."""

from dataclasses import dataclass

import numpy as np

from alice.causal import Recovered, recovered
from alice.plugins.builtin.evidence.attribution import FRACTIONS
from alice.plugins.builtin.evidence.measure import ORDERS, Measured
from alice.statistics import PairedBootstrap


@dataclass(frozen=True, eq=False)
class Summed:
    """The numbers of one model over texts, with intervals."""

    found: Measured
    """The numbers of each text."""
    shares: PairedBootstrap
    """In percent; columns are places of the model, of even evidence and of random weights, one after the other."""
    nats: PairedBootstrap
    """Evidence at each kind of place, with its sign."""
    losses: PairedBootstrap
    """Loss without a word with the symbol, and without another."""
    agreement: PairedBootstrap
    """Correlation of evidence and loss over words."""
    curves: Recovered
    """Columns are order by fraction."""

    @classmethod
    def of(cls, found: Measured, rng: np.random.Generator) -> "Summed":
        """Weight the texts at random; what is compared shares its weights."""
        numbers = found.numbers
        shares = 100 * np.concatenate([numbers.shares, numbers.uniform, numbers.untrained], axis=1)
        clean, deleted = numbers.curves[:, 0, 0], numbers.curves[:, 0, -1]
        columns = numbers.curves.reshape(len(clean), -1)
        return cls(
            found,
            PairedBootstrap(shares, rng),
            PairedBootstrap(numbers.nats, rng),
            PairedBootstrap(numbers.losses, rng),
            PairedBootstrap(numbers.agreement[:, None], rng),
            recovered(columns, clean, deleted, rng),
        )

    @property
    def gap(self) -> float:
        """Sum of the errors of completeness over the sum of the differences to be explained, in percent."""
        whole = float(self.found.numbers.difference.sum())
        return 100 * float(self.found.numbers.gap.sum()) / whole if whole else float("nan")

    def area(self, order: str, other: str, *, until: float = 1.0) -> tuple[float, float, float]:
        """Return the area between the curves of two orders, the first above, with its interval, in percent.

        It is the mean over the shares of deleted characters up to `until`.
        """
        over, under = (list(ORDERS).index(name) for name in (order, other))
        shape = (-1, len(ORDERS), len(FRACTIONS))
        shares = np.concatenate([self.curves.share[None], self.curves.draws]).reshape(shape)
        few = [place for place, fraction in enumerate(FRACTIONS) if fraction <= until]
        between = (shares[:, over] - shares[:, under])[:, few]
        areas = 100 / until * np.trapezoid(between, np.array(FRACTIONS)[few], axis=1)
        low, high = np.percentile(areas[1:], [2.5, 97.5]) if len(self.found.numbers.gap) > 1 else (np.nan, np.nan)
        return float(areas[0]), float(low), float(high)
