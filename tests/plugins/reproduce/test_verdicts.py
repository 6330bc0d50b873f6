"""The statistical judgements against intervals worked out by hand and effects that were planted."""

import math

import numpy as np
import pytest

from alice.plugins.builtin.letter_frequency.frequencies import excess, fit_line
from alice.plugins.reproduce import verdicts
from alice.plugins.reproduce.verdicts import (
    PoolEnd,
    combine,
    few_memorise,
    judge,
    judge_always,
    judge_draws,
    judge_error,
    judge_mean,
    judge_share,
    judge_smallest,
    judge_sometimes,
    larger_trainings_end_lower,
    many_do_better,
    many_generalise,
    takes_longer,
    training_lowers_error,
)
from alice.text import lewand

MANY = 1_000_000
"""Enough texts that the spread of the draws is that of the mean."""


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
def test_without_an_effect_few_verdicts_find_one(texts):
    rng, decided = np.random.default_rng(0), 0
    for _ in range(400):
        values = rng.standard_normal(texts)
        draws = rng.dirichlet(np.ones(texts), size=200) @ values
        decided += judge_draws(float(values.mean()), draws, texts=texts).outcome != "undecided"
    assert decided <= 32  # 20 are expected, and more than 32 have a probability of 1 in 200


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


def test_all_hold_only_if_the_smallest_holds():
    spread = np.array([-1.0, 0.0, 1.0])
    draws = np.stack([spread, spread], axis=1)
    for values, outcome in (([5, 6], "holds"), ([5, 1], "undecided"), ([5, -9], "does not hold")):
        found = judge_smallest(np.array(values, dtype=float), draws, texts=MANY)
        assert (found.outcome, found.value) == (outcome, min(values))
    assert found.high - found.value == pytest.approx(2.2414, abs=1e-3)  # Bonferroni-corrected for two intervals


def test_the_interval_of_the_smallest_covers_one_that_is_known_less_precisely():
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
def test_one_case_shows_that_it_happens_and_no_sample_refutes_it(cases, outcome):
    assert judge_sometimes(cases, 100).outcome == outcome


def test_a_claim_with_several_tests_fails_if_one_fails():
    assert combine(["holds", "holds"]) == "holds"
    assert combine(["holds", "undecided"]) == "undecided"
    assert combine(["undecided", "does not hold", "holds"]) == "does not hold"
    assert combine([]) == "undecided"


def rng():
    return np.random.default_rng(0)


@pytest.mark.parametrize(
    ("means", "outcome"),
    [((0.9, 0.5, 0.1), "holds"), ((0.9, 0.1, 0.5), "does not hold"), ((0.9, 0.5, 0.5), "undecided")],
)
def test_error_falls_at_every_layer_or_does_not(means, outcome):
    errors = np.array(means) + 0.01 * rng().standard_normal((200, 3))
    found = verdicts.error_falls(errors, rng())
    assert found.outcome == outcome
    assert found.value == pytest.approx(-np.diff(errors.mean(0)).max())
    assert found == verdicts.error_falls(errors, rng())


@pytest.mark.parametrize(("texts", "outcome"), [(1, "undecided"), (2, "undecided"), (29, "undecided"), (30, "holds")])
def test_few_texts_decide_nothing(texts, outcome):
    errors = np.array([0.9, 0.5, 0.1]) + 0.001 * rng().standard_normal((texts, 3))
    assert verdicts.error_falls(errors, rng()).outcome == outcome


def test_early_is_the_first_quarter():
    assert [verdicts.early_layer(layers) for layers in (1, 4, 8, 12)] == [1, 1, 2, 3]


def by_text(similarity, texts=100):
    return similarity + 0.001 * rng().standard_normal((texts, *similarity.shape))


def staircase(layers=8):
    """Return similarities where n-grams of length n become right at layer n, (layer, n)."""
    return np.array([[float(layer >= n) for n in range(1, layers + 1)] for layer in range(layers + 1)])


