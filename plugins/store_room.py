"""Where activations are kept, how much of them, and for how long.

The room is `activations/` in the folder that `ALICE_INTERP_CACHE` names, or in `~/.cache/alice-interp`. It holds at
most what `ALICE_INTERP_CACHE_LIMIT` says (8G if nothing). A store has a folder for each hook, and these come and go
one by one: what was not used for a month goes, and so does, when room is needed, what was used longest ago. All of it
can be computed again, so the whole folder may be deleted at any time.
"""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from alice.errors import AliceError
from alice.files import atomic_write, remove_drafts

FOLDER_VARIABLE, LIMIT_VARIABLE = "ALICE_INTERP_CACHE", "ALICE_INTERP_CACHE_LIMIT"
DEFAULT_LIMIT = "8G"
DAYS_KEPT = 30
NEEDED = "needed"
"""The file in the folder of a hook with the bytes that all its shards have together."""
HOURS_OF_FILLING = 24
"""A folder used within this time may still be growing, so it counts with all it needs."""
FREE_AFTERWARDS = 256 * 2**20
"""Bytes of the disk that are left to others."""
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}


def root(environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder of all stores, making it if need be; without a home it is among the temporary files."""
    if given := environ.get(FOLDER_VARIABLE):
        return make_folder(Path(given).expanduser() / "activations")
    try:
        return make_folder(Path.home() / ".cache" / "alice-interp" / "activations")
    except (RuntimeError, AliceError):  # no home, or one that cannot be written to
        return make_folder(Path(tempfile.gettempdir()) / f"alice-interp-{os.getuid()}" / "activations")


def make_folder(folder: Path) -> Path:
    """Make a folder unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as error:
        raise AliceError(
            f"cannot keep activations in {folder} ({error.strerror}); set {FOLDER_VARIABLE} to a folder of yours"
        ) from error
    return folder


def limit(environ: Mapping[str, str] = os.environ) -> int:
    """Return how many bytes all stores together may have."""
    text = environ.get(LIMIT_VARIABLE, "").strip() or DEFAULT_LIMIT
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", text, re.IGNORECASE)
    if not found:
        raise AliceError(f"{LIMIT_VARIABLE}={text!r} is no size; write a number such as 500M or 8G")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def make_room(wanted: Mapping[Path, int], *, what: str) -> None:
    """Make folders that will have so many bytes, removing others for them; refuse too much before it is there."""
    allowed, needed = limit(), sum(wanted.values())
    if needed > allowed:
        raise AliceError(
            f"keeping the activations of {what} needs {_readable(needed)}, but the limit is {_readable(allowed)}; "
            f"ask for fewer texts or hooks, or set {LIMIT_VARIABLE} (now {_readable(allowed)}) to more"
        )
    for folder, size in wanted.items():
        _claim_folder(folder, size)
    _remove_others(wanted.keys(), allowed - needed)
    missing = needed - sum(map(_size, wanted))
    free = shutil.disk_usage(root()).free
    if missing > free - FREE_AFTERWARDS:
        raise AliceError(
            f"keeping the activations of {what} needs {_readable(missing)} more on the disk of {root()}, which "
            f"has {_readable(free)} left; free some space, or set {FOLDER_VARIABLE} to a folder on another disk"
        )


def noted(folder: Path) -> int | None:
    """Return the bytes that a folder has when it is full, if it says so."""
    try:
        return int((folder / NEEDED).read_text())
    except (OSError, ValueError):  # removed just now, or not written yet
        return None


def _claim_folder(folder: Path, size: int) -> None:
    make_folder(folder)
    if noted(folder) != size:
        with atomic_write(folder / NEEDED) as file:
            file.write(str(size))
    remove_drafts(folder)
    os.utime(folder)


def _remove_others(kept: Collection[Path], space: int) -> None:
    """Remove folders out of date, then the ones used longest ago until the rest fits into `space` bytes."""
    others = sorted((folder for folder in _folders() if folder not in kept), key=_used)
    total = sum(map(_claim, others))
    for other in others:
        if total > space or _used(other) < time.time() - DAYS_KEPT * 86400:
            total -= _claim(other)
            shutil.rmtree(other, ignore_errors=True)


def _folders() -> Iterator[Path]:
    """Yield the folder of every hook of every store; a store without any, be it of an older version, is one itself."""
    for store in _folders_in(root()):
        yield from _folders_in(store) or [store]


def _folders_in(folder: Path) -> list[Path]:
    try:
        return [path for path in folder.iterdir() if path.is_dir()]
    except FileNotFoundError:  # another process cleans up at the same time
        return []


def _used(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except FileNotFoundError:  # another process cleans up at the same time
        return 0.0


def _claim(folder: Path) -> int:
    """Return the bytes that a folder takes, or will take if somebody may still be filling it."""
    size = _size(folder)
    if _used(folder) < time.time() - HOURS_OF_FILLING * 3600:
        return size
    return max(size, noted(folder) or 0)


def _size(folder: Path) -> int:
    total = 0
    for path in folder.glob("*"):
        try:
            total += path.stat().st_size
        except FileNotFoundError:
            continue
    return total


def _readable(count: int) -> str:
    unit = next((unit for unit in ("T", "G", "M", "K") if count >= _UNITS[unit]), "")
    return f"{count / _UNITS[unit]:.1f} {unit}B" if unit else f"{count} bytes"
