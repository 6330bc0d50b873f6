"""One call for a runner: a result becomes a folder with its report, and the gallery knows it."""

import secrets
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alice.errors import AliceError
from alice.reports import plotly_script
from alice.reports.archive import StoredRun, write_run
from alice.reports.gallery import write_gallery
from alice.reports.html import REPORT, render_report
from alice.reports.result import Result


def publish(folder: Path | str, result: Result, provenance: Mapping[str, Any]) -> StoredRun:
    """Store a result in a new folder, with its report, and renew the gallery of the folder above.

    The folder appears under its name when it is complete; until then it has a name that the gallery passes over.
    """
    folder = Path(folder).absolute()
    if folder.exists():
        raise AliceError(f"{folder} already exists; give the run another name")
    draft = folder.with_name(f".{folder.name}.{secrets.token_hex(4)}.tmp")
    try:
        draft.mkdir(parents=True)
    except OSError as error:
        raise AliceError(f"cannot create a folder in {folder.parent}: {error.strerror}") from error
    try:
        run = write_run(draft, result, provenance)
        (draft / REPORT).write_text(render_report(run), encoding="utf-8", newline="\n")
        plotly_script.place(folder.parent)
        draft.rename(folder)
    except BaseException:
        shutil.rmtree(draft, ignore_errors=True)
        raise
    write_gallery(folder.parent)
    return StoredRun(folder, run.result, run.provenance)
