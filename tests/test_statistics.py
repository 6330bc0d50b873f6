import numpy as np
import pytest

from alice.statistics import RatioBootstrap, bayesian_bootstrap, ratio


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
