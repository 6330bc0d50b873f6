"""When two numbers, arrays or drawings agree."""

import base64
import json
import re
from contextlib import suppress
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
_NUMBER = re.compile(rf"(?<![\w.])[-+{MINUS}]?\d+(?:[.,\u202f]\d+)*(?:e[-+{MINUS}]?\d+)?(?!\w)")


def masked(value: Any) -> Any:
    """Return a text without the numbers that stand alone; `L3H2` stays as it is, and so does anything else."""
    return _NUMBER.sub("#", value) if isinstance(value, str) else value


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


def plain_figure(plotly: str) -> Any:
    """Return what a figure draws, traces and frames, with its packed arrays as lists; the layout is design."""
    figure = json.loads(plotly)
    return _plain({key: figure.get(key) for key in ("data", "frames")})


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        if "bdata" in value and "dtype" in value:
            with suppress(ValueError, TypeError):  # what cannot be unpacked is compared as it is
                return np.frombuffer(base64.b64decode(value["bdata"]), dtype=np.dtype(value["dtype"])).tolist()
        return {key: _plain(entry) for key, entry in value.items() if key != "template"}
    return [_plain(entry) for entry in value] if isinstance(value, list) else value


def agree(before: Any, after: Any, where: str = "") -> str | None:
    """Return where two trees of plain values first disagree beyond rounding, or None."""
    if isinstance(before, dict) and isinstance(after, dict) and before.keys() == after.keys():
        return _first(agree(before[key], after[key], f"{where}.{key}") for key in before)
    if isinstance(before, list) and isinstance(after, list) and len(before) == len(after):
        if before and all(_is_number(one) and _is_number(other) for one, other in zip(before, after, strict=True)):
            outside, _ = agree_within(np.array(before, dtype=np.float64), np.array(after, dtype=np.float64))
            return f"{where.strip('.')} has {int(outside.sum()):,} other numbers" if outside.any() else None
        return _first(agree(one, other, where) for one, other in zip(before, after, strict=True))
    if _is_number(before) and _is_number(after):
        outside, _ = agree_within(np.array([before], dtype=np.float64), np.array([after], dtype=np.float64))
        return f"{where.strip('.')} is another number" if outside.any() else None
    if masked(before) == masked(after):  # labels may repeat numbers, which are compared where they are drawn
        return None
    return f"{where.strip('.') or 'it'} is drawn otherwise"


def _first(faults: Any) -> str | None:
    return next((fault for fault in faults if fault is not None), None)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
