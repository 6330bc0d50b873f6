"""Whether a claim holds: a statistic with a 95 % interval against a threshold that was set beforehand.

A claim holds if the whole interval lies on its side of the threshold, it does not hold if the whole interval lies on
the other side, and otherwise the data do not decide.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from scipy.stats import binomtest
from scipy.stats import t as student

from alice.plugins.builtin.letter_frequency.frequencies import excess, fit_line, fit_slopes
from alice.statistics import Floats, PairedBootstrap, spread_of_draws
from alice.text import lewand

Outcome = Literal["holds", "does not hold", "undecided"]
Side = Literal["above", "below"]
LEVEL = 0.95
"""Coverage of every interval."""
ALWAYS = 0.99
"""A share that should be 1 must be shown to exceed this: no number of texts proves that there is no exception."""
FEWEST = 30
"""Minimum number of texts for a t interval."""
EARLY = 0.25
"""Share of the layers that count as early."""
SIGMAS = 3.0
"""Standard errors within which the paper finds the bijective model next to the base model."""
GENERALISES = 0.9
"""Accuracy on unseen keys that counts as generalising, as in the analysis of that name."""


@dataclass(frozen=True)
class Verdict:
    """What a test found."""

    outcome: Outcome
    value: float
    """The statistic."""
    low: float
    """Lower end of its interval; NaN if there are too few data for one."""
    high: float
    """Upper end."""
    threshold: float
    """What it is compared with."""
    side: Side
    """The side of the threshold on which the claim holds."""


def judge(value: float, low: float, high: float, *, threshold: float = 0.0, side: Side = "above") -> Verdict:
    """Compare an interval with a threshold."""
    outcome: Outcome = "undecided"  # also if the interval is not known
    if low > threshold:
        outcome = "holds" if side == "above" else "does not hold"
    elif high < threshold:
        outcome = "does not hold" if side == "above" else "holds"
    return Verdict(outcome, float(value), float(low), float(high), threshold, side)


def judge_draws(value: float, draws: Floats, *, texts: int, threshold: float = 0.0, side: Side = "above") -> Verdict:
    """Judge a statistic by its values under reweightings of `texts` texts, (draw,), taken as normal."""
    return judge_error(value, _spread(draws, texts), freedom=texts - 1, threshold=threshold, side=side)


def judge_smallest(values: Floats, draws: Floats, *, texts: int, threshold: float = 0.0) -> Verdict:
    """Judge whether several statistics, (k,), all exceed a threshold, from their draws over texts, (draw, k).

    Their intervals are Bonferroni-corrected, so that they hold jointly; the smallest true value then lies between the
    smallest lower end and the smallest upper end.
    """
    margins = _quantile(texts - 1, len(values)) * np.array([_spread(column, texts) for column in draws.T])
    return judge(values.min(), (values - margins).min(), (values + margins).min(), threshold=threshold)


def judge_mean(values: Floats, *, fewest: int = FEWEST, side: Side = "above") -> Verdict:
    """Judge whether a mean, (value,), is above or below zero by Student's t; fewer than `fewest` decide nothing."""
    count = len(values)
    mean = float(values.mean()) if count else math.nan
    error = float(values.std(ddof=1)) / math.sqrt(count) if count >= max(2, fewest) else math.nan
    return judge_error(mean, error, freedom=count - 1, side=side)


def judge_error(
    value: float, error: float, *, freedom: float = math.inf, threshold: float = 0.0, side: Side = "above"
) -> Verdict:
    """Judge a statistic by its standard error, which has the given degrees of freedom."""
    margin = _quantile(freedom) * error
    return judge(value, value - margin, value + margin, threshold=threshold, side=side)


def judge_share(cases: int, texts: int, *, threshold: float) -> Verdict:
    """Judge whether something is true of more than a share of all texts."""
    low, high = _exact(cases, texts)
    return judge(cases / texts if texts else math.nan, low, high, threshold=threshold)


def judge_always(exceptions: int, texts: int) -> Verdict:
    """Judge whether something is true of all texts: one exception refutes it, enough texts without one support it."""
    found = judge_share(texts - exceptions, texts, threshold=ALWAYS)
    return replace(found, outcome="does not hold") if exceptions else found


def judge_sometimes(cases: int, texts: int) -> Verdict:
    """Test "at least once"; a sample can support this but not refute it."""
    return judge_share(cases, texts, threshold=0.0)


def combine(outcomes: Iterable[Outcome]) -> Outcome:
    """Return the outcome of a claim with several tests: it holds if all hold, and fails if one fails."""
    found = list(outcomes)
    if "does not hold" in found:
        return "does not hold"
    return "holds" if found and all(outcome == "holds" for outcome in found) else "undecided"


