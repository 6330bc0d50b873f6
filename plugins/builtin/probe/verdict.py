"""Verdicts on what probes read: present and used, present but unused, or absent; each with its test."""

import math
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.stats import t as student

from alice.planted import Verdict
from alice.plugins.builtin.probe.measure import Readings
from alice.plugins.builtin.probe.use import WAYS
from alice.statistics import Estimate, Floats

LEVEL = 0.05
"""Largest corrected p-value that counts."""
READABLE = 0.01
"""A target is present if a probe's accuracy exceeds that of the most frequent answer by more than this."""
MOVED = 0.01
"""It is used if erasing it moves more than this of the probability of the answers beyond as many random directions."""


@dataclass(frozen=True)
class Judgement:
    """The verdict on one target in one layer."""

    target: str
    """Name of the target."""
    layer: int
    """The layer; 0 is the embedding."""
    verdict: Verdict
    """Used, unused or absent."""
    readable: Estimate
    """Accuracy beyond that of the most frequent answer."""
    present_p: float
    """Corrected p-value of the test that it exceeds READABLE."""
    beyond: Estimate
    """Probability of the answers that erasing it moves, beyond what as many random directions move."""
    used_p: float
    """Corrected p-value of the test that it exceeds MOVED."""
    moved_by_way: tuple[float, ...]
    """Probability moved in each of WAYS."""
    lost_by_way: tuple[float, ...]
    """Lost log-probability in each of WAYS."""
    errors_by_way: tuple[float, ...]
    """Rise of the SER in each of WAYS, as a fraction."""
    rank: int
    """Number of erased directions."""
    variance: float
    """Share of the variance that they have."""


def judge(readings: Readings) -> list[Judgement]:
    """Judge every target of the linear probes in every layer; p-values are corrected for their number (Bonferroni)."""
    return [one for number in range(len(readings.use.tasks)) for one in _of_target(readings, number)]


def _of_target(readings: Readings, number: int) -> Iterator[Judgement]:
    use = readings.use
    name = use.tasks[number].name
    (reading,) = (one for one in readings.each if (one.kind, one.task.name) == ("linear", name))
    tests = len(use.tasks) * reading.letters.shape[1]
    excess = over_splits(reading.letters - reading.majority[:, None])
    lost = use.clean[None, None] - use.without[number]  # (layer, way, text, 3)
    for layer, readable in enumerate(excess):
        score, errors, moved = lost[layer, ..., 0], -lost[layer, ..., 1], -lost[layer, ..., 2]  # (way, text)
        erased, control = (moved[WAYS.index(way)] for way in ("erased", "same-rank"))
        beyond = over_texts(erased - control)
        present_p, used_p = (min(1.0, tests * p) for p in (exceeds(readable, READABLE), exceeds(beyond, MOVED)))
        verdict: Verdict = "absent" if present_p > LEVEL else "used" if used_p <= LEVEL else "unused"
        yield Judgement(
            name,
            layer,
            verdict,
            readable,
            present_p,
            beyond,
            used_p,
            tuple(moved.mean(1).tolist()),
            tuple(score.mean(1).tolist()),
            tuple(errors.mean(1).tolist()),
            int(use.rank[number, layer]),
            float(use.variance[number, layer]),
        )


def exceeds(found: Estimate, threshold: float) -> float:
    """Return the p-value of the one-sided t-test that a mean over texts exceeds a threshold; 1 if it is unknown."""
    if math.isnan(found.mean) or math.isnan(found.error):
        return 1.0
    if not found.error:
        return 0.0 if found.mean > threshold else 1.0
    return float(student.sf((found.mean - threshold) / found.error, found.count - 1))


def over_texts(values: Floats) -> Estimate:
    """Return the mean over texts, (text,), with its standard error."""
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Estimate(float(values.mean()), error, len(values))


def over_splits(values: NDArray[np.floating]) -> list[Estimate]:
    """Return the mean of each row over splits and texts, (split, row, text), NaN where a split does not test a text.

    The error has two parts: that of a mean over texts, and that of a mean over splits, each with its own training
    texts, control task and random model. The second is what the means of the splits vary beyond their texts.
    """
    return [_over_splits(np.asarray(values[:, row], np.float64)) for row in range(values.shape[1])]


def _over_splits(values: Floats) -> Estimate:
    """Return the mean over splits and texts, (split, text)."""
    rows = [row[~np.isnan(row)] for row in values]
    rows = [row for row in rows if len(row)]
    each = np.concatenate(rows) if rows else np.zeros(0)
    if not len(each):
        return Estimate(math.nan, math.nan, 0)
    texts = over_texts(each)
    known = [over_texts(row) for row in rows if len(row) > 1]
    if len(known) < 2:
        return texts
    between = float(np.var([one.mean for one in known], ddof=1)) - float(np.mean([one.error**2 for one in known]))
    return Estimate(texts.mean, math.sqrt(texts.error**2 + max(0.0, between) / len(known)), texts.count)
