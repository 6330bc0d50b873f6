"""The excess of errors, and best-fit lines."""

import numpy as np
import pytest

from alice.plugins.builtin.letter_frequency.frequencies import excess, fit_line


def test_equal_error_rates_have_no_excess():
    frequencies = np.full(26, 1 / 26)
    assert excess(np.full(26, 0.3), frequencies) == pytest.approx(np.zeros(26))
    assert excess(np.full((2, 26), 0.3), frequencies).shape == (2, 26)


def test_the_excess_by_hand():
    # Weighted errors 0.5 * 0.2 = 0.1 and 0.25 * 0.8 = 0.2: a third and two thirds of the errors.
    found = excess(np.array([0.5, 0.25]), np.array([0.2, 0.8]))
    assert found == pytest.approx([1 / 3 - 0.2, 2 / 3 - 0.8])


def test_letters_without_a_rate_are_left_out_and_without_errors_all_are_nan():
    found = excess(np.array([0.5, np.nan]), np.array([0.4, 0.6]))
    assert found[0] == pytest.approx(0.6)
    assert np.isnan(found[1])
    assert np.isnan(excess(np.zeros(2), np.array([0.4, 0.6]))).all()


def test_a_line_through_points_on_a_line():
    line = fit_line(np.array([0.0, 1, 2, np.nan]), np.array([1.0, 3, 5, 9]))
    assert line is not None
    assert (line.slope, line.intercept, line.correlation) == pytest.approx((2, 1, 1))
    assert line.slope_error == pytest.approx(0)


def test_there_is_no_line_through_two_points_or_without_variation():
    assert fit_line(np.array([0.0, 1]), np.array([1.0, 3])) is None
    assert fit_line(np.ones(4), np.arange(4.0)) is None
    assert fit_line(np.arange(4.0), np.ones(4)) is None
