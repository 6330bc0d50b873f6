"""A report becomes a folder with its page, and the gallery lists it.

What took hours to compute is never thrown away: once the result is written, later failures leave it in place.
"""

import errno
import shutil
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path

from alice.errors import AliceError, one_line
from alice.files import abandoned_drafts, draft_folder, remove, remove_drafts
from alice.outputs import check_parent
from alice.reports import plotly_script
from alice.reports.archive import RESULT, Report, read_report, write_result
from alice.reports.gallery import add_report, write_entry, write_index
from alice.reports.html import write_report
from alice.reports.names import model_slug

LONGEST_NAME = 100
LONGEST_REASON = 300
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY}


def publish(report: Report, out: Path | str, *, standalone: bool = False) -> Report:
    """Store a report in a new folder of `out`, with its page, and add it to the gallery there.

    The folder has a temporary name until it is complete. If another process takes the final name meanwhile, a number is
    appended. A gallery that this program did not write is left alone.
    """
    folder = check_place(out, standalone=standalone).absolute() / _folder_name(report)
    for finished in finish_drafts(folder.parent):
        with suppress(AliceError):
            _list(finished)
    failure: Exception | None = None
    with ExitStack() as held:
        try:
            draft = held.enter_context(draft_folder(folder))
        except OSError as error:
            raise AliceError(f"cannot create a folder in {folder.parent}: {error.strerror}") from error
        stored = _store(draft, report)
        try:
            _write_pages(stored, standalone=standalone)
        except Exception as error:  # drawing can raise anything, and the result must be kept
            failure = error
        finally:
            stored = replace(stored, folder=_give_name(draft, folder))
    _list(stored.stored_in)
    if failure is not None:
        raise AliceError(
            f"the result is stored in {stored.folder}, but its page could not be made ({_reason(failure)}); "
            "once that is fixed, `alice-interp report` makes it"
        ) from failure
    return stored


def check_place(out: Path | str, *, standalone: bool = False) -> Path:
    """Return the path of a folder for reports; raise if it is something else, or has another script for drawing."""
    out = check_parent(out)
    if not standalone:
        plotly_script.check_place(out)
    return out


def _folder_name(report: Report) -> str:
    """Return analysis, checkpoints and the time to the second."""
    models = "+".join(map(model_slug, report.models))
    name = "-".join(part for part in (report.analysis or "report", models) if part)[:LONGEST_NAME]
    return f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def finish_drafts(reports: Path) -> list[Path]:
    """Remove incomplete reports of killed processes, finish those whose result is complete, and return their folders.

    This lists the names in the folder, which takes about a millisecond for 2,000 reports.
    """
    finished = []
    for draft, name in abandoned_drafts(reports):
        if not (draft / RESULT).is_file():
            remove(draft)
            continue
        with suppress(Exception):  # the result is kept even if it has no page
            remove_drafts(draft)
            _write_pages(read_report(draft))
        with suppress(AliceError):
            finished.append(_give_name(draft, reports / name))
    return finished


def _store(draft: Path, report: Report) -> Report:
    try:
        return write_result(draft, report.result, report.provenance)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(error, OSError):
            raise AliceError(
                f"the result cannot be written into {draft.parent}: {_reason(error)}; use another folder"
            ) from error
        raise


def _write_pages(stored: Report, *, standalone: bool = False) -> None:
    with suppress(OSError, AliceError):  # reported when the gallery is written
        write_index(stored.stored_in.parent)
    write_report(stored, standalone=standalone)
    write_entry(stored)


def _give_name(draft: Path, folder: Path) -> Path:
    """Rename a folder to the first name that is free, and return it."""
    for name in _numbered(folder):
        try:
            return draft.rename(name)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise AliceError(
                    f"the result is complete but still in {draft}, because it cannot be renamed to {name.name} "
                    f"({_reason(error)}); rename it"
                ) from error
    raise AssertionError("there is always another number")


def _numbered(folder: Path) -> Iterator[Path]:
    yield folder
    yield from (folder.with_name(f"{folder.name}-{number}") for number in count(2))


def _list(folder: Path) -> None:
    try:
        add_report(folder)
    except (OSError, AliceError) as error:
        raise AliceError(f"the result is stored in {folder}, but not in the gallery: {_reason(error)}") from error


def _reason(error: Exception) -> str:
    """Return an error in one short line."""
    text = error.strerror if isinstance(error, OSError) and error.strerror else one_line(error)
    return text[:LONGEST_REASON]
