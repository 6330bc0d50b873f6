import numpy as np
import pytest

from alice.metrics import bin_names, error_rates, length_bin
from alice.statistics import Estimate, bayesian_bootstrap, spread


def test_the_error_rate_counts_every_character_but_padding():
    plain = np.array([[1, 2, 27, 3], [1, 2, 0, 0]])
    predicted = np.array([[1, 5, 27, 9], [1, 2, 7, 7]])
    assert error_rates(predicted, plain).tolist() == [0.5, 0.0]


def test_lengths_fall_into_the_papers_bins():
    assert bin_names() == ["[0,32)", "[32,64)", "[64,128)", "[128,256)", "[256,)"]
    assert length_bin(np.array([15, 31, 32, 63, 64, 127, 128, 255, 256, 300])).tolist() == [
        0,
        0,
        1,
        1,
        2,
        2,
        3,
        3,
        4,
        4,
    ]


def test_the_bootstrap_error_is_the_standard_error_of_the_mean():
    rng = np.random.default_rng(0)
    values = rng.normal(size=2000)
    estimate = bayesian_bootstrap(values, rng)
    assert estimate.mean == values.mean()
    assert estimate.error == pytest.approx(values.std(ddof=1) / np.sqrt(2000))
    assert estimate.count == 2000


def test_the_bootstrap_of_equal_values_has_no_error():
    assert np.isnan(bayesian_bootstrap(np.full(10, 0.1), np.random.default_rng(0)).error)


def test_one_value_has_a_mean_but_no_error():
    found = bayesian_bootstrap(np.array([0.25]), np.random.default_rng(0))
    assert (found.mean, found.count) == (0.25, 1)
    assert np.isnan(found.error)
    assert found.cells == (0.25, None)
    assert f"{found:.2f}" == "0.25"
    assert f"{Estimate(1.094, 0.07, 5):.2f}" == "1.09 \N{PLUS-MINUS SIGN} 0.07"
    assert Estimate(1.0, 0.5, 5).cells == (1.0, 0.5)


def test_no_values_give_no_number():
    assert np.isnan(bayesian_bootstrap(np.zeros(0), np.random.default_rng(0)).mean)
    assert np.isnan(spread(np.zeros(0)).median)


def test_the_spread_is_median_and_percentiles():
    found = spread(np.arange(101.0))
    assert (found.low, found.median, found.high, found.count) == (16.0, 50.0, 84.0, 101)
