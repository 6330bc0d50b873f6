"""A result in a folder and back, exactly: `result.json` with everything but the arrays, and `arrays.npz`.

Nothing is pickled. Reading is strict, because a folder may come from a stranger: whatever is not as we write it is
refused with a sentence. The same result and provenance give the same bytes.
"""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from alice.errors import AliceError
from alice.files import atomic_write
from alice.reports import array_file, encoding
from alice.reports.result import Figure, Result, Table

RESULT = "result.json"
ARRAYS = "arrays.npz"
FORMAT = "alice-interp result"
VERSION = 1


@dataclass(frozen=True, eq=False)
class StoredRun:
    """A result as it lies in a folder, with where it came from."""

    folder: Path
    """Folder of the run."""
    result: Result
    """What was found."""
    provenance: Mapping[str, Any]
    """How: analysis, checkpoint, data, seed, options, versions, plugin, machine, duration, time."""


def write_run(folder: Path | str, result: Result, provenance: Mapping[str, Any]) -> StoredRun:
    """Write a result into an existing folder; `result.json` comes last, so where it is, all is."""
    folder = Path(folder)
    packed = array_file.pack(result.arrays)
    document = _document(result, provenance, hashlib.sha256(packed).hexdigest())
    with atomic_write(folder / ARRAYS, "wb") as file:
        file.write(packed)
    with atomic_write(folder / RESULT) as file:
        file.write(encoding.write_json(document))
    return StoredRun(folder, result, encoding.decode(document["provenance"]))


def read_run(folder: Path | str) -> StoredRun:
    """Read a run from its folder."""
    return _read(Path(folder), with_arrays=True)


def read_without_arrays(folder: Path | str) -> StoredRun:
    """Read a run but for its arrays, which no page shows."""
    return _read(Path(folder), with_arrays=False)


def fingerprint(result: Result) -> str:
    """Return a hash of all that a result holds: two results are the same if their fingerprints are."""
    packed = hashlib.sha256(array_file.pack(result.arrays)).hexdigest()
    return hashlib.sha256(encoding.write_json(_document(result, {}, packed)).encode()).hexdigest()


def _read(folder: Path, *, with_arrays: bool) -> StoredRun:
    path = folder / RESULT
    document = _parse(path)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise AliceError(f"{path} is no result of alice-interp; name the folder of a run")
    if document.get("version") != VERSION:
        raise AliceError(
            f"{path} has version {document.get('version')!r:.60} of the format, not {VERSION}; upgrade the program"
        )
    try:
        arrays = array_file.read(folder / ARRAYS, document["arrays_sha256"]) if with_arrays else {}
        provenance = encoding.decode(document["provenance"])
        result = _result(document["result"], arrays)
    except array_file.BrokenArraysError:
        raise
    except Exception as error:  # numpy and plotly raise anything over a damaged or hostile document
        raise AliceError(f"{path} is damaged or was made by a newer version: {_sentence(error)}") from error
    if not isinstance(provenance, dict):
        raise AliceError(f"{path} is damaged: its provenance is no object")
    return StoredRun(folder, result, provenance)


def _parse(path: Path) -> Any:
    try:
        return encoding.read_json(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise AliceError(f"{path} does not exist; name the folder of a run that was completed") from error
    except OSError as error:
        raise AliceError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError, MemoryError) as error:
        raise AliceError(f"{path} is no valid JSON: {_sentence(error)}") from error


def _sentence(error: BaseException) -> str:
    """Return the first line of a library's error, shortened: it may quote the whole file."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    return lines[0].strip()[:160]


def _document(result: Result, provenance: Mapping[str, Any], arrays_sha256: str) -> dict[str, Any]:
    return {
        "format": FORMAT,
        "version": VERSION,
        "result": {
            "title": result.title,
            "summary": result.summary,
            "caveats": list(result.caveats),
            "metrics": {name: encoding.encode(value, name) for name, value in result.metrics.items()},
            "headline": result.headline,
            "tables": {name: _table_document(table) for name, table in result.tables.items()},
            "figures": {name: _figure_document(figure, name) for name, figure in result.figures.items()},
        },
        "arrays_sha256": arrays_sha256,
        "provenance": encoding.encode(provenance, "the provenance"),
    }


def _table_document(table: Table) -> dict[str, Any]:
    return {
        "columns": list(table.columns),
        "caption": table.caption,
        "monospace": list(table.monospace),
        "rows": [encoding.encode(row, "a table") for row in table.rows],
    }


def _figure_document(figure: Figure, name: str) -> dict[str, Any]:
    drawn, where = figure.figure, f"the figure {name!r}"
    return {
        "caption": figure.caption,
        "table": None if figure.data is None else _table_document(figure.data),
        "traces": [encoding.encode(trace.to_plotly_json(), where) for trace in drawn.data],
        "layout": encoding.encode(drawn.layout.to_plotly_json(), where),
        "frames": [encoding.encode(frame.to_plotly_json(), where) for frame in drawn.frames],
    }


def _result(document: dict[str, Any], arrays: Mapping[str, Any]) -> Result:
    fields = {**document}
    tables, figures, metrics = fields.pop("tables"), fields.pop("figures"), fields.pop("metrics")
    return Result(
        **fields,  # an unknown field is a TypeError
        metrics={name: encoding.decode(value) for name, value in metrics.items()},
        tables={name: _table(table) for name, table in tables.items()},
        figures={name: _figure(**figure) for name, figure in figures.items()},
        arrays=arrays,
    )


def _table(document: dict[str, Any]) -> Table:
    return Table(**{**document, "rows": [encoding.decode(row) for row in document["rows"]]})


def _figure(*, caption: str, table: dict[str, Any] | None, traces: Any, layout: Any, frames: Any) -> Figure:
    import plotly.graph_objects as go

    drawn = go.Figure(data=encoding.decode(traces), layout=encoding.decode(layout), frames=encoding.decode(frames))
    return Figure(drawn, caption, None if table is None else _table(table))
