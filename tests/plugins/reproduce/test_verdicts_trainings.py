import math

import numpy as np
import pytest

from alice.plugins.reproduce.verdicts_trainings import (
    PoolEnd,
    few_memorise,
    larger_runs_end_lower,
    many_do_better,
    many_generalise,
    takes_longer,
    training_lowers_error,
)

BY_HEART = PoolEnd(loss=0.01, accuracy=0.25, texts=500)
SOLVES = PoolEnd(loss=0.05, accuracy=0.98, texts=500)


def test_the_error_is_the_largest_that_a_mean_of_shares_can_have():
    assert PoolEnd(0.0, 0.5, 100).error == pytest.approx(0.05)
    assert math.isnan(PoolEnd(0.0, 0.5, 0).error)
    assert math.isnan(PoolEnd(0.0, 1.0, 29).error)
    assert many_generalise(PoolEnd(0.0, 1.0, 29)).outcome == "undecided"


def test_few_keys_are_memorised_and_many_are_not():
    assert few_memorise(BY_HEART).outcome == "holds"
    assert few_memorise(BY_HEART).value == pytest.approx(math.exp(-0.01) - 0.25)
    assert few_memorise(PoolEnd(1.0, 0.7, 500)).outcome == "does not hold"
    assert few_memorise(PoolEnd(-math.log(0.7), 0.7, 500)).outcome == "undecided"


def test_more_keys_do_better_or_they_do_not():
    assert many_do_better(BY_HEART, SOLVES).outcome == "holds"
    assert many_do_better(SOLVES, BY_HEART).outcome == "does not hold"
    assert many_do_better(SOLVES, SOLVES).outcome == "undecided"


@pytest.mark.parametrize(("accuracy", "outcome"), [(0.98, "holds"), (0.7, "does not hold"), (0.9, "undecided")])
def test_generalising_is_nine_in_ten(accuracy, outcome):
    assert many_generalise(PoolEnd(0.1, accuracy, 500)).outcome == outcome


def curves(*exponents):
    flops = np.geomspace(1e9, 1e12, 20)
    return [np.stack([flops, (1 + place) * flops**exponent]) for place, exponent in enumerate(exponents)]


@pytest.mark.parametrize(
    ("exponents", "outcome"),
    [((-0.2, -0.21, -0.19), "holds"), ((0.2, 0.21, 0.19), "does not hold"), ((-0.2, 0.2, 0.0), "undecided")],
)
def test_training_lowers_error_if_it_does_whichever_run_is_left_out(exponents, outcome):
    found = training_lowers_error(curves(*exponents))
    assert (found.outcome, found.value) == (outcome, pytest.approx(np.mean(exponents), abs=1e-9))


def test_the_jackknife_is_worked_out_by_hand():
    found = training_lowers_error(curves(-0.3, -0.1))
    # Left out in turn, the slopes are -0.1 and -0.3: the error is sqrt(1/2 * 0.02), and Student's t is 12.706.
    assert found.high - found.value == pytest.approx(12.706 * 0.1, abs=1e-3)


def test_one_run_decides_nothing_and_zeros_have_no_logarithm():
    assert training_lowers_error(curves(-0.2)).outcome == "undecided"
    assert training_lowers_error([np.zeros((2, 4)), np.zeros((2, 0))]).outcome == "undecided"


def ending(*ends):
    """Return runs that all fall on the way, and end at an error each, with twice the operations of the one before."""
    return [
        np.stack([np.geomspace(1e6, 1e9 * 2**place, 20), np.geomspace(1.0, end, 20)]) for place, end in enumerate(ends)
    ]


@pytest.mark.parametrize(
    ("ends", "outcome"),
    [
        ((0.4, 0.2, 0.11, 0.05), "holds"),
        ((0.05, 0.11, 0.2, 0.4), "does not hold"),
        ((0.2, 0.1, 0.3, 0.2), "undecided"),
        ((0.3, 0.1, 0.09), "undecided"),
        ((0.3, 0.1), "undecided"),
        ((), "undecided"),
    ],
)
def test_larger_runs_end_lower_or_they_do_not_whatever_happens_on_the_way(ends, outcome):
    assert larger_runs_end_lower(ending(*ends)).outcome == outcome


def test_falling_runs_do_not_make_larger_ones_better():
    runs = ending(0.05, 0.06, 0.07, 0.08)
    assert training_lowers_error(runs).outcome == "holds"
    assert larger_runs_end_lower(runs).outcome == "does not hold"


def test_runs_that_were_never_measured_or_end_without_error_are_left_out():
    good = ending(0.4, 0.2, 0.11, 0.05)
    more = [np.empty((2, 0)), np.array([[1e9], [0.0]])]
    assert larger_runs_end_lower([*good, *more]) == larger_runs_end_lower(good)


@pytest.mark.parametrize(("factor", "outcome"), [(2.0, "holds"), (0.5, "does not hold"), (1.0, "undecided")])
def test_a_model_takes_longer_by_the_rounds(factor, outcome):
    theirs = np.array([1.0, 1.1, 0.9, 1.0, 1.05])
    ours = factor * np.array([1.02, 1.05, 0.91, 0.99, 1.06])
    assert takes_longer(ours, theirs).outcome == outcome
    assert takes_longer(ours[:1], theirs[:1]).outcome == "undecided"
