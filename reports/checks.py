"""Checks of what goes into a result: each returns the value as a plain Python type or raises an AliceError."""

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from alice.errors import AliceError

Scalar = float | int | str | bool
"""A number, a text or a truth value."""
Cell = float | int | str | bool | None
"""A scalar or None."""
Array = npt.NDArray[Any]

LONGEST_NAME = 80
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*(@[A-Za-z0-9_.-]+)?")
_COLUMN = re.compile(r"[a-z][a-z0-9_]*")
_ARRAY_KINDS = "biufcUSMm"
"""Kinds of numpy arrays that need no pickle: truth values, numbers, text, bytes and times."""


def text(value: object, where: str) -> str:
    """Return a string as a plain `str`."""
    if not isinstance(value, str):
        raise AliceError(f"{where} is {_kind(value)}; give a string")
    return str.__str__(value)  # an enum member or np.str_ becomes the string it holds


def name(value: object, where: str) -> str:
    """Return a name that is safe as part of a file name and as an HTML id."""
    given = text(value, f"a name in {where}")
    if not _NAME.fullmatch(given) or len(given) > LONGEST_NAME:
        raise AliceError(
            f"{where} has the name {given[:LONGEST_NAME]!r}; a name begins with a letter and has at most "
            f"{LONGEST_NAME} letters, digits, '_', '-' or '.'"
        )
    return given


def column(value: object) -> str:
    """Return the machine name of a column."""
    given = text(value, "the name of a column")
    if not _COLUMN.fullmatch(given) or len(given) > LONGEST_NAME:
        raise AliceError(
            f"a table has the column {given[:LONGEST_NAME]!r}; use lower-case letters, digits and '_' "
            "in the name, and `labels` for what readers see"
        )
    return given


def label(value: object, where: str) -> str:
    """Return a text to show: one line, not empty."""
    given = text(value, f"a label in {where}")
    if not given.strip() or given.splitlines() != [given]:
        raise AliceError(f"{where} has the label {given[:LONGEST_NAME]!r}; give one line of visible text")
    return given


def scalar(value: object, where: str) -> Scalar:
    """Return a number, text or truth value as a plain Python type."""
    if isinstance(value, bool | np.bool_):
        return bool(value)
    if isinstance(value, str):
        return text(value, where)
    if isinstance(value, int | np.integer):
        return int(value)
    if isinstance(value, float | np.floating):
        return float(value)
    _refuse_tensor(value, where)
    raise AliceError(f"{where} is {_kind(value)}; give an int, a float, a str or a bool")


def number(value: object, where: str) -> int | float:
    """Return a number as a plain Python type."""
    plain = scalar(value, where)
    if isinstance(plain, bool | str):
        raise AliceError(f"{where} is {_kind(value)}; give a number")
    return plain


def cell(value: object, where: str) -> Cell:
    """Return a scalar as a plain Python type, or None."""
    return None if value is None else scalar(value, where)


def array(value: object, where: str) -> Array:
    """Return a read-only copy of a numpy array that can be stored without pickle."""
    _refuse_tensor(value, where)
    if not isinstance(value, np.ndarray):
        raise AliceError(f"{where} is {_kind(value)}; convert it with np.asarray")
    if isinstance(value, np.ma.MaskedArray):
        raise AliceError(f"{where} is a masked array; fill it with .filled(np.nan), or store the mask as well")
    if value.dtype.kind not in _ARRAY_KINDS:
        raise AliceError(f"{where} has the dtype {value.dtype}; convert it to numbers, truth values or text")
    copy = np.array(value, copy=True, subok=False)
    copy.setflags(write=False)
    return copy


def weights(value: object, count: int, where: str) -> tuple[float, ...]:
    """Return one weight per character as plain numbers; NaN is a character without a weight."""
    _refuse_tensor(value, f"the weights of {where}")
    try:
        found = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise AliceError(f"the weights of {where} are not numbers; give a list of one number per character") from error
    if found.shape != (count,):
        raise AliceError(
            f"the weights of {where} have the shape {found.shape}; give one for each of {count} characters"
        )
    if np.isinf(found).any():
        raise AliceError(f"the weights of {where} are not finite; replace infinite ones")
    return tuple(found.tolist())


def mapping(value: object, where: str) -> Mapping[Any, Any]:
    """Return a mapping; raise if it is not one."""
    if not isinstance(value, Mapping):
        raise AliceError(f"{where} of a result is {_kind(value)}; give a dict from names to values")
    return value


def _refuse_tensor(value: object, where: str) -> None:
    if type(value).__module__.partition(".")[0] == "torch":  # by name: this room does not import torch
        raise AliceError(
            f"{where} is a torch object; convert it with .item() for one number or .detach().cpu().numpy() for an array"
        )


def _kind(value: object) -> str:
    return "None" if value is None else f"of type {type(value).__name__}"
