"""Numbers as a reader wants to see them: few digits on the page, all of them in the files."""

import math
from collections.abc import Sequence
from typing import TypeGuard

from alice.reports.checks import Cell

DIGITS = 4
"""Significant digits on a page."""
SMALLEST, LARGEST = 1e-4, 1e7
"""Sizes between which a number is written without an exponent."""
FIRST_GROUPED = 10_000


def is_number(value: Cell) -> TypeGuard[int | float]:
    """Tell whether a cell holds a number; a truth value is none."""
    return isinstance(value, int | float) and not isinstance(value, bool)


def shown(value: Cell) -> str:
    """Return a cell as text: numbers with four significant digits, thin spaces between thousands."""
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return _grouped(value)
    return _float(value, None) if isinstance(value, float) else value


def shown_with_error(value: float, error: float) -> str:
    """Return a value with its standard error, both to the error's second significant digit: `2.14 ± 0.42`."""
    if not error or not math.isfinite(error) or not math.isfinite(value) or abs(value) >= LARGEST or error < SMALLEST:
        return f"{shown(value)} ± {shown(error)}"
    decimals = max(0, 1 - math.floor(math.log10(error)))
    return f"{_float(value, decimals)} ± {_float(error, decimals)}"


def shown_column(cells: Sequence[Cell]) -> list[str]:
    """Return the cells of a column as text, its numbers with as many decimals as the largest one needs."""
    sizes = [abs(cell) for cell in cells if isinstance(cell, float) and cell and math.isfinite(cell)]
    decimals = _decimals(max(sizes)) if sizes else None
    if decimals is not None and min(sizes) < 10.0**-decimals:  # else the smallest would be shown as zero
        decimals = None
    if decimals is not None:
        decimals = max(_decimals_used(size, decimals) for size in sizes)
    return [_float(cell, decimals) if isinstance(cell, float) else shown(cell) for cell in cells]


def _decimals_used(size: float, most: int) -> int:
    return len(f"{size:.{most}f}".partition(".")[2].rstrip("0"))


def _float(value: float, decimals: int | None) -> str:
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "\u221e" if value > 0 else "\u2212\u221e"
    if value and not SMALLEST <= abs(value) < LARGEST:
        return f"{value:.3e}".replace("-", "\u2212")
    wanted = _decimals(abs(value)) if decimals is None else decimals
    whole, _, fraction = f"{abs(value):.{wanted}f}".partition(".")
    fraction = fraction.rstrip("0") if decimals is None else fraction
    sign = "\u2212" if math.copysign(1.0, value) < 0 else ""
    return sign + _grouped(int(whole)) + (f".{fraction}" if fraction else "")


def _decimals(size: float) -> int:
    """Return how many decimals give a number four significant digits."""
    return max(0, DIGITS - 1 - math.floor(math.log10(size))) if SMALLEST <= size < LARGEST else 0


def _grouped(value: int) -> str:
    """Return an integer with thin spaces between groups of three, once it has more than four digits."""
    plain = f"{value:,}" if abs(value) >= FIRST_GROUPED else str(value)
    return plain.replace(",", "\u202f").replace("-", "\u2212")
