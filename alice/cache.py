"""The user's cache folder: what is computed once and used again; it may be deleted at any time.

It is the folder that `ALICE_INTERP_CACHE` names, by default `~/.cache/alice-interp`, with a subfolder for each kind.
"""

import os
import tempfile
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from stat import S_ISDIR, S_IWGRP, S_IWOTH

from alice.errors import AliceError
from alice.files import remove_at_exit, user_path

FOLDER_VARIABLE = "ALICE_INTERP_CACHE"


def cache_folder(name: str, environ: Mapping[str, str] = os.environ) -> Path:
    """Return the folder for one kind of data, creating it; without a writable home, a private one that goes at exit."""
    if given := environ.get(FOLDER_VARIABLE):
        return make_private(user_path(given) / name)
    try:
        return make_private(Path.home() / ".cache" / "alice-interp" / name)
    except (RuntimeError, AliceError):  # no home, or one that we cannot use
        return _temporary_folder(name)


def make_private(folder: Path) -> Path:
    """Create a folder for this user alone unless it exists; refuse a link and a folder that others can write to."""
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        status = folder.lstat()
    except FileNotFoundError:  # it is being deleted
        raise
    except OSError as error:
        raise _unusable(folder, error.strerror) from error
    if not S_ISDIR(status.st_mode):
        raise _unusable(folder, "it is a link")
    if status.st_uid != os.geteuid() or status.st_mode & (S_IWGRP | S_IWOTH):
        raise _unusable(folder, "other users can write to it")
    return folder


@cache
def _temporary_folder(name: str) -> Path:
    """Return the private folder for one kind of data."""
    try:
        folder = Path(tempfile.mkdtemp(prefix="alice-interp-"))  # with an unpredictable name, for this user alone
    except OSError as error:
        raise _unusable(Path(tempfile.gettempdir()), error.strerror) from error
    remove_at_exit(folder)
    return folder


def _unusable(folder: Path, reason: str | None) -> AliceError:
    return AliceError(
        f"cannot keep data in {folder} ({reason}); set {FOLDER_VARIABLE} to a folder that only you can write to"
    )
