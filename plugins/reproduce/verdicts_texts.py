"""Tests of the paper's claims about what a model does with texts, by a bootstrap over the texts."""

import math

import numpy as np

from alice.plugins.builtin.letter_frequency.frequencies import excess, fit_line, lewand
from alice.plugins.reproduce.verdicts import (
    FEWEST,
    Verdict,
    judge,
    judge_draws,
    judge_error,
    judge_mean,
    judge_smallest,
)
from alice.statistics import Floats

DRAWS = 1000
"""Reweightings of the texts, where they are made here."""
EARLY = 0.25
"""Share of the layers that count as early."""
HIGH, LOW = 0.9, 0.5
"""An early similarity is high if it has nine tenths of its last value, and low if it has less than half of it."""
SIGMAS = 3.0
"""Standard errors within which the paper finds the bijective model beside the base model."""


def error_falls(errors: Floats, rng: np.random.Generator) -> Verdict:
    """Test that every layer lowers the mean error, (text, exit): whether the smallest drop is above zero."""
    drops = -np.diff(errors, axis=1)  # (text, layer)
    weights = rng.dirichlet(np.ones(len(drops)), size=DRAWS)  # (draw, text)
    return judge_smallest(drops.mean(0), weights @ drops, texts=len(drops))


def early_layer(layers: int) -> int:
    """Return the last of the early layers, of so many that a model has; the first at least."""
    return max(1, math.floor(EARLY * layers))


def short_is_high_early(similarity: Floats, draws: Floats, *, texts: int) -> Verdict:
    """Test that 1-grams are nearly as similar early as they will be, (layer, n) and (draw, layer, n)."""
    return judge_draws(float(_early_share(similarity)[0]), _early_share(draws)[..., 0], texts=texts, threshold=HIGH)


def long_is_low_early(similarity: Floats, draws: Floats, *, texts: int) -> Verdict:
    """Test that the longest n-grams are far less similar early than they will be."""
    found = float(_early_share(similarity)[-1])
    return judge_draws(found, _early_share(draws)[..., -1], texts=texts, threshold=LOW, side="below")


def long_rises_later(correlation: float, interval: tuple[float | None, float | None], *, texts: int) -> Verdict:
    """Test that the layer at which an n gains most rises with n, from Spearman's correlation and its interval."""
    low, high = (math.nan if end is None or texts < FEWEST else end for end in interval)
    return judge(correlation, low, high)


def always_higher(ours: Floats, theirs: Floats, our_draws: Floats, their_draws: Floats, *, texts: int) -> Verdict:
    """Test that one similarity is above another at every n, (n,), from draws with the same weights, (draw, n)."""
    return judge_smallest(ours - theirs, our_draws - their_draws, texts=texts)


def frequent_letters_err_less(rates: Floats, draws: Floats, *, texts: int) -> Verdict:
    """Test that the excess of errors falls with a letter's frequency in English, (26,), (draw, 26): the slope."""
    slopes = np.array([_slope(row) for row in draws])
    return judge_draws(_slope(rates), slopes, texts=texts, side="below")


def errs_more(ours: Floats, theirs: Floats) -> Verdict:
    """Test that one model's error rates are higher in the mean than another's on the same texts, (text,) each."""
    return judge_mean(ours - theirs)


def within_sigmas(ours: Floats, theirs: Floats) -> Verdict:
    """Test that the means of two models on the same texts are less than SIGMAS apart, (text,) each.

    One sigma is what two independent means would differ by, as the paper prints an error for each model. The texts are
    the same, so the statistic itself is known better than to one sigma.
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


def _slope(rates: Floats) -> float:
    """Return the slope of the best-fit line, over the letters that occur; NaN if none is ever wrong."""
    line = fit_line(lewand(), excess(rates, lewand()))
    return math.nan if line is None else line.slope


def _early_share(similarity: Floats) -> Floats:
    """Return which share of its last value each n has at the last early layer, (..., layer, n) -> (..., n)."""
    early = early_layer(similarity.shape[-2] - 1)  # layer 0 is the embedding
    with np.errstate(divide="ignore", invalid="ignore"):
        return similarity[..., early, :] / similarity[..., -1, :]
