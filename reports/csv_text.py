"""Tables and figures as CSV text: the numbers behind a picture, one observation per row."""

import base64
import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from alice.reports.checks import Cell
from alice.reports.result import Figure, Table

_FIRST = ("x", "y", "z", "r", "theta", "labels", "values", "text")
"""Columns that come first; whatever else a trace holds one of per point follows."""
_GRIDS = ("heatmap", "contour", "surface", "histogram2d")
_ERRORS = {"array": "plus", "arrayminus": "minus"}
_NUMBER = (int, float, np.integer, np.floating)

Row = dict[str, Cell]


def table_csv(table: Table) -> str:
    """Return a table as CSV; numbers keep every digit, an empty cell is nothing."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(table.columns)
    writer.writerows(["" if cell is None else cell for cell in row] for row in table.rows)
    return text.getvalue()


def figure_csv(figure: Figure) -> str:
    """Return the numbers of a figure as CSV: its own table, or else what its traces hold."""
    return table_csv(figure.data if figure.data is not None else traces_table(figure.figure))


def traces_table(drawn: Any) -> Table:
    """Return the points of all traces of a Plotly figure, and of its frames, as one table."""
    rows = [
        {**where, **row}
        for where, trace in _traces(drawn)
        for row in (_grid_rows(trace) if trace.get("type") in _GRIDS else _point_rows(trace))
    ]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    kept = [column for column in columns if column not in ("trace", "step", "frame") or _varies(rows, column)]
    return Table(kept, [[row.get(column) for column in kept] for row in rows])


def _varies(rows: list[Row], column: str) -> bool:
    return any(row.get(column) for row in rows)


def _traces(drawn: Any) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Yield each trace as plain properties, with what tells it from the others."""
    frames = [(None, drawn.data), *((frame.name, frame.data) for frame in drawn.frames)]
    for frame, traces in frames:
        for trace in traces:
            properties = trace.to_plotly_json()
            meta = properties.get("meta")
            meta = meta if isinstance(meta, Mapping) else {}
            if not meta.get("derived"):
                where: Row = {"frame": frame, "step": _cell(meta.get("step")), "trace": properties.get("name")}
                yield where, properties


def _point_rows(trace: dict[str, Any]) -> Iterator[Row]:
    """Yield a row per point, with everything of which the trace holds one value per point."""
    found = {name: as_array(value) for name, value in trace.items()}
    for name in ("error_x", "error_y", "error_z"):
        error = trace.get(name) or {}
        for part, ending in _ERRORS.items():
            found[f"{name}_{ending}"] = as_array(error.get(part))
    columns = {name: values for name, values in found.items() if values is not None and values.ndim == 1}
    count = max(map(len, columns.values()), default=0)
    start, step = trace.get("x0", 0), trace.get("dx", 1)  # may be dates
    if "y" in columns and "x" not in columns and isinstance(start, _NUMBER) and isinstance(step, _NUMBER):
        columns["x"] = np.arange(count) * step + start
    whole = {name: values.tolist() for name, values in columns.items() if len(values) == count}
    names = [name for name in _FIRST if name in whole] + [name for name in whole if name not in _FIRST]
    for place in range(count):
        yield {name: _cell(whole[name][place]) for name in names}


def _grid_rows(trace: dict[str, Any]) -> Iterator[Row]:
    """Yield a row per cell of a matrix."""
    z = as_array(trace.get("z"))
    if z is None or z.ndim != 2:
        return
    x, y = as_array(trace.get("x")), as_array(trace.get("y"))
    across = x.tolist() if x is not None and x.shape == (z.shape[1],) else range(z.shape[1])
    down = y.tolist() if y is not None and y.shape == (z.shape[0],) else range(z.shape[0])
    for row, values in zip(down, z.tolist(), strict=True):
        for column, value in zip(across, values, strict=True):
            yield {"x": _cell(column), "y": _cell(row), "z": _cell(value)}


def as_array(value: Any) -> np.ndarray[Any, Any] | None:
    """Return a list, an array or Plotly's base64 form of one as an array, anything else and a damaged one as None."""
    try:
        return _as_array(value)
    except (ValueError, TypeError, OverflowError, SyntaxError):  # the last comes from numpy, for odd dtypes
        return None


def _as_array(value: Any) -> np.ndarray[Any, Any] | None:
    if isinstance(value, dict) and value.keys() >= {"dtype", "bdata"}:
        flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
        if flat.dtype.kind not in "biuf":  # Plotly packs nothing but numbers
            return None
        shape = value.get("shape")
        return flat.reshape([int(length) for length in str(shape).split(",")]) if shape else flat
    if isinstance(value, np.ndarray):
        return value
    if not isinstance(value, list | tuple):
        return None
    if value and all(isinstance(row, list | tuple | np.ndarray) for row in value):
        lengths = {len(row) for row in value}
        return np.array([list(row) for row in value], dtype=object) if len(lengths) == 1 else None
    held = np.empty(len(value), dtype=object)
    held[:] = value
    return held


def _cell(value: Any) -> Cell:
    """Return what fits a cell as it is, and anything else as text."""
    return value if value is None or isinstance(value, str | int | float) else str(value)
