"""The gallery of a folder of reports: what each is, on which model, when, its headline metric and a thumbnail.

Every report keeps its own `entry.json` and `thumbnail.svg`. `index.html` is the same for all galleries; it loads
`entries.js`, which has a line for each report. Publishing appends one line and reads no other report. `write_gallery`
writes `entries.js` again from the entries of the folders: deleted reports vanish, copied ones appear.
"""

import errno
import fcntl
import json
import os
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass, fields
from functools import cache
from pathlib import Path
from typing import IO, Any
from urllib.parse import quote

from alice.errors import AliceError, one_line
from alice.files import atomic_write, read_json, remove_drafts
from alice.reports import page
from alice.reports.archive import RESULT, Report, read_without_arrays
from alice.reports.html import INDEX, REPORT, head
from alice.reports.thumbnail import sketch

ENTRY = "entry.json"
THUMBNAIL = "thumbnail.svg"
ENTRIES = "entries.js"
TRAINING = "training.json"
"""A folder with this file and without a result is a training."""
SCRIPT_MARK = b"// Written by alice-interp"
HEADER = SCRIPT_MARK + b": reports in this folder, one per line. `alice-interp report` writes it again.\n"
MARK = b'<meta name="generator" content="alice-interp'
LONGEST_FIELD, MOST_MODELS = 300, 10
MOST_BYTES = 2**16
"""Maximum size of an entry."""
SECONDS_TO_LOCK = 20
"""How long to wait for another process that adds a report."""


@dataclass(frozen=True)
class Entry:
    """What the gallery shows of one report."""

    title: str
    """Title of the result."""
    analysis: str = ""
    """Name of the analysis."""
    models: tuple[str, ...] = ()
    """Names of the checkpoints."""
    date: str = ""
    """When it ran."""
    metric: str = ""
    """Label of the headline metric."""
    value: str = ""
    """Its value as shown."""
    picture: bool = False
    """Whether there is a thumbnail."""


@dataclass(frozen=True)
class Listed:
    """A folder in the gallery, with its entry or with the reason why it has none."""

    name: str
    """Name of the folder."""
    entry: Entry | None = None
    problem: str = ""

    def line(self) -> bytes:
        """Return the call that adds this report to the page; as JSON inside a script it cannot contain code."""
        shown = {"problem": self.problem} if self.entry is None else asdict(self.entry)
        address = quote(os.fsencode(self.name), safe="")
        return f"addReport({page.script_json({'name': self.name, 'address': address, **shown})});\n".encode()


def write_entry(report: Report) -> Entry:
    """Write the entry and the thumbnail of a stored report into its folder."""
    picture = next(filter(None, (sketch(figure.json) for figure in report.figures.values())), "")
    entry = _make_entry(report, picture=bool(picture))
    if picture:
        with atomic_write(report.stored_in / THUMBNAIL) as file:
            file.write(picture)
    with atomic_write(report.stored_in / ENTRY) as file:
        json.dump(asdict(entry), file)
    return entry


def add_report(folder: Path) -> None:
    """Append a report folder to its gallery without reading the other reports; a foreign page is left alone."""
    reports = folder.parent
    if not write_index(reports):
        return
    with _locked(reports / ENTRIES) as file:
        if file.seek(0, os.SEEK_END):
            _append(file, _listed(folder, write=False).line())
            return
    write_gallery(reports)  # the list is new or was deleted


def write_gallery(reports: Path | str) -> Path:
    """Write the gallery of a folder from the entries of its reports and return the path of its `index.html`.

    Reports that a killed process left with a complete result are finished first.
    """
    from alice.reports.publish import finish_drafts  # it imports this module

    reports = Path(reports)
    finish_drafts(reports)
    known = {one.name: one for one in read_entries(reports, write=True) if one.entry is not None}
    if not write_index(reports):
        raise AliceError(
            f"{reports / INDEX} is not a gallery of alice-interp and would be overwritten; "
            "move it or use another folder"
        )
    with _locked(reports / ENTRIES):
        # No other process can add a report now; read those that were added or could not be read before.
        listed = [known.get(folder.name) or _listed(folder, write=False) for folder in _folders(reports)]
        with atomic_write(reports / ENTRIES, "wb") as file:
            file.write(render_entries(listed))
    return reports / INDEX


def write_index(reports: Path) -> bool:
    """Write `index.html` if it is absent or outdated; return False if another program wrote it."""
    path = reports / INDEX
    if path.exists() and not is_gallery(path):
        return False
    if not path.exists() or _version() not in head(path):
        with atomic_write(path) as file:
            file.write(render_index())
    return True


def is_gallery(path: Path) -> bool:
    """Tell whether a file is a gallery that this program wrote."""
    return path.is_file() and MARK in head(path)


def render_index() -> str:
    """Return the page that shows the reports in `entries.js`."""
    nonce = secrets.token_hex(16)  # the author of a result cannot predict it
    return page.render(
        "gallery.html",
        style=page.resource("style.css"),
        theme_script=page.resource("theme.js"),
        gallery_script=page.resource("gallery.js"),
        entries=ENTRIES,
        nonce=nonce,
        generator=_version().decode(),
        policy=page.policy([*scripts(), f"'nonce-{nonce}'"], images="'self' file: data:"),
    )


def render_entries(listed: list[Listed]) -> bytes:
    """Return the content of `entries.js`."""
    return HEADER + b"".join(one.line() for one in listed)


def scripts() -> list[str]:
    """Return the policy sources of the scripts inside the gallery."""
    return [page.script_hash(page.resource(name)) for name in ("theme.js", "gallery.js")]