def ramps(texts=100, layers=8):
    """Return two null models in which all n rise alike, from 0 and from 0.2, (null, text, layer, n)."""
    rises = (np.linspace(start, 1, layers + 1)[:, None] * np.ones(layers) for start in (0, 0.2))
    return np.stack([by_text(rise, texts) for rise in rises])


EARLY = (verdicts.short_is_high_early, verdicts.long_is_low_early)


def test_the_ngram_claim_holds_for_a_staircase_and_not_where_long_ngrams_come_first():
    for found, outcome in ((staircase(), "holds"), (staircase()[:, ::-1], "does not hold")):
        tests = [test(by_text(found), ramps(), texts=100, rng=rng()).outcome for test in EARLY]
        assert tests == [outcome, outcome]


def test_the_ngram_claim_does_not_hold_for_an_answer_that_is_like_a_null_model():
    like = 0.5 * ramps()[0] + 0.5 * ramps()[1]
    assert [test(like, ramps(), texts=100, rng=rng()).outcome for test in EARLY] == ["does not hold", "does not hold"]
    equal = ramps()[:1] + 0.01 * np.random.default_rng(5).standard_normal((1, 100, 9, 8))
    assert [test(ramps()[0], equal, texts=100, rng=rng()).outcome for test in EARLY] == ["undecided", "undecided"]


def test_a_single_text_decides_nothing():
    found = by_text(staircase(), 1)
    assert [test(found, ramps(1), texts=1, rng=rng()).outcome for test in EARLY] == ["undecided", "undecided"]
    last = found[:, -1]
    assert verdicts.always_higher(last + 1, last, texts=1, rng=rng()).outcome == "undecided"


@pytest.mark.parametrize(
    ("interval", "texts", "outcome"),
    [
        ((0.8, 1.0), 100, "holds"),
        ((-1.0, -0.8), 100, "does not hold"),
        ((-0.1, 0.9), 100, "undecided"),
        ((1.0, 1.0), 29, "undecided"),
        ((None, None), 1, "undecided"),
    ],
)
def test_a_trend_is_judged_by_the_interval_that_ngram_gives(interval, texts, outcome):
    found = verdicts.long_rises_later([(1.1, 1.0, 1.2), (0.9, *interval)], texts=texts)
    assert (found.value, found.outcome) == (0.9, outcome)


def test_the_lead_is_that_of_the_share_of_the_last_value():
    values = by_text(np.array([[0.0, 0.0], [0.4, 0.1], [0.8, 0.8]]))  # two layers: the first is early
    nulls = by_text(np.array([[0.0, 0.0], [0.3, 0.3], [1.0, 1.0]]))[None]
    leads = [test(values, nulls, texts=100, rng=rng()).value for test in EARLY]
    assert leads == pytest.approx([0.5 - 0.3, 0.3 - 0.125], abs=1e-3)


def test_higher_means_higher_at_every_n():
    base = np.array([0.9, 0.5]) + 0.1 * rng().standard_normal((100, 2))
    for lead, outcome in (((0.05, 0.02), "holds"), ((0.05, -0.02), "does not hold")):
        ours = base + lead + 0.01 * np.random.default_rng(1).standard_normal((100, 2))
        found = verdicts.always_higher(ours, base, texts=100, rng=rng())
        assert (found.outcome, found.value) == (outcome, pytest.approx(min(lead), abs=5e-3))


@pytest.mark.parametrize(("power", "outcome"), [(-1, "holds"), (1, "does not hold"), (0, "undecided")])
def test_the_slope_says_whether_frequent_letters_err_less(power, outcome):
    rates = 0.01 * (lewand() / lewand().mean()) ** power
    draws = rates * (1 + 0.1 * rng().standard_normal((50, 26)))
    found = verdicts.frequent_letters_err_less(rates, draws, texts=100)
    line = fit_line(lewand(), excess(rates, lewand()))
    assert line is not None
    assert (found.outcome, found.value) == (outcome, pytest.approx(line.slope))


def test_without_an_error_there_is_no_slope():
    found = verdicts.frequent_letters_err_less(np.zeros(26), np.zeros((50, 26)), texts=100)
    assert found.outcome == "undecided"


