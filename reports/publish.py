"""One call for a runner: a result becomes a folder with its report, and the gallery knows it.

What took hours to compute is never thrown away: once the result is written, whatever fails afterwards leaves it there.
"""

import errno
import shutil
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, suppress
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from typing import Any

from alice.errors import AliceError
from alice.files import abandoned_drafts, draft_folder, remove, remove_drafts
from alice.reports.archive import RESULT, Report, write_result
from alice.reports.gallery import is_gallery, write_gallery
from alice.reports.html import INDEX, write_report
from alice.reports.provenance import analysis_of, models_of
from alice.reports.result import Result, model_slug

LONGEST_NAME = 100
_TAKEN = {errno.EEXIST, errno.ENOTEMPTY}


def publish(report: Report, out: Path | str, *, standalone: bool = False) -> Report:
    """Store a report in a new folder of `out`, with its page, and add it to the gallery there.

    The folder gets its name when the result is complete; until then it has one that the gallery ignores. If another
    process takes the name meanwhile, the folder gets a number. A gallery that is not ours is left alone.
    """
    folder = Path(out).absolute() / _folder_name(report.provenance)
    _clear(folder.parent)
    with ExitStack() as held:
        try:
            draft = held.enter_context(draft_folder(folder))
        except OSError as error:
            raise AliceError(f"cannot create a folder in {folder.parent}: {error.strerror}") from error
        stored = _store(draft, report.result, report.provenance)
        stored = replace(stored, folder=_give_name(draft, folder))
    try:
        _write_page(stored, standalone=standalone)
    finally:  # the gallery also lists a report without a page
        _renew_gallery(stored.stored_in)
    return stored


def _folder_name(provenance: Mapping[str, Any]) -> str:
    """Return analysis, checkpoints and the time to the second."""
    models = "+".join(model_slug(model) for model in models_of(provenance))
    name = "-".join(part for part in (analysis_of(provenance) or "report", models) if part)[:LONGEST_NAME]
    return f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"


def _clear(runs: Path) -> None:
    """Remove what processes that died left half written among the runs; a result that was whole gets its name."""
    for draft, name in abandoned_drafts(runs):
        if (draft / RESULT).is_file():
            with suppress(AliceError):  # then it stays where it is
                _give_name(draft, runs / name)
        else:
            remove(draft)
    for found in runs.glob(f"[!.]*/{RESULT}"):
        remove_drafts(found.parent)


def _store(draft: Path, result: Result, provenance: Mapping[str, Any]) -> Report:
    try:
        return write_result(draft, result, provenance)
    except BaseException as error:
        shutil.rmtree(draft, ignore_errors=True)
        if isinstance(error, OSError):
            raise AliceError(
                f"the result cannot be written into {draft.parent}: {_told(error)}; use another folder"
            ) from error
        raise


def _give_name(draft: Path, folder: Path) -> Path:
    """Rename a draft to the first name that is free, and return it."""
    for name in _numbered(folder):
        try:
            return draft.rename(name)
        except OSError as error:
            if error.errno not in _TAKEN:
                raise AliceError(
                    f"the result is whole but lies in {draft} and cannot become {name.name} ({_told(error)}); rename it"
                ) from error
    raise AssertionError("there is always another number")


def _numbered(folder: Path) -> Iterator[Path]:
    yield folder
    yield from (folder.with_name(f"{folder.name}-{number}") for number in count(2))


def _write_page(run: Report, *, standalone: bool) -> None:
    try:
        write_report(run, standalone=standalone)
    except Exception as error:  # whatever a figure provokes, the result must outlive it
        raise AliceError(
            f"the result is stored in {run.folder}, but its page could not be made ({_told(error)}); "
            "once that is mended, `alice-interp report` makes it"
        ) from error


def _renew_gallery(folder: Path) -> None:
    index = folder.parent / INDEX
    try:
        if is_gallery(index) or not index.exists():
            write_gallery(folder.parent)
    except (OSError, AliceError) as error:
        raise AliceError(f"the result is stored in {folder}, but not in the gallery: {_told(error)}") from error


def _told(error: Exception) -> str:
    """Return an error in one line."""
    if isinstance(error, OSError) and error.strerror:
        return error.strerror
    return " ".join((str(error) if isinstance(error, AliceError) else f"{type(error).__name__}: {error}").split())[:300]
