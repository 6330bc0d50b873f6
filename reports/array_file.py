"""Named numpy arrays in one `.npz` file that `np.load` reads too, without pickle and without compression.

Uncompressed, because a compressed file from a stranger can be small on disk and endless in memory.
"""

import hashlib
import io
import zipfile
from collections.abc import Mapping
from pathlib import Path

import numpy as np

from alice.errors import AliceError
from alice.reports.checks import Array

_DAMAGE = (ValueError, KeyError, TypeError, EOFError, OSError, MemoryError, OverflowError, NotImplementedError)
_DAMAGE_OF_ZIP = (zipfile.BadZipFile, RuntimeError, SyntaxError)
_SUFFIX = ".npy"


class BrokenArraysError(AliceError):
    """The file of arrays is missing, damaged, or belongs to another result."""


def pack(arrays: Mapping[str, Array]) -> bytes:
    """Return the bytes of an `.npz` file: the same for the same arrays."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_STORED) as archive:
        for name in sorted(arrays):
            with archive.open(zipfile.ZipInfo(name + _SUFFIX), "w", force_zip64=True) as member:
                np.lib.format.write_array(member, arrays[name], allow_pickle=False)
    return packed.getvalue()


def read(path: Path, sha256: str) -> dict[str, Array]:
    """Read the arrays of a file that must have the given hash."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise BrokenArraysError(f"{path} cannot be read ({error.strerror}); the run is not complete") from error
    if hashlib.sha256(content).hexdigest() != sha256:
        raise BrokenArraysError(f"{path} is not the file that its result.json was written with; run the analysis again")
    try:
        return _unpack(content)
    except (*_DAMAGE, *_DAMAGE_OF_ZIP) as error:
        raise BrokenArraysError(
            f"{path} is no file of plain arrays: {str(error)[:160] or type(error).__name__}"
        ) from error


def _unpack(content: bytes) -> dict[str, Array]:
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise ValueError("it is compressed")
        if sum(member.file_size for member in members) > len(content):
            raise ValueError("its members overlap")
        if any(not member.filename.endswith(_SUFFIX) for member in members):
            raise ValueError("it holds something else")
    with np.load(io.BytesIO(content), allow_pickle=False) as loaded:
        return {name: loaded[name] for name in loaded.files}
