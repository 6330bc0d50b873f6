"""Claims about generalization as tests: a statistic with its interval over seeds against a stated threshold."""

import math
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np

from alice.plugins.builtin.generalization.account import (
    BOTH,
    CARRIED,
    GENERAL_ALONE,
    POOL_ALONE,
    Account,
    Statistic,
    explained,
    explained_at_most,
    over_seeds,
    prediction_factor,
    threshold,
)
from alice.statistics import Floats

Outcome = Literal["holds", "does not hold", "not decidable"]
LEVEL = 0.95
"""Coverage that the intervals aim at."""
MEMORISED = 0.5
"""By how much the accuracy on letters must be higher under keys of the pool where they are memorised."""
GENERALISED = 0.9
"""Share of the accuracy on letters that must carry over to new keys where a model generalises."""
EXPLAINED = 0.9
"""Share of the KL divergence that the mixtures must explain."""
DECAYED = 0.02
"""By how much the accuracy on new keys must rise, and fall again."""
FACTOR = 1.5
"""By what factor the predicted threshold may miss the measured one."""
LAST = 3
"""Measurements at the end of a training whose mean is its last accuracy."""


@dataclass(frozen=True)
class Claim:
    """One test of a claim."""

    name: str
    """Stable name."""
    text: str
    """What is claimed."""
    statistic: str
    """What is compared with the threshold."""
    outcome: Outcome
    value: float
    low: float
    """Lower end of the interval over seeds; NaN if it is not known."""
    high: float
    threshold: float
    """NaN if the claim names two limits, which its text has."""
    side: Literal["above", "below", "within"]
    """The side of the threshold on which the claim holds."""


@dataclass(frozen=True)
class Control:
    """What another mixture explains, to compare a claim with."""

    name: str
    """Stable name."""
    text: str
    """What the mixture has."""
    value: float
    low: float
    """Lower end of the interval over seeds; NaN if it is not known."""
    high: float


def check_claims(account: Account, rng: np.random.Generator) -> list[Claim]:
    """Test every claim."""
    if not len(account.sizes):
        return []
    few, many = "few keys are memorised", "many keys generalise"
    references = "a mixture of the two references explains the network"
    held_out = "share of the KL divergence explained on held-out pools and steps"
    smallest, largest = (f"{size:,.0f} keys" for size in account.sizes[[0, -1]])
    seeds = partial(over_seeds, account, rng=rng, level=LEVEL)
    return [
        judge("memorised", few, f"{smallest}: accuracy on letters, keys of the pool minus new keys", seeds(_gap),
              MEMORISED),
        judge("generalised", many, f"{largest}: accuracy on new keys over that on keys of the pool", seeds(_carried),
              GENERALISED),
        _bracketed(account, seeds(threshold)),
        judge("mixture", references, held_out, seeds(partial(explained, ignorance=False)), EXPLAINED),
        judge("mixture-and-ignorance", f"{references}, with a share of ignorance", f"{held_out}, with ignorance",
              seeds(partial(explained, ignorance=True)), EXPLAINED),
        _rise_and_decay(account, rng),
        judge("predicted", "small pools alone predict the threshold",
              "factor between predicted and measured threshold", seeds(prediction_factor), FACTOR, side="below"),
    ]  # fmt: skip


def mixture_controls(account: Account, rng: np.random.Generator) -> list[Control]:
    """Return what mixtures with one reference explain on held-out cells, and what both explain if fitted to each cell.

    Two references should explain more than either. What both leave unexplained even where their weights are fitted is
    not due to the choice of weights.
    """
    if not len(account.sizes):
        return []
    mixtures: list[tuple[str, str, Statistic]] = [
        ("both", "both references and ignorance", partial(explained, ignorance=True, weights=BOTH)),
        ("pool", "pool reference and ignorance", partial(explained, ignorance=True, weights=POOL_ALONE)),
        ("general", "general reference and ignorance", partial(explained, ignorance=True, weights=GENERAL_ALONE)),
        ("fitted", "both and ignorance, fitted to each cell", explained_at_most),
    ]
    return [
        Control(name, text, *map(float, over_seeds(account, statistic, rng, LEVEL)))
        for name, text, statistic in mixtures
    ]


def judge(
    name: str,
    text: str,
    statistic: str,
    found: Floats,
    limit: float,
    *,
    side: Literal["above", "below"] = "above",
) -> Claim:
    """Compare a statistic with its interval, (3,), with a threshold."""
    value, low, high = map(float, found)
    outcome: Outcome = "not decidable"
    if low > limit:
        outcome = "holds" if side == "above" else "does not hold"
    elif high < limit:
        outcome = "does not hold" if side == "above" else "holds"
    return Claim(name, text, statistic, outcome, value, low, high, limit, side)


def _gap(account: Account) -> float:
    return float((account.letters_pool - account.letters_new)[0, :, -1].mean())


def _carried(account: Account) -> float:
    return float(account.carried[len(account.sizes) - 1, :, -1].mean())


def _bracketed(account: Account, found: Floats) -> Claim:
    """Test that the threshold lies within the pools that were trained: above the smallest, below the largest."""
    value, low, high = map(float, found)
    first, last = account.sizes[[0, -1]]
    outcome: Outcome = "not decidable"
    if first < low and high < last:
        outcome = "holds"
    elif high <= first or low >= last:
        outcome = "does not hold"
    statistic = f"pool from which on {100 * CARRIED:.0f} % of the accuracy carries over to new keys"
    text = f"the threshold lies between {first:,.0f} and {last:,.0f} keys"
    return Claim("threshold", text, statistic, outcome, value, low, high, math.nan, "within")


def _rise_and_decay(account: Account, rng: np.random.Generator) -> Claim:
    """Test that accuracy on new keys rises and decays in at least one pool, at a level that allows for their number."""
    level = 1 - (1 - LEVEL) / len(account.sizes)
    found = [over_seeds(account, rise_and_decay(account, place), rng, level) for place in range(len(account.sizes))]
    ends = np.array([[-math.inf if math.isnan(one[0]) else one[0], *one[1:]] for one in found])
    most = int(ends[:, 0].argmax())
    text = "accuracy on new keys rises and decays in at least one pool"
    statistic = f"the smaller of rise and decay, pool of {account.sizes[most]:,.0f} keys"
    claim = judge("decay", text, statistic, found[most], DECAYED)
    surely_not = bool((ends[:, 2] < DECAYED).all())  # also false where an end is NaN
    if claim.outcome == "does not hold" and not surely_not:
        return judge("decay", text, statistic, np.array([found[most][0], math.nan, math.nan]), DECAYED)
    return claim


def rise_and_decay(account: Account, place: int) -> Statistic:
    """Return the statistic of a pool: the smaller of what its accuracy on new keys gains and loses, a mean over seeds.

    The peak of a seed is where the mean of the other seeds is highest, so that noise alone makes no peak.
    """
    curves = account.curves[place]
    steps = sorted(set.intersection(*(set(curve.steps.tolist()) for curve in curves)))
    values = np.array([1 - curve.values[np.searchsorted(curve.steps, steps)] for curve in curves])  # (seed, step)
    if len(steps) <= LAST or len(values) < 2:
        return lambda chosen: math.nan
    others = (values.sum(0) - values) / (len(values) - 1)
    peaks = np.take_along_axis(values, others.argmax(1)[:, None], axis=1)[:, 0]
    changes = dict(
        zip(account.seeds, np.stack([peaks - values[:, 0], peaks - values[:, -LAST:].mean(1)], 1), strict=True)
    )
    return lambda chosen: float(np.mean([changes[seed] for seed in chosen.seeds], axis=0).min())
