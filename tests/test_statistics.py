import numpy as np
import pytest

from alice.statistics import PairedBootstrap, RatioBootstrap, bayesian_bootstrap, ratio


def test_sums_and_ratios_do_not_depend_on_the_batches():
    part, whole = np.array([[1, 0], [2, 0], [3, 0]]), np.array([[2, 0], [2, 0], [4, 0]])
    once, twice = RatioBootstrap(np.random.default_rng(0), 2), RatioBootstrap(np.random.default_rng(0), 2)
    once.add(part, whole)
    twice.add(part[:1], whole[:1])
    twice.add(part[1:], whole[1:])
    for found in (once, twice):
        assert found.ratio[0] == 6 / 8
        assert np.isnan(found.ratio[1])
        assert np.isnan(found.error[1])
        assert found.error[0] > 0


def test_a_ratio_that_is_the_same_in_every_text_has_no_error():
    found = RatioBootstrap(np.random.default_rng(0), 1)
    found.add(np.array([[1], [2], [5]]), np.array([[2], [4], [10]]))
    assert found.ratio[0] == 0.5
    assert np.isnan(found.error[0])


def test_the_weights_of_a_ratio_do_not_depend_on_the_batches():
    part, whole = np.random.default_rng(0).integers(1, 9, size=(2, 300, 3))
    once, twice = RatioBootstrap(np.random.default_rng(0), 3), RatioBootstrap(np.random.default_rng(0), 3)
    once.add(part, whole)
    twice.add(part[:70], whole[:70])
    twice.add(part[70:], whole[70:])
    assert once.ratio_draws == pytest.approx(twice.ratio_draws)


def test_the_error_of_a_ratio_is_that_of_linearised_texts():
    rng = np.random.default_rng(1)
    whole = rng.integers(10, 60, size=(400, 1))
    part = rng.binomial(whole, rng.beta(1, 9, size=(400, 1)))
    found = RatioBootstrap(np.random.default_rng(2), 1)
    found.add(part, whole)
    expected = (part - found.ratio * whole).std(ddof=1) / whole.mean() / np.sqrt(400)
    assert found.error[0] == pytest.approx(expected, rel=0.05)


def test_a_whole_in_one_text_only_has_no_error():
    found = RatioBootstrap(np.random.default_rng(0), 2)
    found.add(np.array([[1, 1], [0, 1]]), np.array([[2, 2], [0, 2]]))
    found.add(np.array([[0, 0]]), np.array([[0, 2]]))
    assert found.texts.tolist() == [1, 3]
    assert found.ratio[0] == 0.5
    assert np.isnan(found.error[0])
    assert found.error[1] > 0


def test_with_one_in_every_whole_it_is_the_bootstrap_of_a_mean():
    values = np.random.default_rng(1).random(400)
    found = RatioBootstrap(np.random.default_rng(2), 1)
    found.add(values[:, None], np.ones((400, 1), dtype=int))
    mean = bayesian_bootstrap(values, np.random.default_rng(3))
    assert found.ratio[0] == pytest.approx(mean.mean)
    assert found.error[0] == pytest.approx(mean.error, rel=0.05)


def test_nothing_over_nothing_is_not_a_number():
    assert np.array_equal(ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0])), [0.5, np.nan], equal_nan=True)


def test_columns_share_their_weights_so_a_constant_difference_does_not_vary():
    values = np.random.default_rng(1).random(200)
    found = PairedBootstrap(np.column_stack([values, values + 3, values]), np.random.default_rng(2))
    difference = found.difference(np.array([1, 2]), 0)
    assert difference.mean == pytest.approx([3, 0])
    assert difference.draws.std(0) == pytest.approx([0, 0], abs=1e-12)
    assert found.draws.std(0).min() > 0.01


def test_texts_that_are_all_alike_have_no_error():
    found = PairedBootstrap(np.zeros((3, 1)), np.random.default_rng(0))
    assert np.isnan(found.error).all()
    assert np.isnan(found.interval()).all()
    assert f"{found.estimates[0]:.1f}" == "0.0"
    assert found.estimates[0].cells == (0.0, None)


def test_the_error_is_the_corrected_spread_of_the_weightings():
    values = np.random.default_rng(3).exponential(size=(20, 2))
    found = PairedBootstrap(values, np.random.default_rng(4), draws=40_000)
    assert found.draws.std(0) * np.sqrt(21 / 19) == pytest.approx(found.error, rel=0.02)


def test_the_same_seed_gives_the_same_draws_whenever_they_are_asked_for():
    values = np.random.default_rng(5).random((30, 3))
    first, second = (PairedBootstrap(values, np.random.default_rng(6)) for _ in range(2))
    later = second.difference(0, 1).draws
    assert np.array_equal(first.draws, second.draws)
    assert later[:, 0] == pytest.approx(first.draws[:, 0] - first.draws[:, 1])


def test_a_difference_of_columns_with_other_texts_is_that_of_independent_means():
    values = np.full((400, 2), np.nan)
    values[:300, 0], values[300:, 1] = np.random.default_rng(7).random(300), np.random.default_rng(8).random(100)
    found = PairedBootstrap(values, np.random.default_rng(9))
    difference = found.difference(0, 1)
    assert difference.mean == pytest.approx(found.mean[0] - found.mean[1])
    assert difference.error == pytest.approx(np.hypot(*found.error), rel=0.01)


def test_the_error_of_a_difference_is_that_of_the_differences():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(500, 1)) + rng.normal(size=(500, 2)) / 10
    found = PairedBootstrap(values, np.random.default_rng(4)).difference(0, 1)
    expected = (values[:, 0] - values[:, 1]).std(ddof=1) / np.sqrt(500)
    assert found.error[0] == pytest.approx(expected)
    assert np.diff(found.interval())[0, 0] == pytest.approx(2 * 1.96 * expected, rel=0.15)


def test_a_column_of_a_paired_bootstrap_is_the_bootstrap_of_its_values():
    values = np.random.default_rng(5).random((60, 3))
    found = PairedBootstrap(values, np.random.default_rng(6)).estimates
    for column, one in zip(values.T, found, strict=True):
        alone = bayesian_bootstrap(column, np.random.default_rng(6))
        assert (one.mean, one.error, one.count) == pytest.approx((alone.mean, alone.error, alone.count))


def test_texts_without_a_value_do_not_count():
    values = np.array([[1.0, np.nan, np.nan], [2.0, 4.0, np.nan], [3.0, 6.0, 5.0]])
    found = PairedBootstrap(values, np.random.default_rng(0))
    assert found.count.tolist() == [3, 2, 1]
    assert found.mean.tolist() == [2, 5, 5]
    assert np.isnan(found.error).tolist() == [False, False, True]
    assert np.isnan(found.interval()[2]).all()
    assert np.all((found.draws[:, 1] >= 4) & (found.draws[:, 1] <= 6))
