"""Files that appear under their name only when they are complete."""

import errno
import os
import secrets
from collections.abc import Generator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any, Literal, overload

from alice.errors import AliceError

_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}


@overload
def atomic_write(path: Path | str, mode: Literal["w"] = "w") -> AbstractContextManager[IO[str]]: ...
@overload
def atomic_write(path: Path | str, mode: Literal["wb"]) -> AbstractContextManager[IO[bytes]]: ...
def atomic_write(path: Path | str, mode: Literal["w", "wb"] = "w") -> AbstractContextManager[IO[Any]]:
    """Open a file in a `with`: it gets its name when the block ends well, and vanishes when the block fails."""
    return _write_then_rename(Path(path), mode)


@contextmanager
def _write_then_rename(path: Path, mode: str) -> Generator[IO[Any]]:
    draft, file = _open_draft(path, mode)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # else a power cut could leave the final name on an empty file
        draft.replace(path)
    except OSError as error:
        draft.unlink(missing_ok=True)
        if error.errno not in _NO_ROOM:
            raise
        raise AliceError(f"no room left to write {path}; free some space or write elsewhere") from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _open_draft(path: Path, mode: str) -> tuple[Path, IO[Any]]:
    """Create a file with a temporary name beside `path`, with the permissions that an ordinary `open` would give."""
    if path.is_dir():
        raise AliceError(f"{path} is a folder; give the name of a file to write")
    if path.exists() and not path.is_file():
        raise AliceError(f"{path} is not an ordinary file and would be replaced by one; write elsewhere")
    if not path.parent.is_dir():
        raise AliceError(f"the folder {path.parent} does not exist; create it before writing {path.name}")
    draft = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        return draft, draft.open("xb") if mode == "wb" else draft.open("x", encoding="utf-8", newline="\n")
    except OSError as error:
        raise AliceError(f"cannot write into the folder {path.parent}: {error.strerror}") from error


def make_folder(folder: Path) -> Path:
    """Make a folder, and those above it, unless it is there."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AliceError(f"cannot make the folder {folder} ({error.strerror}); write elsewhere") from error
    return folder


def remove_drafts(folder: Path) -> None:
    """Remove what `atomic_write` left in a folder when its process was killed; nobody else may be writing there."""
    for draft in folder.glob(".*.tmp"):
        draft.unlink(missing_ok=True)
