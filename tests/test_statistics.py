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


def test_a_ratio_that_is_the_same_in_every_text_is_certain():
    found = RatioBootstrap(np.random.default_rng(0), 1)
    found.add(np.array([[1], [2], [5]]), np.array([[2], [4], [10]]))
    assert found.error[0] == pytest.approx(0, abs=1e-12)


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
    found = RatioBootstrap(np.random.default_rng(2), 1, draws=2000)
    found.add(values[:, None], np.ones((400, 1), dtype=int))
    mean = bayesian_bootstrap(values, np.random.default_rng(3), draws=2000)
    assert found.ratio[0] == pytest.approx(mean.mean)
    assert found.error[0] == pytest.approx(mean.error, rel=0.1)


def test_nothing_over_nothing_is_not_a_number():
    assert np.array_equal(ratio(np.array([1.0, 0.0]), np.array([2.0, 0.0])), [0.5, np.nan], equal_nan=True)


def test_columns_share_their_weights_so_a_constant_difference_is_certain():
    values = np.random.default_rng(1).random(200)
    found = PairedBootstrap(np.column_stack([values, values + 3, values]), np.random.default_rng(2))
    difference = found.difference(np.array([1, 2]), 0)
    assert difference.mean == pytest.approx([3, 0])
    assert difference.error == pytest.approx([0, 0], abs=1e-12)
    assert difference.interval()[0] == pytest.approx([3, 3])
    assert found.error[0] > 0.01


def test_the_error_of_a_difference_is_that_of_the_differences():
    rng = np.random.default_rng(3)
    values = rng.normal(size=(500, 1)) + rng.normal(size=(500, 2)) / 10
    found = PairedBootstrap(values, np.random.default_rng(4), draws=4000).difference(0, 1)
    expected = (values[:, 0] - values[:, 1]).std(ddof=1) / np.sqrt(500)
    assert found.error[0] == pytest.approx(expected, rel=0.05)
    assert np.diff(found.interval())[0, 0] == pytest.approx(2 * 1.96 * expected, rel=0.1)


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
