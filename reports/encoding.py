"""Any tree of plain values and numpy arrays <-> strict JSON, exactly: NaN, infinities, -0.0 and dtypes survive.

JSON has no NaN and no arrays, so these become objects with one marked key: `{"$float": "nan"}`,
`{"$array": base64, "dtype": ..., "shape": ...}`. An ordinary object with a key that begins with `$` is wrapped.
"""

import base64
import json
import math
import re
from collections.abc import Mapping
from typing import Any

import numpy as np

from alice.errors import AliceError
from alice.reports import checks
from alice.reports.checks import Array, Scalar

_BINARY_KINDS = "biufc"
_LISTED_KINDS = "UMO"
_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}


def encode(value: Any, where: str) -> Any:
    """Return a tree that `json.dumps` writes; keys of mappings are sorted, since their order says nothing."""
    if value is None:
        return None
    if isinstance(value, Scalar | np.bool_ | np.integer | np.floating):
        plain = checks.scalar(value, where)
        return {"$float": repr(plain)} if isinstance(plain, float) and not math.isfinite(plain) else plain
    if isinstance(value, np.ndarray):
        return _encode_array(value, where)
    if isinstance(value, list | tuple):
        return [encode(entry, where) for entry in value]
    if isinstance(value, Mapping):
        return _encode_mapping(value, where)
    raise AliceError(f"{where} contains a {type(value).__name__}; convert it to numbers, text, lists or dicts")


def _encode_mapping(value: Mapping[Any, Any], where: str) -> dict[str, Any]:
    for key in value:
        if not isinstance(key, str):
            raise AliceError(f"{where} has the key {key!r}; keys must be strings")
    encoded = {str.__str__(key): encode(value[key], where) for key in sorted(value)}
    return {"$dict": encoded} if any(key.startswith("$") for key in encoded) else encoded


def _encode_array(value: Array, where: str) -> dict[str, Any]:
    head = {"dtype": value.dtype.str, "shape": list(value.shape)}
    if value.dtype.kind in _BINARY_KINDS:
        return {"$array": base64.b64encode(value.tobytes()).decode("ascii"), **head}
    if value.dtype.kind == "M":
        value = value.astype(str)
    if value.dtype.kind not in _LISTED_KINDS:
        raise AliceError(f"{where} contains an array of dtype {value.dtype}; convert it to numbers or text")
    return {"$list": [encode(entry, where) for entry in value.ravel().tolist()], **head}


def decode(value: Any) -> Any:
    """Return the tree that was encoded; raise ValueError if this is none."""
    if isinstance(value, list):
        return [decode(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$dict"} and isinstance(value["$dict"], dict):
        return {key: decode(entry) for key, entry in value["$dict"].items()}
    if value.keys() == {"$float"}:
        return _NOT_FINITE[value["$float"]]
    if value.keys() in ({"$array", "dtype", "shape"}, {"$list", "dtype", "shape"}):
        return _decode_array(value)
    for key in value:
        if key.startswith("$"):
            raise ValueError(f"the mark {key!r} is unknown")
    return {key: decode(entry) for key, entry in value.items()}


def _decode_array(value: dict[str, Any]) -> Array:
    dtype, shape = np.dtype(value["dtype"]), tuple(value["shape"])
    if not all(type(length) is int and length >= 0 for length in shape):
        raise ValueError(f"the shape {shape} is impossible")
    if "$array" in value:
        if dtype.kind not in _BINARY_KINDS:
            raise ValueError(f"an array has the dtype {dtype}")
        return np.frombuffer(base64.b64decode(value["$array"], validate=True), dtype).reshape(shape)
    if dtype.kind not in _LISTED_KINDS:
        raise ValueError(f"a list has the dtype {dtype}")
    flat = np.empty(len(value["$list"]), dtype)
    for place, entry in enumerate(value["$list"]):  # one by one: numpy would take a list in a cell for a dimension
        flat[place] = decode(entry)
    return flat.reshape(shape)


def write_json(document: Mapping[str, Any]) -> str:
    """Return JSON text, one line per entry of the two outer levels: the same text for the same document."""
    entries = [f"{_compact(key)}: {_lines(value)}" for key, value in document.items()]
    return "{\n" + ",\n".join(entries) + "\n}\n"


def _lines(value: Any) -> str:
    if not isinstance(value, dict) or not value:
        return _compact(value)
    return "{\n" + ",\n".join(f"  {_compact(key)}: {_compact(entry)}" for key, entry in value.items()) + "\n}"


def _compact(value: Any) -> str:
    written = json.dumps(value, ensure_ascii=False, allow_nan=False)
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)  # UTF-8 has no way to write half a pair


def read_json(text: str) -> Any:
    """Parse JSON strictly: no NaN, no doubled keys, no number beyond the range of a float; ValueError otherwise."""
    return json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_no_doubles)


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def _no_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object has a key twice")
    return found
