"""Tests of the paper's claims about trainings, from what those have logged."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alice.plugins.builtin.letter_frequency.frequencies import fit_line
from alice.plugins.reproduce.verdicts import FEWEST, Verdict, judge, judge_error, judge_mean
from alice.statistics import Floats

GENERALISES = 0.9
"""Accuracy on unseen keys that counts as generalising, as in the analysis of that name."""


@dataclass(frozen=True)
class PoolEnd:
    """How the training on one pool of keys ended."""

    loss: float
    """Training loss per character in nats."""
    accuracy: float
    """Share of right characters under unseen keys, as the mean over texts."""
    texts: int
    """Texts that it was measured on."""

    @property
    def error(self) -> float:
        """The largest standard error that a mean of shares can have (Bhatia and Davis 2000); NaN for few texts."""
        if self.texts < FEWEST:
            return math.nan
        return math.sqrt(max(0.0, self.accuracy * (1 - self.accuracy)) / self.texts)


def few_memorise(smallest: PoolEnd) -> Verdict:
    """Test that a model is surer of its own keys than it is right under others.

    exp(-loss) is the geometric mean of the probability of each right character, which is rather less than the share of
    right characters; so the test is on the safe side.
    """
    return judge_error(math.exp(-smallest.loss) - smallest.accuracy, smallest.error)


def many_do_better(smallest: PoolEnd, largest: PoolEnd) -> Verdict:
    """Test that more keys in training mean more right characters under unseen keys."""
    return judge_error(largest.accuracy - smallest.accuracy, math.hypot(smallest.error, largest.error))


def many_generalise(largest: PoolEnd) -> Verdict:
    """Test that the largest pool is enough for unseen keys."""
    return judge_error(largest.accuracy, largest.error, threshold=GENERALISES)


def training_lowers_error(curves: Sequence[Floats]) -> Verdict:
    """Test that log error falls with log operations over all measurements of all runs, (2, points) each.

    Most of that is the course of each run, so it says little of larger ones: `larger_runs_end_lower` is about those.
    Points of one run hang together, so the runs are what is left out in turn: a jackknife, with Student's t for as many
    runs as there are. The frontier is no use here, since it falls by the way it is made.
    """
    usable = [np.log(curve[:, (curve > 0).all(0)]) for curve in curves]
    logs = [curve for curve in usable if curve.shape[1]]
    slope = _slope(logs)
    if len(logs) < 2:
        return judge(slope, math.nan, math.nan, side="below")
    left_out = np.array([_slope([*logs[:place], *logs[place + 1 :]]) for place in range(len(logs))])
    runs = len(logs)
    error = math.sqrt((runs - 1) / runs * float(((left_out - slope) ** 2).sum()))
    return judge_error(slope, error, freedom=runs - 1, side="below")


def larger_runs_end_lower(curves: Sequence[Floats]) -> Verdict:
    """Test that the last log error of a run falls with its log operations, over the runs, (2, points) each."""
    ends = np.array([curve[:, -1] for curve in curves if curve.shape[1]]).reshape(-1, 2)
    logs = np.log(ends[(ends > 0).all(1)])
    line = fit_line(*logs.T)
    if line is None:
        return judge(math.nan, math.nan, math.nan, side="below")
    return judge_error(line.slope, line.slope_error, freedom=len(logs) - 2, side="below")


def takes_longer(ours: Floats, theirs: Floats) -> Verdict:
    """Test that one model takes longer than another over the same texts, from the seconds of each round, (round,) each.

    The statistic is the mean of the log of their ratio. A round is a sum over many texts and so about normal: a few do.
    """
    return judge_mean(np.log(ours / theirs), fewest=2)


def _slope(logs: Sequence[Floats]) -> float:
    """Return the slope of the line through all points; NaN if they are too few."""
    line = fit_line(*np.concatenate(logs, axis=1)) if logs else None
    return math.nan if line is None else line.slope
