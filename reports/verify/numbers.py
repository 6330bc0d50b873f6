"""When two numbers, arrays or drawings agree."""

import base64
import json
import re
from collections.abc import Sequence
from contextlib import suppress
from decimal import Decimal, InvalidOperation
from typing import Any

import numpy as np

from alice.reports.checks import Array
from alice.reports.number_text import MINUS

RELATIVE = 1e-4
"""Difference that another machine's floating point may cause, relative to the size of a number."""
ABSOLUTE = 1e-6
"""The same relative to the largest number of the same array or column, for numbers near zero."""
ERRORS = 2.0
"""Standard errors by which a number may move."""
SCALES = (1.0, 100.0, 0.01)
"""How a number is repeated elsewhere: as it is, a share in percent, or a percentage as a share; its sign may differ."""
MOST_PAIRS = 2_000_000
"""Comparisons of numbers that moved with numbers that may repeat them; beyond that, nothing counts as repeated."""
Move = tuple[float, float]
"""A number before and after it moved within its error."""
_NUMBER = re.compile(rf"(?<![\w.])[-+{MINUS}]?\d+(?:[.,\u202f]\d+)*(?:e[-+{MINUS}]?\d+)?(?!\w)")
_GROUPING = re.compile("[,\u202f]")


def masked(value: Any) -> Any:
    """Return a text without the numbers that stand alone; `L3H2` stays as it is, and so does anything else."""
    return _NUMBER.sub("#", value) if isinstance(value, str) else value


def same_numbers(before: str, after: str, moves: Sequence[Move] = ()) -> bool:
    """Return whether the numbers in two texts agree: whole numbers exactly, others up to a unit of their last digit.

    A number may also follow one of `moves`, which it repeats.
    """
    found = [_NUMBER.findall(text) for text in (before, after)]
    return len(found[0]) == len(found[1]) and all(
        _same_shown(one, other, moves) for one, other in zip(*found, strict=True)
    )


def _same_shown(before: str, after: str, moves: Sequence[Move]) -> bool:
    if before == after:
        return True
    try:
        one, other = (Decimal(_GROUPING.sub("", text).replace(MINUS, "-")) for text in (before, after))
    except InvalidOperation:  # such as a version, 1.2.3
        return False
    units = [10.0 ** int(number.as_tuple().exponent) for number in (one, other) if number != number.to_integral_value()]
    if one == other or (bool(units) and float(abs(one - other)) <= 1.001 * max(units)):
        return True
    return bool(_repeats([(float(one), float(other))], moves, rounded=0.501 * max(units, default=1.0)).all())


def _repeats(pairs: Sequence[Move], moves: Sequence[Move], *, rounded: float = 0.0) -> Array:
    """Return which pairs of numbers repeat a number that moved, (pair,), each up to what was rounded off."""
    if not moves or len(pairs) * len(moves) > MOST_PAIRS:
        return np.zeros(len(pairs), dtype=bool)
    shown, moved = (np.abs(np.array(numbers, dtype=np.float64)) for numbers in (pairs, moves))
    found = np.zeros(len(pairs), dtype=bool)
    for scale in SCALES:
        source = scale * moved[None]
        near = np.abs(shown[:, None] - source) <= rounded + RELATIVE * source
        found |= near.all(-1).any(-1)
    return found


def agree_within(before: Array, after: Array, allowed: tuple[Array, Array] | None = None) -> tuple[Array, Array]:
    """Return which entries differ, and which moved but stay within what is allowed for them, (entry,) each.

    `allowed` are the lowest and the highest value, None or NaN where an entry has no stated error.
    """
    close = _close(before, after)
    if allowed is None:
        return ~close, np.zeros_like(close)
    low, high = (np.array([np.nan if end is None else end for end in ends], dtype=np.float64) for ends in allowed)
    with np.errstate(invalid="ignore"):
        inside = (low <= after) & (after <= high)
    return ~close & ~inside, ~close & inside


def _close(before: Array, after: Array) -> Array:
    """Return which entries are equal up to rounding; only floats may differ at all."""
    if before.dtype.kind not in "fc" and after.dtype.kind not in "fc":
        return np.asarray(before == after)
    one, other = before.astype(np.complex128), after.astype(np.complex128)
    finite = np.isfinite(one) & np.isfinite(other)
    scale = float(np.abs(one[finite]).max()) if finite.any() else 0.0
    with np.errstate(invalid="ignore"):
        near = np.abs(one - other) <= RELATIVE * np.maximum(np.abs(one), np.abs(other)) + ABSOLUTE * scale + 1e-12
    same = (one == other) | (np.isnan(one) & np.isnan(other))
    return np.where(finite, near, same)


def plain_figure(plotly: str, *, design: bool) -> Any:
    """Return what a figure draws, traces and frames, with its packed arrays as lists; the layout is design."""
    figure = json.loads(plotly)
    return _plain({key: figure.get(key) for key in ("data", "frames", *(["layout"] if design else []))})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if "bdata" in value and "dtype" in value:
            with suppress(ValueError, TypeError):  # what cannot be unpacked is compared as it is
                array = np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"]))
                shape = [int(length) for length in str(value.get("shape", array.size)).split(",")]
                return array.reshape(shape).tolist()
        return {key: _plain(entry) for key, entry in value.items() if key != "template"}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


def agree(before: Any, after: Any, where: str = "", *, moves: Sequence[Move] = ()) -> str | None:
    """Return where two trees of plain values first disagree beyond rounding, or None.

    A number may also follow one of `moves`, which it repeats.
    """
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return _first(agree(before[key], after[key], f"{where}.{key}", moves=moves) for key in before)
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        pairs = list(zip(before, after, strict=True))
        measured = [pair for pair in pairs if all(map(_is_number, pair))]
        rest = (agree(*pair, where, moves=moves) for pair in pairs if not all(map(_is_number, pair)))
        return (_other_numbers(measured, where, moves) if measured else None) or _first(rest)
    if _is_number(before) and _is_number(after):
        return _other_numbers([(before, after)], where, moves)
    words = isinstance(before, str) and isinstance(after, str)
    if masked(before) == masked(after) and (not words or same_numbers(before, after, moves)):
        return None
    return f"{where.strip('.') or 'it'} is drawn otherwise"


def _other_numbers(pairs: list[Move], where: str, moves: Sequence[Move]) -> str | None:
    """Return how many numbers of a list disagree beyond rounding and repeat nothing that moved, or None."""
    one, other = np.array(pairs, dtype=np.float64).T
    outside, _ = agree_within(one, other)
    changed = [pairs[place] for place in np.flatnonzero(outside)]
    count = len(changed) - int(_repeats(changed, moves).sum())
    return f"{where.strip('.')} has {count:,} other numbers" if count else None


def _first(faults: Any) -> str | None:
    return next((fault for fault in faults if fault is not None), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
