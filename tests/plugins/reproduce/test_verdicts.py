import math

import numpy as np
import pytest

from alice.plugins.reproduce.verdicts import (
    combine,
    judge,
    judge_always,
    judge_draws,
    judge_error,
    judge_mean,
    judge_share,
    judge_smallest,
    judge_sometimes,
)

MANY = 1_000_000
"""So many texts that the draws have the spread of the mean itself."""


@pytest.mark.parametrize(
    ("low", "high", "side", "outcome"),
    [
        (0.1, 0.3, "above", "holds"),
        (-0.3, -0.1, "above", "does not hold"),
        (-0.1, 0.1, "above", "undecided"),
        (-0.3, -0.1, "below", "holds"),
        (0.1, 0.3, "below", "does not hold"),
        (-0.1, 0.1, "below", "undecided"),
        (0.0, 0.2, "above", "undecided"),
        (-0.2, 0.0, "above", "undecided"),
        (math.nan, math.nan, "above", "undecided"),
    ],
)
def test_the_whole_interval_must_lie_on_one_side(low, high, side, outcome):
    assert judge(0.0, low, high, side=side).outcome == outcome


def test_the_threshold_counts():
    assert judge(0.95, 0.92, 0.98, threshold=0.9).outcome == "holds"
    assert judge(0.95, 0.92, 0.98, threshold=0.99).outcome == "does not hold"


def test_draws_give_an_interval_of_1_96_standard_errors():
    draws = np.array([-1.0, 0.0, 1.0])  # their standard deviation is 1
    found = judge_draws(5.0, draws, texts=MANY)
    assert (found.low, found.high) == (pytest.approx(5 - 1.96, abs=1e-3), pytest.approx(5 + 1.96, abs=1e-3))
    same = judge_error(5.0, 1.0)
    assert (found.low, found.high) == (pytest.approx(same.low, abs=1e-4), pytest.approx(same.high, abs=1e-4))
    assert judge_draws(5.0, np.array([5.0]), texts=MANY).outcome == "undecided"


def test_fewer_texts_mean_a_wider_interval_and_below_30_none():
    draws = np.array([-1.0, 0.0, 1.0])
    # Student's t of 29 degrees of freedom is 2.0452, and the draws spread too little by sqrt(29 / 31).
    assert judge_draws(5.0, draws, texts=30).low == pytest.approx(5 - 2.0452 * math.sqrt(31 / 29), abs=1e-3)
    assert judge_draws(5.0, draws, texts=30).outcome == "holds"
    assert judge_draws(5.0, draws, texts=29).outcome == "undecided"
    assert math.isnan(judge_draws(5.0, draws, texts=29).low)
    assert judge_smallest(np.array([5.0]), draws[:, None], texts=29).outcome == "undecided"


@pytest.mark.parametrize("texts", [2, 5, 10, 30, 100])
def test_if_nothing_is_so_few_verdicts_say_that_it_is(texts):
    rng, decided = np.random.default_rng(0), 0
    for _ in range(400):
        values = rng.standard_normal(texts)
        draws = rng.dirichlet(np.ones(texts), size=200) @ values
        decided += judge_draws(float(values.mean()), draws, texts=texts).outcome != "undecided"
    assert decided <= 32  # 20 are to be expected, and more than 32 one time in 200


def test_a_mean_is_judged_by_students_t():
    values = np.array([1.0, 2.0, 3.0])
    found = judge_mean(values, fewest=2)
    assert (found.value, found.value - found.low) == (2, pytest.approx(4.3027 / math.sqrt(3), abs=1e-3))
    assert judge_mean(values).outcome == "undecided"
    assert judge_mean(values[:1], fewest=1).outcome == judge_mean(values[:0]).outcome == "undecided"
    assert judge_mean(np.tile(values, 10)).outcome == "holds"
    assert judge_mean(-np.tile(values, 10)).outcome == "does not hold"


@pytest.mark.parametrize(("cases", "outcome"), [(99, "holds"), (80, "does not hold"), (92, "undecided")])
def test_a_share_has_the_exact_interval(cases, outcome):
    assert judge_share(cases, 100, threshold=0.9).outcome == outcome
    assert judge_share(0, 0, threshold=0.9).outcome == "undecided"


def test_all_hold_only_if_the_smallest_does():
    spread = np.array([-1.0, 0.0, 1.0])
    draws = np.stack([spread, spread], axis=1)
    for values, outcome in (([5, 6], "holds"), ([5, 1], "undecided"), ([5, -9], "does not hold")):
        found = judge_smallest(np.array(values, dtype=float), draws, texts=MANY)
        assert (found.outcome, found.value) == (outcome, min(values))
    assert found.high - found.value == pytest.approx(2.2414, abs=1e-3)  # two intervals that hold together


def test_the_interval_of_the_smallest_reaches_down_to_one_that_is_less_sure():
    draws = np.stack([np.array([-1.0, 0.0, 1.0]), np.array([-9.0, 0.0, 9.0])], axis=1)
    found = judge_smallest(np.array([5.0, 6.0]), draws, texts=MANY)
    assert found.low < 6 - 2 * 9
    assert found.high == pytest.approx(5 + 2.2414, abs=1e-3)


@pytest.mark.parametrize(
    ("exceptions", "texts", "outcome"),
    [(0, 1000, "holds"), (1, 100_000, "does not hold"), (0, 50, "undecided"), (0, 0, "undecided")],
)
def test_one_exception_refutes_always_and_few_texts_do_not_show_it(exceptions, texts, outcome):
    assert judge_always(exceptions, texts).outcome == outcome


def test_always_has_the_exact_bound():
    assert judge_always(0, 100).low == pytest.approx(0.025 ** (1 / 100))


@pytest.mark.parametrize(("cases", "outcome"), [(1, "holds"), (40, "holds"), (0, "undecided")])
def test_one_case_shows_sometimes_and_none_refutes_it(cases, outcome):
    assert judge_sometimes(cases, 100).outcome == outcome


def test_a_claim_of_several_tests_fails_with_any():
    assert combine(["holds", "holds"]) == "holds"
    assert combine(["holds", "undecided"]) == "undecided"
    assert combine(["undecided", "does not hold", "holds"]) == "does not hold"
    assert combine([]) == "undecided"
