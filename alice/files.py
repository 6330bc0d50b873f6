"""Paths and files: what may be read, what may be overwritten, and writes that are atomic.

A file appears under its name only when it is complete. Until then it is a draft, a temporary file such as
`.result.json.0a1b2c3d.alice-interp-draft`, an ending that no other program uses. Writers lock their drafts; unlocked
ones are stale and get removed by the next writer. On file systems without locks, stale drafts stay.

One rule for everything that a user names as output: it is never an input, inside one or around one, never part of
something else, and what exists is replaced only if the user asks for it. `check_file`, `check_folder` and
`check_parent` test it before anything is computed or written.
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
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import IO, Any, Literal, overload

from alice.errors import AliceError

NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG}
LONGEST_SHOWN = 60
HUB_SECONDS = 10.0
"""How long to wait for the first answer of the Hugging Face hub."""
FolderKind = Literal["training", "checkpoint", "report", "reproduction", "folder of reports"]
"""What a folder that this program writes can be."""
REPRODUCTION = "alice-interp reproduction"
"""The format that `reproduce.json` names; another program may use that file name as well."""
OWN_FILES = {
    *("training.json", "training-state.safetensors", "metrics.jsonl", "config.json", "model.safetensors", "card.md"),
    *("result.json", "arrays.npz", "entry.json", "thumbnail.svg", "reproduce.json", "entries.js"),
}
"""Files that make up a folder of ours; `--force` does not replace one of them by something else."""
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


def folder_kind(folder: Path) -> FolderKind | None:
    """Detect the kind of folder from its files, without listing it; None if this program did not write it."""
    if _has(folder, "training-state.safetensors"):
        return "training"
    # An exported checkpoint also has a training.json, with totals.
    if _has(folder, "training.json") and "totals" not in _read_object(folder / "training.json"):
        return "training"
    complete = _has(folder, "config.json")  # it is written after the weights
    if _has(folder, "model.safetensors") and not (complete and "format" not in _read_object(folder / "config.json")):
        return "checkpoint"
    if _has(folder, "result.json"):
        return "report"
    if _read_object(folder / "reproduce.json").get("format") == REPRODUCTION:
        return "reproduction"
    return "folder of reports" if _has(folder, "entries.js") else None


def _has(folder: Path, name: str) -> bool:
    """Return whether a folder contains a name."""
    try:
        (folder / name).lstat()
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError as error:
        raise AliceError(f"the folder {folder} cannot be read ({error.strerror}); choose another") from error
    return True


def _names_in(folder: Path) -> set[str]:
    """Return the names in a folder, without hidden files and drafts; none if there is no such folder."""
    try:
        return {path.name for path in folder.iterdir() if not path.name.startswith(".")}
    except (FileNotFoundError, NotADirectoryError):
        return set()
    except OSError as error:
        raise AliceError(f"the folder {folder} cannot be read ({error.strerror}); choose another") from error


def _read_object(path: Path) -> dict[str, Any]:
    """Return a JSON object in a file; an empty one if it cannot be read."""
    try:
        found = read_json(path)
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def check_not_read(out: Path, read: Iterable[Path]) -> None:
    """Raise if a path to write is one of those that are read, by any name, or is inside one of them or around it."""
    above = [place for place in out.resolve().parents if place.exists()]
    for path in filter(Path.exists, read):
        if out.exists() and path.samefile(out):
            raise AliceError(f"{out} is read by this command and would be overwritten; write elsewhere")
        if any(path.samefile(place) for place in above):
            raise AliceError(f"{out} is inside {path}, which is read by this command; write elsewhere")
        if out.is_dir() and any(out.samefile(place) for place in path.resolve().parents):
            raise AliceError(f"{path} is read by this command, and {out} would be replaced around it; write elsewhere")


def check_file(
    out: Path | str,
    *,
    read: Iterable[Path] = (),
    is_ours: Callable[[Path], bool] = lambda path: False,
    force: bool = False,
) -> Path:
    """Return the path of a file to write; raise if that would destroy something.

    Args:
        out: the file that the user names.
        read: files and folders that the command reads.
        is_ours: tells whether an existing file is what the command writes, and may be replaced.
        force: whether the user wants any other file to be replaced.

    """
    out = user_path(out)
    check_not_read(out, read)
    if not out.exists():
        return out
    regular_file(out)
    if out.name in OWN_FILES and (kind := folder_kind(out.parent)):
        raise AliceError(f"{out} belongs to a {kind}; write to another file")
    if not (force or is_ours(out)):
        raise AliceError(f"{out} already exists; add --force to replace it, or write to another file")
    return out


def check_folder(
    out: Path | str,
    *,
    writes: FolderKind,
    read: Iterable[Path] = (),
    replace: bool = False,
    hint: str = "add --force to replace it",
    besides: Iterable[str] = (),
) -> Path:
    """Return the path of a folder to write; raise if it is not empty, unless it holds what `replace` allows to replace.

    Args:
        out: the folder that the user names.
        writes: what it will be.
        read: files and folders that the command reads.
        replace: whether an existing folder of this kind may be written to.
        hint: how the user can ask for that.
        besides: names that do not count.

    """
    out = _folder_path(out)
    check_not_read(out, read)
    names = _names_in(out) - set(besides)
    kind = folder_kind(out)
    if names and kind != writes:
        found = f"is a {kind}" if kind else f"is not empty and not a {writes}"
        raise AliceError(f"{out} {found}; choose another folder")
    if names and not replace:
        raise AliceError(f"{out} is already a {writes}; {hint}, or choose another folder")
    return out


def check_parent(out: Path | str) -> Path:
    """Return the path of a folder in which new folders are created; raise if it is a training, checkpoint or report."""
    out = _folder_path(out)
    kind = folder_kind(out)
    if kind not in (None, "folder of reports"):
        raise AliceError(f"{out} is a {kind}; choose a folder of its own for what this command writes")
    return out


def _folder_path(out: Path | str) -> Path:
    """Return the path of a folder; raise if a file is in its way, or if it is inside something that we wrote."""
    out = user_path(out)
    if files := [place for place in (out, *out.parents) if place.exists() and not place.is_dir()]:
        raise AliceError(f"cannot create the folder {out}, because {files[0]} is a file; write elsewhere")
    for place in out.resolve().parents:
        if (kind := folder_kind(place)) in ("training", "checkpoint", "report"):
            raise AliceError(f"{out} is inside {place}, which is a {kind}; choose a folder of its own")
    return out


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


def read_json(path: Path) -> Any:
    """Read a JSON file strictly, as UTF-8; raise OSError if it cannot be read and ValueError if it is not valid."""
    if what := _unreadable(path):
        raise OSError(errno.EINVAL, f"it is {what}")
    return parse_json(path.read_text(encoding="utf-8"))


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