def error_rates(texts=400):
    return np.abs(0.2 * rng().standard_normal(texts))


@pytest.mark.parametrize(("more", "outcome"), [(0.05, "holds"), (-0.05, "does not hold"), (0.0, "undecided")])
def test_one_model_errs_more_than_another_on_the_same_texts(more, outcome):
    theirs = error_rates()
    ours = theirs + more + 0.01 * np.random.default_rng(1).standard_normal(400)
    assert verdicts.errs_more(ours, theirs).outcome == outcome
    assert verdicts.errs_more(ours[:29], theirs[:29]).outcome == "undecided"


def test_three_sigmas_are_those_of_two_independent_means():
    theirs = error_rates()
    sigma = np.sqrt(2 * theirs.var(ddof=1) / 400)
    for distance, outcome in ((1, "holds"), (-1, "holds"), (9, "does not hold"), (-9, "does not hold")):
        ours = theirs + distance * sigma  # on the same texts the distance is then known exactly
        found = verdicts.within_sigmas(ours, theirs)
        assert (found.outcome, found.value) == (outcome, pytest.approx(abs(distance)))
    independent = np.random.default_rng(1).permutation(theirs) + 2.9 * sigma
    assert verdicts.within_sigmas(independent, theirs).outcome == "undecided"
    assert verdicts.within_sigmas(theirs[:29], theirs[:29]).outcome == "undecided"


def test_models_without_any_error_are_equal():
    none = np.zeros(50)
    assert verdicts.within_sigmas(none, none).outcome == "holds"
    assert verdicts.within_sigmas(none + 0.1, none).outcome == "does not hold"


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


def test_more_keys_do_better_or_do_not():
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
def test_training_lowers_error_if_it_does_whichever_training_is_left_out(exponents, outcome):
    found = training_lowers_error(curves(*exponents))
    assert (found.outcome, found.value) == (outcome, pytest.approx(np.mean(exponents), abs=1e-9))


def test_the_jackknife_agrees_with_a_calculation_by_hand():
    found = training_lowers_error(curves(-0.3, -0.1))
    # With each left out in turn the slopes are -0.1 and -0.3: the error is sqrt(1/2 * 0.02), and Student's t is 12.706.
    assert found.high - found.value == pytest.approx(12.706 * 0.1, abs=1e-3)


def test_one_training_decides_nothing_and_zeros_have_no_logarithm():
    assert training_lowers_error(curves(-0.2)).outcome == "undecided"
    assert training_lowers_error([np.zeros((2, 4)), np.zeros((2, 0))]).outcome == "undecided"


def ending(*ends):
    """Return trainings whose errors fall to the given ends, each with twice the operations of the one before."""
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
def test_larger_trainings_end_lower_or_do_not_whatever_their_course(ends, outcome):
    assert larger_trainings_end_lower(ending(*ends)).outcome == outcome


def test_falling_errors_do_not_make_larger_trainings_better():
    curves = ending(0.05, 0.06, 0.07, 0.08)
    assert training_lowers_error(curves).outcome == "holds"
    assert larger_trainings_end_lower(curves).outcome == "does not hold"


def test_trainings_that_were_never_measured_or_end_without_error_are_left_out():
    good = ending(0.4, 0.2, 0.11, 0.05)
    more = [np.empty((2, 0)), np.array([[1e9], [0.0]])]
    assert larger_trainings_end_lower([*good, *more]) == larger_trainings_end_lower(good)


@pytest.mark.parametrize(("factor", "outcome"), [(2.0, "holds"), (0.5, "does not hold"), (1.0, "undecided")])
def test_a_model_takes_longer_by_the_rounds(factor, outcome):
    theirs = np.array([1.0, 1.1, 0.9, 1.0, 1.05])
    ours = factor * np.array([1.02, 1.05, 0.91, 0.99, 1.06])
    assert takes_longer(ours, theirs).outcome == outcome
    assert takes_longer(ours[:1], theirs[:1]).outcome == "undecided"
