"""Numbers as a reader wants to see them: few digits on the page, all of them in the files."""

import math
from collections.abc import Sequence
from typing import TypeGuard

from alice.reports.checks import Cell

DIGITS = 4
"""Significant digits on a page."""
SMALLEST, LARGEST = 1e-4, 1e7
"""A number between these sizes is written without an exponent."""
SMALLEST_ERROR = 1e-7
"""A value with a smaller standard error is written with an exponent."""
FIRST_GROUPED = 10_000
MINUS = "\u2212"


def is_number(value: Cell) -> TypeGuard[int | float]:
    """Tell whether a cell holds a number; a truth value is not one."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def shown(value: Cell) -> str:
    """Return a cell as text: numbers with four significant digits, thin spaces between thousands."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return _grouped(value)
    return _float(value) if isinstance(value, float) else value


def shown_with_error(value: float, error: float) -> str:
    """Return a value with its standard error, both to the error's second significant digit: `2.14 ± 0.42`.

    An error of exactly 0 is left out: it says that nothing in the sample varied, not that the value is exact.
    """
    if error == 0:
        return shown(value)
    value_text, error_text = _to_error(error, value, error)
    return f"{value_text} ± {error_text}"


def shown_with_interval(value: float, low: float, high: float) -> str:
    """Return a value with its interval, to the second significant digit of half its width: `2.14 (1.32 to 2.96)`."""
    value_text, low_text, high_text = _to_error((high - low) / 2, value, low, high)
    return f"{value_text} ({low_text} to {high_text})"


def _to_error(error: float, *values: float) -> list[str]:
    """Return numbers to the second significant digit of an error, where that can be read without an exponent."""
    if not SMALLEST_ERROR <= error < LARGEST or not all(abs(value) < LARGEST for value in values):
        return [shown(value) for value in values]
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return [_fixed(value, decimals) for value in values]


def shown_column(cells: Sequence[Cell]) -> list[str]:
    """Return the cells of a column as text; all numbers have the decimals that the largest one needs."""
    sizes = [abs(cell) for cell in cells if isinstance(cell, float) and cell and math.isfinite(cell)]
    decimals = _decimals(max(sizes)) if sizes else None
    if decimals is not None and min(sizes) < 10.0**-decimals:  # else the smallest would be shown as zero
        decimals = None
    if decimals is not None:
        decimals = max(_decimals_used(size, decimals) for size in sizes)
    return [_float(cell, decimals) if isinstance(cell, float) else shown(cell) for cell in cells]


def _decimals_used(size: float, most: int) -> int:
    return len(f"{size:.{most}f}".partition(".")[2].rstrip("0"))


def _float(value: float, decimals: int | None = None) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "\u221e" if value > 0 else f"{MINUS}\u221e"
    if value and not SMALLEST <= abs(value) < LARGEST:
        return f"{value:.3e}".replace("-", MINUS)
    if decimals is not None:
        return _fixed(value, decimals)
    text = _fixed(value, _decimals(abs(value)))
    return text.rstrip("0").rstrip(".") if "." in text else text


def _fixed(value: float, decimals: int) -> str:
    """Return a number with a fixed count of decimals, its thousands grouped; zero has no sign."""
    whole, _, fraction = f"{abs(value):.{decimals}f}".partition(".")
    sign = MINUS if value < 0 and (whole + fraction).strip("0") else ""
    return sign + _grouped(int(whole)) + (f".{fraction}" if fraction else "")


def _decimals(size: float) -> int:
    """Return how many decimals give a number four significant digits."""
    return max(0, DIGITS - 1 - math.floor(math.log10(size))) if SMALLEST <= size < LARGEST else 0


def _grouped(value: int) -> str:
    """Return an integer with thin spaces between groups of three, once it has more than four digits."""
    plain = f"{value:,}" if abs(value) >= FIRST_GROUPED else str(value)
    return plain.replace(",", "\u202f").replace("-", MINUS)