def read_entries(reports: Path, *, write: bool = False) -> list[Listed]:
    """Return what the gallery lists; `write` adds missing entries and removes stale temporary files."""
    return [_listed(folder, write=write) for folder in _folders(reports)]


def _folders(reports: Path) -> list[Path]:
    """Return the folders to list: all but hidden ones and trainings."""
    try:
        found = sorted(path for path in reports.absolute().iterdir() if not path.name.startswith("."))
    except OSError as error:
        raise AliceError(f"the folder {reports} cannot be read: {error.strerror}") from error
    return [folder for folder in found if folder.is_dir() and not _is_training(folder)]


def _is_training(folder: Path) -> bool:
    return (folder / TRAINING).is_file() and not (folder / RESULT).exists()


def _listed(folder: Path, *, write: bool) -> Listed:
    try:
        entry = _entry(folder, write=write)
    except Exception as error:  # a damaged folder can raise anything, and the others must still be shown
        entry = one_line(error)[:LONGEST_FIELD]
    return Listed(folder.name, problem=entry) if isinstance(entry, str) else Listed(folder.name, entry)


def _entry(folder: Path, *, write: bool) -> Entry | str:
    """Return the entry of a folder, or why it has none."""
    result = folder / RESULT
    if not result.is_file():
        return f"it has no {RESULT}: it is incomplete or not a report"
    linked = folder.is_symlink() or result.is_symlink()
    if linked and not result.resolve().is_relative_to(folder.parent.resolve()):
        return "it is a link out of this folder; copy the report itself"
    if write:
        remove_drafts(folder)
    found: Entry | str | None = _stored_entry(folder)
    if found is None:
        found = _read_entry(folder, result.stat().st_mtime_ns, result.stat().st_size)
        if write and isinstance(found, Entry):
            with suppress(OSError, AliceError):  # a folder that cannot be written is listed all the same
                found = write_entry(read_without_arrays(folder))
    if isinstance(found, Entry) and not (folder / REPORT).is_file():
        return f"it has no {REPORT}; `alice-interp report` makes one"
    return found


def _stored_entry(folder: Path) -> Entry | None:
    """Return the stored entry of a report, or None if it is missing or damaged."""
    path = folder / ENTRY
    try:
        return None if path.stat().st_size > MOST_BYTES else _checked(read_json(path))
    except (OSError, ValueError):
        return None


def _checked(values: Any) -> Entry | None:
    """Return an entry whose fields have the right types: it may come from an untrusted source."""
    if not isinstance(values, dict) or values.keys() != {field.name for field in fields(Entry)}:
        return None
    models, picture = values.pop("models"), values.pop("picture")
    fits = isinstance(models, list) and isinstance(picture, bool)
    if not fits or not all(isinstance(text, str) for text in (*models, *values.values())):
        return None
    return Entry(**values, models=tuple(models), picture=picture)


@cache
def _read_entry(folder: Path, changed: int, size: int) -> Entry | str:
    """Return the entry of a report that has none stored, or why it cannot be read; a changed result is read again."""
    try:
        return _make_entry(read_without_arrays(folder), picture=False)
    except AliceError as error:
        return one_line(error)[:LONGEST_FIELD]


def _make_entry(report: Report, *, picture: bool) -> Entry:
    metric = report.result.headline_metric()
    label = "" if metric is None else metric.label
    if metric is not None and metric.model and len(report.models) > 1:
        label = f"{label}, {metric.model}"
    value = "" if metric is None else str(metric)
    texts = (text[:LONGEST_FIELD] for text in (report.title, report.analysis, report.date, label, value))
    title, analysis, date, label, value = texts
    models = tuple(name[:LONGEST_FIELD] for name in report.models[:MOST_MODELS])
    return Entry(title, analysis, models, date, label, value, picture)


@contextmanager
def _locked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for appending and hold its lock; another process may replace the file while we wait."""
    last = time.monotonic() + SECONDS_TO_LOCK
    while True:
        descriptor = os.open(path, os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK, 0o666)
        with open(descriptor, "r+b", buffering=0) as file:  # noqa: PTH123 - a Path cannot open a descriptor
            if _lock(descriptor) and _is_same(descriptor, path):
                if file.read(len(SCRIPT_MARK)) not in (b"", SCRIPT_MARK):
                    raise AliceError(f"{path} was not written by alice-interp; move it or use another folder")
                yield file
                return
        if time.monotonic() > last:
            raise AliceError(f"another process has been writing {path} for {SECONDS_TO_LOCK} seconds; try again")
        time.sleep(0.02)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:  # this file system has no locks
        return True
    return True


def _is_same(descriptor: int, path: Path) -> bool:
    with suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(descriptor), path.stat())
    return False


def _append(file: IO[bytes], line: bytes) -> None:
    """Append a line to `entries.js`, removing a line that a power cut or a full disk left incomplete."""
    size = file.seek(0, os.SEEK_END)
    file.seek(max(0, size - MOST_BYTES))
    size -= len(file.read().rpartition(b"\n")[2])
    file.truncate(size)
    try:
        complete = file.write(line) == len(line)
    except OSError:
        file.truncate(size)
        raise
    if not complete:
        file.truncate(size)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@cache
def _version() -> bytes:
    """Return the mark of the current design, which an up-to-date `index.html` has in its head."""
    design = "".join(page.resource(name) for name in ("gallery.html", "head.html", "style.css"))
    return f"alice-interp gallery {page.script_hash(design + ''.join(scripts()))[8:24]}".encode()
