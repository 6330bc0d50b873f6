"""`index.html` over all run folders: what each is, on which model, when, its headline metric and a sketch.

A folder that cannot be read is listed with the reason and takes nothing else down; folders whose names begin with
a dot are being written and are passed over.
"""

from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from urllib.parse import quote

from alice.errors import AliceError
from alice.files import atomic_write
from alice.reports import page
from alice.reports.archive import RESULT, read_without_arrays
from alice.reports.html import INDEX, REPORT
from alice.reports.provenance import analysis_of, date_of, model_of
from alice.reports.thumbnail import sketch

CACHED_RUNS = 2000
OUR_MARK = b'<meta name="generator" content="alice-interp">'
BYTES_OF_HEAD = 2000
"""The mark is in the first lines of a page."""


@dataclass(frozen=True)
class Entry:
    """One run in the gallery."""

    name: str
    """Name of its folder."""
    title: str = ""
    """Title of the result."""
    analysis: str = ""
    """Name of the analysis."""
    model: str = ""
    """Name of the checkpoint."""
    date: str = ""
    """When it ran."""
    metric: str = ""
    """Name of the headline metric."""
    value: str = ""
    """Its value as shown."""
    picture: str = ""
    """An SVG element of our own making, or nothing."""
    problem: str = ""
    """Why the run cannot be shown, or nothing."""

    @property
    def link(self) -> str:
        """The address of the report, relative to the gallery."""
        return f"{quote(self.name, safe='')}/{REPORT}"

    @property
    def search_text(self) -> str:
        """What the filter looks through."""
        return " ".join((self.name, self.title, self.analysis, self.model, self.date, self.metric)).lower()


def write_gallery(runs: Path | str) -> Path:
    """Write `index.html` into the folder of the runs and return where; a page that is not ours is not overwritten."""
    runs = Path(runs)
    text = render_gallery(runs)
    path = runs / INDEX
    if path.is_file() and not is_gallery(path):
        raise AliceError(
            f"{path} is no gallery of alice-interp and would be overwritten; move it or use another folder"
        )
    with atomic_write(path) as file:
        file.write(text)
    return path


def is_gallery(path: Path) -> bool:
    """Tell whether a file is a gallery that we wrote."""
    return path.is_file() and OUR_MARK in path.read_bytes()[:BYTES_OF_HEAD]


def render_gallery(runs: Path) -> str:
    """Return the page over all runs in a folder."""
    entries = read_entries(runs)
    good = [entry for entry in entries if not entry.problem]
    return page.render(
        "gallery.html",
        good=good,
        broken=[entry for entry in entries if entry.problem],
        analyses=sorted({entry.analysis for entry in good if entry.analysis}),
        models=sorted({entry.model for entry in good if entry.model}),
        folder=runs.absolute().name,
        style=page.resource("style.css"),
        theme_script=page.resource("theme.js"),
        gallery_script=page.resource("gallery.js"),
        policy=page.policy(scripts()),
    )


def scripts() -> list[str]:
    """Return the policy sources of the scripts that stand inside the gallery."""
    return [page.script_hash(page.resource(name)) for name in ("theme.js", "gallery.js")]


def read_entries(runs: Path) -> list[Entry]:
    """Return what the gallery shows, the newest run first."""
    try:
        folders = sorted(path for path in runs.absolute().iterdir() if not path.name.startswith(".") and path.is_dir())
    except OSError as error:
        raise AliceError(f"the folder {runs} cannot be read: {error.strerror}") from error
    entries = [_entry(folder) for folder in folders]
    return sorted(entries, key=lambda entry: (entry.date, entry.name), reverse=True)


def _entry(folder: Path) -> Entry:
    try:
        if not (folder / RESULT).is_file():
            raise AliceError(f"it has no {RESULT}: it is not complete, or no run at all")
        if not (folder / RESULT).resolve().is_relative_to(folder.parent.resolve()):
            raise AliceError("it is a link that leads out of this folder; copy the run itself")
        state = (folder / RESULT).stat()
        entry = _read_entry(folder, state.st_mtime_ns, state.st_size)
        if not (folder / REPORT).is_file():
            raise AliceError(f"it has no {REPORT}; `alice-interp report` makes one")
        return entry
    except AliceError as error:
        return Entry(folder.name, problem=_one_line(str(error)))
    except Exception as error:  # whatever a damaged folder provokes, the others must still be shown
        return Entry(folder.name, problem=_one_line(f"{type(error).__name__}: {error}"))


@lru_cache(maxsize=CACHED_RUNS)
def _read_entry(folder: Path, changed: int, size: int) -> Entry:
    """Read a run; time and size of its file are there to notice that it changed."""
    run = read_without_arrays(folder)
    metric = run.result.headline_metric()
    pictures = (sketch(figure.figure) for figure in run.result.figures.values())
    return Entry(
        name=folder.name,
        title=run.result.title,
        analysis=analysis_of(run.provenance),
        model=model_of(run.provenance),
        date=date_of(run.provenance),
        metric=metric.label if metric else "",
        value=str(metric) if metric else "",
        picture=next((picture for picture in pictures if picture), ""),
    )


def _one_line(text: str) -> str:
    return " ".join(text.split())[:300]
