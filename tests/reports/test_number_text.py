import pytest

from alice.reports.number_text import shown, shown_column, shown_with_error, shown_with_interval


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.00834, "0.00834"), (0.25, "0.25"), (1.0, "1"), (0.0, "0"), (-0.5, "\u22120.5"), (123456.7, "123\u202f457"),
        (1e-9, "1.000e\u221209"), (20000, "20\u202f000"), (2000, "2000"), (True, "yes"), (None, ""), ("a", "a"),
        (float("nan"), "NaN"), (float("-inf"), "\u2212\u221e"), (9.99999, "10"), (-0.0, "0"), (100.0, "100"),
    ],
)  # fmt: skip
def test_numbers_are_shown_with_four_digits(value, text):
    assert shown(value) == text


def test_a_column_has_one_number_of_decimals():
    assert shown_column([0.8607, 0.07353, None, 0.5]) == ["0.8607", "0.0735", "", "0.5000"]
    assert shown_column([0.05, 0.1]) == ["0.05", "0.10"]
    assert shown_column([1.5, 0.0001]) == ["1.5", "0.0001"]


@pytest.mark.parametrize(
    ("value", "error", "text"),
    [
        (2.1371, 0.4211, "2.14 ± 0.42"),
        (0.00001, 0.0004, "0.00001 ± 0.00040"),
        (0.0, 0.0004, "0.00000 ± 0.00040"),
        (-0.00001, 0.04, "0.000 ± 0.040"),
        (123456.7, 1234.5, "123\u202f457 ± 1234"),
        (123456.7, 12345.6, "123\u202f457 ± 12\u202f346"),
        (5.0, 0.0, "5"),
        (2.0, 1e-12, "2 ± 1.000e\u221212"),
        (3e9, 2e8, "3.000e+09 ± 2.000e+08"),
        (float("inf"), 0.1, "∞ ± 0.1"),
        (1.0, float("inf"), "1 ± ∞"),
    ],
)
def test_a_value_has_as_many_decimals_as_its_error(value, error, text):
    assert shown_with_error(value, error) == text


def test_a_value_has_as_many_decimals_as_its_interval():
    assert shown_with_interval(0.12, 0.0512, 0.188) == "0.120 (0.051 to 0.188)"
    assert shown_with_interval(0.5, float("-inf"), 1.0) == "0.5 (\u2212∞ to 1)"
    assert shown_with_interval(0.5, 0.5, 0.5) == "0.5 (0.5 to 0.5)"
