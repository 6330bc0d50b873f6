"""Values as strict JSON, and named arrays as an `.npz` file; both come back exactly, and nothing is pickled.

JSON has no NaN and no infinities, so these become objects with one marked key: `{"$float": "nan"}`. An ordinary object
with a key that begins with `$` is wrapped: `{"$dict": {...}}`.
"""

import hashlib
import io
import json
import math
import re
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from alice.errors import AliceError
from alice.files import regular_file
from alice.reports import checks
from alice.reports.checks import Array, Scalar

_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_SUFFIX = ".npy"
_DAMAGE = (ValueError, KeyError, TypeError, EOFError, OSError, MemoryError, OverflowError, NotImplementedError)
_DAMAGE_OF_ZIP = (zipfile.BadZipFile, RuntimeError, SyntaxError)


class BrokenArraysError(AliceError):
    """The file of arrays is missing, damaged, or belongs to another result."""


def encode(value: Any, where: str) -> Any:
    """Return a tree that `json.dumps` writes; the keys of mappings are sorted."""
    if value is None:
        return None
    if isinstance(value, Scalar | np.bool_ | np.integer | np.floating):
        plain = checks.scalar(value, where)
        return {"$float": repr(plain)} if isinstance(plain, float) and not math.isfinite(plain) else plain
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


def decode(value: Any) -> Any:
    """Return the tree that was encoded; raise ValueError or KeyError if it was not written by `encode`."""
    if isinstance(value, list):
        return [decode(entry) for entry in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$dict"} and isinstance(value["$dict"], dict):
        return {key: decode(entry) for key, entry in value["$dict"].items()}
    if value.keys() == {"$float"}:
        return _NOT_FINITE[value["$float"]]
    for key in value:
        if key.startswith("$"):
            raise ValueError(f"the mark {key!r} is unknown")
    return {key: decode(entry) for key, entry in value.items()}


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
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", written)  # UTF-8 cannot encode half a pair


def pack_arrays(arrays: Mapping[str, Array]) -> bytes:
    """Return the bytes of an uncompressed `.npz` file: the same for the same arrays."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            with archive.open(zipfile.ZipInfo(name + _SUFFIX), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, arrays[name], allow_pickle=False)
    return packed.getvalue()


def read_arrays(path: Path, sha256: str) -> dict[str, Array]:
    """Read an `.npz` file that must have the given hash."""
    try:
        content = regular_file(path).read_bytes()
    except OSError as error:
        raise BrokenArraysError(f"{path} cannot be read ({error.strerror}); the report is not complete") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise BrokenArraysError(f"{path} does not belong to its result.json; run the analysis again")
    try:
        return _unpack(content)
    except (*_DAMAGE, *_DAMAGE_OF_ZIP) as error:
        reason = str(error)[:160] or type(error).__name__
        raise BrokenArraysError(f"{path} is not a file of plain arrays: {reason}") from error


def _unpack(content: bytes) -> dict[str, Array]:
    """Return the arrays; a compressed file could be small on disk and fill the memory, so it is refused."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("it is compressed")
        if sum(member.file_size for member in members) > len(content):
            raise ValueError("its members overlap")
        if any(not member.filename.endswith(_SUFFIX) for member in members):
            raise ValueError("it has a member that is not an array")
    with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}
