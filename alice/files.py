"""Paths and files: what may be read, and writes that are atomic.

A file appears under its name only when it is complete. Until then it is a draft, a temporary file such as
`.result.json.0a1b2c3d.alice-interp-draft`, an ending that no other program uses. Writers lock their drafts; unlocked
ones are stale and get removed by the next writer. On file systems without locks, stale drafts stay.
"""

import atexit
import errno
import fcntl
import json
import math
import os
import re
import secrets
import shutil
import stat
from collections.abc import Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, overload

from alice.errors import AliceError

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
LONGEST_SHOWN = 60
HUB_SECONDS = 10.0
"""How long to wait for the first answer of the Hugging Face hub."""
LARGEST_JSON = 256_000_000
"""Bytes; the largest files are results with many figures."""
DRAFT = ".alice-interp-draft"
"""How the name of a temporary file or folder ends; only these are ever removed."""
_DRAFT_NAME = re.compile(rf"\.(?P<name>.+)\.[0-9a-f]{{8}}{re.escape(DRAFT)}")


@overload
def atomic_write(path: Path | str, mode: Literal["w"] = "w") -> AbstractContextManager[IO[str]]: ...
@overload
def atomic_write(path: Path | str, mode: Literal["wb"]) -> AbstractContextManager[IO[bytes]]: ...
def atomic_write(path: Path | str, mode: Literal["w", "wb"] = "w") -> AbstractContextManager[IO[Any]]:
    """Open a file in a `with` block: it appears when the block succeeds, and is discarded when the block fails."""
    return _write_then_rename(user_path(path), mode)


@contextmanager
def _write_then_rename(path: Path, mode: str) -> Generator[IO[Any]]:
    draft, file = _open_draft(path, mode)
    try:
        with file:
            yield file
            file.flush()
            os.fsync(file.fileno())  # otherwise a power failure could leave an empty file under the final name
            draft.replace(path)  # while it is locked, so that nobody takes it for a stale draft
    except OSError as error:
        draft.unlink(missing_ok=True)
        if error.errno not in NO_ROOM:
            raise
        raise AliceError(f"no room left to write {path}; free some space or write elsewhere") from error
    except BaseException:
        draft.unlink(missing_ok=True)
        raise


def _open_draft(path: Path, mode: str) -> tuple[Path, IO[Any]]:
    """Create and lock a temporary file next to `path`, with the default permissions."""
    if path.is_dir():
        raise AliceError(f"{path} is a folder; give the name of a file to write")
    if path.exists() and not path.is_file():
        raise AliceError(f"{path} is not a regular file and would be replaced by one; write elsewhere")
    if not path.parent.is_dir():
        raise AliceError(f"the folder {path.parent} does not exist; create it before writing {path.name}")
    remove_drafts(path.parent, of=path.name)
    while True:
        draft = _draft_of(path)
        try:
            file = draft.open("xb") if mode == "wb" else draft.open("x", encoding="utf-8", newline="\n")
        except OSError as error:
            raise AliceError(f"cannot write into the folder {path.parent}: {error.strerror}") from error
        if _claim(draft, file.fileno()):
            return draft, file
        file.close()


def user_path(name: str | Path) -> Path:
    """Return a path that a user gave, with `~` expanded; raise AliceError if the system cannot look it up."""
    try:
        path = Path(name).expanduser()
        with suppress(FileNotFoundError, NotADirectoryError):
            path.stat()
    except (OSError, RuntimeError, ValueError) as error:  # too long, unreadable folder; unknown ~user; null bytes
        reason = error.strerror if isinstance(error, OSError) else error
        raise AliceError(f"the path {str(name)[:LONGEST_SHOWN]!r} cannot be used ({reason}); check it") from error
    return path


def regular_file(path: Path) -> Path:
    """Return a path to open; raise AliceError for a folder, and for a FIFO or device, which could block for ever.

    A missing file is left to the caller, who knows what to suggest.
    """
    if what := _unreadable(path):
        raise AliceError(f"{path} is {what}; give an ordinary file")
    return path


def _unreadable(path: Path) -> str:
    """Return what a path is if it exists and is not a regular file."""
    try:
        mode = path.stat().st_mode
    except (OSError, ValueError):  # opening it gives the reason
        return ""
    if stat.S_ISREG(mode):
        return ""
    return "a folder" if stat.S_ISDIR(mode) else "a pipe or a device"


