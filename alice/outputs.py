"""What may be written where: one rule for every command, tested before anything is computed.

What a user names as output is never an input, inside one or around one, never part of something else, and what exists
is replaced only if the user asks for it.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any, Literal

from alice.errors import AliceError
from alice.files import read_json, regular_file, user_path

FolderKind = Literal["training", "checkpoint", "report", "reproduction", "folder of reports"]
"""What a folder that this program writes can be."""
REPRODUCTION = "alice-interp reproduction"
"""The format that `reproduce.json` names; another program may use that file name as well."""
OWN_FILES = {
    *("training.json", "training-state.safetensors", "metrics.jsonl", "config.json", "model.safetensors", "card.md"),
    *("result.json", "arrays.npz", "entry.json", "thumbnail.svg", "reproduce.json", "entries.js"),
}
"""Files that make up a folder of ours; `--force` does not replace one of them by something else."""


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
