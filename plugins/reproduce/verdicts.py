"""Whether a claim holds: a statistic with a 95 % interval against a threshold that was set beforehand.

It holds if the whole interval lies on the claim's side of the threshold, it does not if the whole interval lies on the
other side, and otherwise these data do not decide.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.stats import binomtest
from scipy.stats import t as student

from alice.statistics import Floats

Outcome = Literal["holds", "does not hold", "undecided"]
Side = Literal["above", "below"]
LEVEL = 0.95
"""Coverage of every interval."""
ALWAYS = 0.99
"""A share that is meant to be 1 must be shown to be above this: no number of texts shows that there is no exception."""
FEWEST = 30
"""Texts below which a mean over them decides nothing: few error rates are not normal, nor is their spread known."""


@dataclass(frozen=True)
class Verdict:
    """What a test found."""

    outcome: Outcome
    value: float
    """The statistic."""
    low: float
    """Lower end of its interval; NaN if the data are too few for one."""
    high: float
    """Upper end."""
    threshold: float
    """What it is compared with."""
    side: Side
    """On which side of the threshold the claim wants it."""


def judge(value: float, low: float, high: float, *, threshold: float = 0.0, side: Side = "above") -> Verdict:
    """Compare an interval with a threshold."""
    outcome: Outcome = "undecided"  # also if the interval is not known
    if low > threshold:
        outcome = "holds" if side == "above" else "does not hold"
    elif high < threshold:
        outcome = "does not hold" if side == "above" else "holds"
    return Verdict(outcome, float(value), float(low), float(high), threshold, side)


def judge_draws(value: float, draws: Floats, *, texts: int, threshold: float = 0.0, side: Side = "above") -> Verdict:
    """Judge a statistic by what it is under reweightings of so many texts, (draw,): about normal, with their spread."""
    return judge_error(value, _spread(draws, texts), freedom=texts - 1, threshold=threshold, side=side)


def judge_smallest(values: Floats, draws: Floats, *, texts: int, threshold: float = 0.0) -> Verdict:
    """Judge whether all of some statistics, (k,), are above a threshold, from their draws over texts, (draw, k).

    The intervals of all of them are widened (Bonferroni) until they hold together; then the smallest true value lies
    between the smallest lower end and the smallest upper end.
    """
    margins = _quantile(texts - 1, len(values)) * np.array([_spread(column, texts) for column in draws.T])
    return judge(values.min(), (values - margins).min(), (values + margins).min(), threshold=threshold)


def judge_mean(values: Floats, *, fewest: int = FEWEST, side: Side = "above") -> Verdict:
    """Judge whether a mean, (value,), is above or below zero, by Student's t; fewer values than that decide nothing."""
    count = len(values)
    mean = float(values.mean()) if count else math.nan
    error = float(values.std(ddof=1)) / math.sqrt(count) if count >= max(2, fewest) else math.nan
    return judge_error(mean, error, freedom=count - 1, side=side)


def judge_error(
    value: float, error: float, *, freedom: float = math.inf, threshold: float = 0.0, side: Side = "above"
) -> Verdict:
    """Judge a statistic by its standard error, which is known from so many degrees of freedom."""
    margin = _quantile(freedom) * error
    return judge(value, value - margin, value + margin, threshold=threshold, side=side)


def judge_share(cases: int, texts: int, *, threshold: float) -> Verdict:
    """Judge whether something is so in more than a share of all texts."""
    low, high = _exact(cases, texts)
    return judge(cases / texts if texts else math.nan, low, high, threshold=threshold)


def judge_always(exceptions: int, texts: int) -> Verdict:
    """Judge whether something is so in all texts: one exception refutes it, and enough texts without any support it."""
    found = judge_share(texts - exceptions, texts, threshold=ALWAYS)
    return replace(found, outcome="does not hold") if exceptions else found


def judge_sometimes(cases: int, texts: int) -> Verdict:
    """Judge whether something happens at all.

    It is never found not to hold: no number of texts without a case shows that there is none.
    """
    return judge_share(cases, texts, threshold=0.0)


def combine(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of a claim with several tests: it holds if all do, and fails with any."""
    found = list(outcomes)
    if "does not hold" in found:
        return "does not hold"
    return "holds" if found and all(outcome == "holds" for outcome in found) else "undecided"


def _quantile(freedom: float, tests: int = 1) -> float:
    """Return how many standard errors an interval reaches to each side, if so many must hold together."""
    return float(student.ppf(1 - (1 - LEVEL) / (2 * tests), freedom))


def _spread(draws: Floats, texts: int) -> float:
    """Return the standard error over so many texts from Bayesian reweightings of them, (draw,).

    Those spread less than a mean of new texts would, by the variance's factor (texts - 1) / (texts + 1).
    """
    if len(draws) < 2 or texts < FEWEST:
        return math.nan
    return float(draws.std(ddof=1)) * math.sqrt((texts + 1) / (texts - 1))


def _exact(cases: int, texts: int) -> tuple[float, float]:
    """Return the exact interval of a share (Clopper and Pearson 1934)."""
    if not texts:
        return math.nan, math.nan
    found = binomtest(cases, texts).proportion_ci(LEVEL, method="exact")
    return float(found.low), float(found.high)
