import numpy as np
import pytest

from alice.plugins.builtin.training_curves import frontier, power_law, smooth


def test_smoothing_keeps_a_cubic_and_takes_noise_away():
    x = np.linspace(-1, 1, 400)
    cubic = 1 + x - 2 * x**2 + 3 * x**3
    assert smooth(cubic, 31) == pytest.approx(cubic)
    noise = np.random.default_rng(0).normal(size=400)
    found = smooth(cubic + noise, 31)
    assert found.shape == (400,)
    assert np.abs(found - cubic).mean() < 0.4 * np.abs(noise).mean()


@pytest.mark.parametrize("points", [1, 9, 40, 49, 50, 61, 200])
def test_a_short_curve_is_smoothed_over_a_tenth_of_it_or_not_at_all(points):
    values = np.arange(points) % 2.0
    found = smooth(values, 51)
    assert len(found) == points
    assert np.array_equal(found, values) == (points < 50)


def test_smoothing_returns_a_new_array():
    values = np.zeros(3)
    assert smooth(values, 5) is not values


def test_the_frontier_is_what_no_earlier_point_reaches():
    x = np.array([1.0, 2.0, 3.0, 2.0, 4.0, 5.0])
    y = np.array([0.9, 0.5, 0.6, 0.7, 0.4, 0.4])
    assert frontier(x, y).tolist() == [0, 1, 4]
    assert frontier(np.zeros(0), np.zeros(0)).tolist() == []


def test_a_power_law_is_found_again():
    x = np.logspace(6, 12, 9)
    law = power_law(x, 3 * x**-0.5)
    assert law is not None
    assert law.exponent == pytest.approx(-0.5)
    assert law.factor == pytest.approx(3)
    assert law.exponent_error == pytest.approx(0, abs=1e-6)
    assert law.r_squared == pytest.approx(1)
    assert law(x) == pytest.approx(3 * x**-0.5)


def test_the_error_of_an_exponent_grows_with_the_noise():
    x = np.logspace(6, 12, 50)
    rng = np.random.default_rng(0)
    found = [power_law(x, x**-0.5 * np.exp(rng.normal(scale=scale, size=50))) for scale in (0.01, 0.1)]
    assert found[0].exponent_error < found[1].exponent_error
    assert abs(found[1].exponent + 0.5) < 3 * found[1].exponent_error


def test_too_few_points_have_no_power_law():
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    assert power_law(x, 1 / x) is not None
    assert power_law(x[:3], 1 / x[:3]) is None
    assert power_law(x, np.array([1.0, 0.1, 0.01, 0.0])) is None  # no error at all has no logarithm
    assert power_law(np.ones(5), np.arange(1.0, 6.0)) is None