def _quantile(freedom: float, tests: int = 1) -> float:
    """Return the half-width of an interval in standard errors, Bonferroni-corrected for `tests` tests."""
    return float(student.ppf(1 - (1 - LEVEL) / (2 * tests), freedom))


def _spread(draws: Floats, texts: int) -> float:
    """Return the standard error over `texts` texts from Bayesian weightings of them, (draw,); NaN for few texts."""
    if len(draws) < 2 or texts < FEWEST:
        return math.nan
    return float(np.nan_to_num(spread_of_draws(draws[:, None], texts)[0]))  # 0 if all texts are alike


def _exact(cases: int, texts: int) -> tuple[float, float]:
    """Return the exact interval of a share (Clopper and Pearson 1934)."""
    if not texts:
        return math.nan, math.nan
    found = binomtest(cases, texts).proportion_ci(LEVEL, method="exact")
    return float(found.low), float(found.high)


# What a model does with texts.


def error_falls(errors: Floats, rng: np.random.Generator) -> Verdict:
    """Test that every layer lowers the mean error, (text, layer): whether the smallest drop is above zero."""
    return all_exceed(-np.diff(errors, axis=1), 0.0, rng)


def all_exceed(values: Floats, threshold: float, rng: np.random.Generator) -> Verdict:
    """Test that the mean over texts exceeds a threshold in every column, (text, column)."""
    found = PairedBootstrap(values, rng)
    return judge_smallest(found.mean, found.draws, texts=len(values), threshold=threshold)


def early_layer(layers: int) -> int:
    """Return the last early layer of a model with `layers` layers; at least the first."""
    return max(1, math.floor(EARLY * layers))


def short_is_high_early(values: Floats, nulls: Floats, *, texts: int, rng: np.random.Generator) -> Verdict:
    """Test that the early share of 1-gram similarity exceeds that of every null model of the same accuracy.

    Both are given by text, (text, layer, n) and (null, text, layer, n). The early share is the similarity at the last
    early layer over that at the last layer.
    """
    leads = _early_leads(values[..., 0], nulls[..., 0], rng)
    return judge_smallest(leads[0], leads[1:], texts=texts)


def long_is_low_early(values: Floats, nulls: Floats, *, texts: int, rng: np.random.Generator) -> Verdict:
    """Test that the early share of the longest n-grams is below that of every null model: whether all leads are > 0."""
    leads = -_early_leads(values[..., -1], nulls[..., -1], rng)
    return judge_smallest(leads[0], leads[1:], texts=texts)


def long_rises_later(excess: Sequence[tuple[float, float | None, float | None]], *, texts: int) -> Verdict:
    """Test that the layer at which an n gains most rises with n more than in every null model.

    Given are the differences of Spearman's correlations, each with its interval.
    """
    rows = np.array([[math.nan if end is None or texts < FEWEST else end for end in row] for row in excess])
    return judge(min(row[0] for row in excess), rows[:, 1].min(), rows[:, 2].min())


def _early_leads(values: Floats, nulls: Floats, rng: np.random.Generator) -> Floats:
    """Return the early share minus that of each null model, (text, layer), (null, text, layer) -> (1 + draw, null).

    The first row is over all texts, the others are weightings of them.
    """
    early = early_layer(values.shape[-1] - 1)  # layer 0 is the embedding
    columns = np.concatenate([values[None], nulls])[..., [early, -1]].swapaxes(0, 1)  # (text, 1 + null, 2)
    found = PairedBootstrap(columns.reshape(len(columns), -1), rng)
    means = np.concatenate([found.mean[None], found.draws]).reshape(-1, 1 + len(nulls), 2)
    with np.errstate(divide="ignore", invalid="ignore"):
        shares = means[..., 0] / means[..., 1]
    return shares[:, :1] - shares[:, 1:]


def always_higher(ours: Floats, theirs: Floats, *, texts: int, rng: np.random.Generator) -> Verdict:
    """Test that one similarity exceeds another at every n, by text, (text, n) each."""
    leads = PairedBootstrap(ours - theirs, rng)
    return judge_smallest(leads.mean, leads.draws, texts=texts)


def frequent_letters_err_less(rates: Floats, draws: Floats, *, texts: int) -> Verdict:
    """Test that the excess of errors falls with a letter's frequency in English, (26,), (draw, 26): the slope."""
    slope, *slopes = fit_slopes(lewand(), excess(np.vstack([rates, draws]), lewand()))
    return judge_draws(float(slope), np.array(slopes), texts=texts, side="below")


