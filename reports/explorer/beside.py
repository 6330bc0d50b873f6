"""Explorer pages that lie in a folder of reports, and the links from the reports to them."""

import html
import os
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from urllib.parse import quote

from alice.reports.explorer.state import Trial, fragment
from alice.reports.explorer.write import MARK
from alice.reports.names import model_slug

BYTES_OF_HEAD = 8000
"""The mark of a page and the name of its model are in its first lines."""
PATTERN = "explore*.html"
_MODEL = re.compile(r'<meta name="alice-model" content="([^"]*)">')


def file_name(model: str) -> str:
    """Return what the explorer page of a model is called in a folder of reports."""
    return f"explore-{model_slug(model)}.html"


def model_of(path: Path) -> str | None:
    """Return the model of an explorer page; None if the file is something else."""
    try:
        with path.open("rb") as file:
            head = file.read(BYTES_OF_HEAD)
    except OSError:
        return None
    found = _MODEL.search(head.decode(errors="replace")) if MARK in head else None
    return html.unescape(found[1]) if found else None


def pages_in(folder: Path) -> dict[str, str]:
    """Return the file names of the explorer pages in a folder, by model."""
    found = {model: path.name for path in sorted(folder.glob(PATTERN)) if (model := model_of(path)) is not None}
    return dict(sorted(found.items()))


def links(trials: Iterable[Trial], pages: Mapping[str, str], address: str) -> list[dict[str, str]]:
    """Return links to what can be tried, for the models that have a page in the folder at `address`."""
    files = {model: quote(os.fsencode(file)) for model, file in pages.items()}
    return [
        {"label": trial.label, "model": trial.model, "href": f"{address}/{files[trial.model]}{fragment(trial.state)}"}
        for trial in trials
        if trial.model in files
    ]
