"""Values as strict JSON, named arrays as an `.npz` file, and artefacts as safetensors files.

All come back exactly, and nothing is pickled. An artefact is a set of named tensors that other analyses load, such as
the translators of a lens; its file beside `result.json` has the provenance of the result in its metadata.

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

from alice.errors import AliceError, one_line
from alice.files import atomic_write, parse_json, regular_file
from alice.reports import checks
from alice.reports.checks import Array, Scalar
from alice.reports.names import suggestion

_SURROGATE = re.compile("[\ud800-\udfff]")
_NOT_FINITE = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_SUFFIX = ".npy"
_DAMAGE = (ValueError, KeyError, TypeError, EOFError, OSError, MemoryError, OverflowError, NotImplementedError)
ARTEFACT = "alice-interp artefact"
SUFFIX = ".safetensors"
_TENSOR_KINDS = "biuf"
"""Kinds of numbers that a tensor may have."""
_DAMAGE_OF_ZIP = (zipfile.BadZipFile, RuntimeError, SyntaxError)


class BrokenArraysError(AliceError):
    """A file of arrays or tensors is missing, damaged, or belongs to another result."""


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


def check_tensors(value: object, where: str) -> dict[str, Array]:
    """Return tensors, torch's or numpy's, by name as read-only numpy arrays."""
    if not isinstance(value, Mapping) or not value:
        raise AliceError(f"{where} is of type {type(value).__name__}; give a dict from names to tensors")
    return {_tensor_name(name, where): _tensor(tensor, f"{name!r} of {where}") for name, tensor in value.items()}


def _tensor_name(name: object, where: str) -> str:
    if not isinstance(name, str) or not name or name == "__metadata__":
        raise AliceError(f"{where} has a tensor named {name!r:.60}; give it a name of its own")
    return name


def _tensor(tensor: Any, where: str) -> Array:
    """Return a tensor as an array; torch is recognised by its methods, since this room does not import it."""
    try:
        array = np.asarray(tensor.detach().cpu().numpy() if hasattr(tensor, "detach") else tensor)
    except TypeError as error:
        raise AliceError(f"{where} cannot be stored ({error}); convert it with .float()") from error
    if array.dtype.kind not in _TENSOR_KINDS:
        raise AliceError(f"{where} has the dtype {array.dtype}; give numbers")
    copy = np.array(array, copy=True, order="C", subok=False)
    copy.setflags(write=False)
    return copy


def tensors_hash(tensors: Mapping[str, Array]) -> str:
    """Return a hash of the names and values, which does not depend on the provenance."""
    return hashlib.sha256(_packed(tensors, None)).hexdigest()


def write_tensors(folder: Path, name: str, tensors: Mapping[str, Array], provenance: Any) -> None:
    """Write an artefact into the folder of a report; `provenance` is encoded already."""
    metadata = {"format": ARTEFACT, "name": name, "provenance": json.dumps(provenance, sort_keys=True)}
    with atomic_write(folder / f"{name}{SUFFIX}", "wb") as file:
        file.write(_packed(tensors, metadata))


def _packed(tensors: Mapping[str, Array], metadata: dict[str, str] | None) -> bytes:
    from safetensors.numpy import save  # most results have no artefacts

    packed: bytes = save({name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)}, metadata)
    return packed


def read_tensors(path: Path) -> tuple[dict[str, Array], dict[str, Any]]:
    """Return the tensors of a file by name, and the provenance of the result that they belong to."""
    from safetensors import SafetensorError, safe_open

    try:
        regular_file(path)
        with safe_open(path, framework="np") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        provenance = decode(parse_json(metadata.get("provenance", "{}")))
    except OSError as error:
        raise BrokenArraysError(
            f"{path} cannot be read ({error.strerror or error}); give an artefact of a report"
        ) from error
    except (SafetensorError, *_DAMAGE, AttributeError, RecursionError) as error:  # numpy lacks some types
        raise BrokenArraysError(f"{path} is not an artefact: {one_line(error)[:160]}") from error
    for name, tensor in tensors.items():
        if tensor.dtype.kind not in _TENSOR_KINDS:  # such as bfloat16, which numpy reads if another package adds it
            raise BrokenArraysError(f"{path} is not an artefact: {name!r:.60} has the type {tensor.dtype}")
    return tensors, provenance if isinstance(provenance, dict) else {}


def find_artefact(path: Path, *names: str) -> Path:
    """Return the file of an artefact: `path` itself, or the first of the names that the report folder `path` has.

    Without a name, the folder must have exactly one artefact.
    """
    if not path.is_dir():
        return path
    stored = {file.name.removesuffix(SUFFIX): file for file in sorted(path.glob(f"*{SUFFIX}"))}
    if not names and len(stored) == 1:
        return next(iter(stored.values()))
    for name in names:
        if name in stored:
            return stored[name]
    if not names:
        raise AliceError(f"{path} has {len(stored)} artefacts, not one; name one{suggestion('', stored)}")
    raise AliceError(f"{path} has no artefact {names[0]!r}{suggestion(names[0], stored)}")