def errs_more(ours: Floats, theirs: Floats) -> Verdict:
    """Test that one model's mean error rate is higher than another's on the same texts, (text,) each."""
    return judge_mean(ours - theirs)


def within_sigmas(ours: Floats, theirs: Floats) -> Verdict:
    """Test that the means of two models on the same texts are less than SIGMAS apart, (text,) each.

    One sigma is the standard error of the difference of two independent means, since the paper prints an error for
    each model. The texts are the same, so the statistic itself is known more precisely than to one sigma.
    """
    texts = len(ours)
    if texts < FEWEST:
        return judge(math.nan, math.nan, math.nan, threshold=SIGMAS, side="below")
    apart = abs(float((ours - theirs).mean()))
    sigma = math.hypot(ours.std(ddof=1), theirs.std(ddof=1)) / math.sqrt(texts)
    if not sigma:  # neither varies, so they are equal or infinitely far apart
        apart, sigma = (math.inf, 1.0) if apart else (0.0, 1.0)
    error = float((ours - theirs).std(ddof=1)) / math.sqrt(texts)
    return judge_error(apart / sigma, error / sigma, freedom=texts - 1, threshold=SIGMAS, side="below")


def takes_longer(ours: Floats, theirs: Floats) -> Verdict:
    """Test that one model takes longer than another over the same texts, from the seconds of each round, (round,).

    The statistic is the mean log ratio. A round is a sum over many texts and so about normal; a few rounds suffice.
    """
    return judge_mean(np.log(ours / theirs), fewest=2)


# What trainings logged.


@dataclass(frozen=True)
class PoolEnd:
    """How the training on one pool of keys ended."""

    loss: float
    """Training loss per character in nats."""
    accuracy: float
    """Share of correct characters under unseen keys, a mean over texts."""
    texts: int
    """Number of texts that it was measured on."""

    @property
    def error(self) -> float:
        """The largest standard error that a mean of shares can have (Bhatia and Davis 2000); NaN for few texts."""
        if self.texts < FEWEST:
            return math.nan
        return math.sqrt(max(0.0, self.accuracy * (1 - self.accuracy)) / self.texts)


def few_memorise(smallest: PoolEnd) -> Verdict:
    """Test that a model's confidence on its own keys exceeds its accuracy on others.

    exp(-loss) is the geometric mean of the probability of each correct character, which is below the share of correct
    characters, so the test is conservative.
    """
    return judge_error(math.exp(-smallest.loss) - smallest.accuracy, smallest.error)


def many_do_better(smallest: PoolEnd, largest: PoolEnd) -> Verdict:
    """Test that more keys in training give a higher accuracy on unseen keys."""
    return judge_error(largest.accuracy - smallest.accuracy, math.hypot(smallest.error, largest.error))


def many_generalise(largest: PoolEnd) -> Verdict:
    """Test that the largest pool suffices for unseen keys."""
    return judge_error(largest.accuracy, largest.error, threshold=GENERALISES)


def training_lowers_error(curves: Sequence[Floats]) -> Verdict:
    """Test that log error falls with log operations over all measurements of all trainings, (2, point) each.

    Most of that is the course of each training; `larger_trainings_end_lower` compares different ones. Points of one
    training are dependent, so the error is a jackknife over trainings. The lowest errors so far would not do: they
    fall by construction.
    """
    usable = [np.log(curve[:, (curve > 0).all(0)]) for curve in curves]
    logs = [curve for curve in usable if curve.shape[1]]
    slope = _slope(logs)
    if len(logs) < 2:
        return judge(slope, math.nan, math.nan, side="below")
    left_out = np.array([_slope([*logs[:place], *logs[place + 1 :]]) for place in range(len(logs))])
    count = len(logs)
    error = math.sqrt((count - 1) / count * float(((left_out - slope) ** 2).sum()))
    return judge_error(slope, error, freedom=count - 1, side="below")


def larger_trainings_end_lower(curves: Sequence[Floats]) -> Verdict:
    """Test that the last log error of a training falls with its log operations, over trainings, (2, point) each."""
    ends = np.array([curve[:, -1] for curve in curves if curve.shape[1]]).reshape(-1, 2)
    logs = np.log(ends[(ends > 0).all(1)])
    line = fit_line(*logs.T)
    if line is None:
        return judge(math.nan, math.nan, math.nan, side="below")
    return judge_error(line.slope, line.slope_error, freedom=len(logs) - 2, side="below")


def _slope(logs: Sequence[Floats]) -> float:
    """Return the slope of the line through all points; NaN if there are too few."""
    line = fit_line(*np.concatenate(logs, axis=1)) if logs else None
    return math.nan if line is None else line.slope