def make_folder(folder: Path) -> Path:
    """Create a folder and its parents if they do not exist."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise AliceError(f"cannot create the folder {folder} ({error.strerror}); write elsewhere") from error
    return folder


@contextmanager
def draft_folder(folder: Path) -> Iterator[Path]:
    """Create and lock a temporary folder next to `folder` for a block, which renames or removes it."""
    draft, descriptor = _make_draft(folder)
    try:
        yield draft
    finally:
        os.close(descriptor)


def _make_draft(folder: Path) -> tuple[Path, int]:
    while True:
        draft = _draft_of(folder)
        draft.mkdir(parents=True)
        try:
            descriptor = os.open(draft, os.O_RDONLY)
        except FileNotFoundError:  # another process removed it before it was locked
            continue
        if _claim(draft, descriptor):
            return draft, descriptor
        os.close(descriptor)


@contextmanager
def held(path: Path) -> Iterator[None]:
    """Lock a file or folder for a block; raise `BlockingIOError` if another process holds the lock."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        _lock(descriptor)
        yield
    finally:
        os.close(descriptor)


def remove_drafts(folder: Path, *, of: str | None = None) -> None:
    """Remove the stale drafts in a folder, only those of one file if `of` is given."""
    for draft, _ in abandoned_drafts(folder, of=of):
        remove(draft)


def remove(path: Path) -> None:
    """Remove a file, or a folder with its contents; ignore errors."""
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        with suppress(OSError):
            path.unlink()


_TEMPORARY: list[Path] = []


def remove_at_exit(folder: Path) -> None:
    """Remove a temporary folder when the program ends."""
    if not _TEMPORARY:
        atexit.register(remove_temporary)
    _TEMPORARY.append(folder)


def remove_temporary() -> None:
    """Remove the folders of `remove_at_exit`; the program calls it if it cannot end in the usual way."""
    while _TEMPORARY:
        remove(_TEMPORARY.pop())


def abandoned_drafts(folder: Path, *, of: str | None = None) -> Iterator[tuple[Path, str]]:
    """Yield each stale draft in a folder with its final name; it is locked meanwhile."""
    try:
        names = [name for name in os.listdir(folder) if name.endswith(DRAFT)]  # noqa: PTH208  (no paths: it is faster)
    except OSError:  # a folder may be writable but not listable
        return
    for name in names:
        found = _DRAFT_NAME.fullmatch(name)
        if found is None or of not in (None, found["name"]):
            continue
        with suppress(OSError):  # it is locked, gone, or belongs to another user
            descriptor = os.open(folder / name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            try:
                if _lock(descriptor):
                    yield folder / name, found["name"]
            finally:
                os.close(descriptor)


def _draft_of(path: Path) -> Path:
    return path.with_name(f".{path.name}.{secrets.token_hex(4)}{DRAFT}")


def _claim(draft: Path, descriptor: int) -> bool:
    """Lock a new draft; return whether it still exists, since another process may have removed it before."""
    try:
        _lock(descriptor)
    except BlockingIOError:
        return False
    return draft.exists()


def _lock(descriptor: int) -> bool:
    """Take a lock or raise if it is taken; return whether the file system supports locks."""
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise
    except OSError:
        return False
    return True


def read_text(path: Path, *, most: int) -> str:
    """Read a UTF-8 text file of at most `most` bytes.

    Raise OSError if it cannot be read or is larger, and UnicodeDecodeError if it is not UTF-8.
    """
    if what := _unreadable(path):
        raise OSError(errno.EINVAL, f"it is {what}")
    with path.open("rb") as file:
        too_large = os.fstat(file.fileno()).st_size > most  # before memory is reserved for it
        content = b"" if too_large else file.read(most + 1)
    if too_large or len(content) > most:
        raise OSError(errno.EINVAL, f"it is larger than {most // 10**6:,} MB")
    return content.decode()


def read_json(path: Path) -> Any:
    """Read a JSON file strictly, as UTF-8; raise OSError if it cannot be read and ValueError if it is not valid."""
    return parse_json(read_text(path, most=LARGEST_JSON))


def parse_json(text: str) -> Any:
    """Parse JSON strictly: no NaN, no repeated keys, no number beyond the range of a float; ValueError otherwise."""
    try:
        return json.loads(text, parse_constant=_refuse, parse_float=_finite, object_pairs_hook=_no_repeated_keys)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error


def _refuse(constant: str) -> Any:
    raise ValueError(f"{constant} is not valid JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if not math.isfinite(number):
        raise ValueError(f"the number {digits[:20]} is too large")
    return number


def _no_repeated_keys(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("an object repeats a key")
    return found
