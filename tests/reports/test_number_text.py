import pytest

from alice.reports.number_text import shown, shown_column


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.00834, "0.00834"), (0.25, "0.25"), (1.0, "1"), (0.0, "0"), (-0.5, "\u22120.5"), (123456.7, "123\u202f457"),
        (1e-9, "1.000e\u221209"), (20000, "20\u202f000"), (2000, "2000"), (True, "yes"), (None, ""), ("a", "a"),
        (float("nan"), "NaN"), (float("-inf"), "\u2212\u221e"), (9.99999, "10"),
    ],
)  # fmt: skip
def test_numbers_are_shown_with_four_digits(value, text):
    assert shown(value) == text


def test_a_column_has_one_number_of_decimals():
    assert shown_column([0.8607, 0.07353, None, 0.5]) == ["0.8607", "0.0735", "", "0.5000"]
    assert shown_column([0.05, 0.1]) == ["0.05", "0.10"]
    assert shown_column([1.5, 0.0001]) == ["1.5", "0.0001"]
