"""Tables and figures as CSV text: the numbers behind a picture, one observation per row."""

import base64
import csv
import io
import json
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from alice.reports.checks import Array
from alice.reports.parts import Figure, Table

_FIRST = ("x", "y", "z", "r", "theta", "labels", "values", "text")
"""Columns that come first; any other property with one value per point follows."""
_GRIDS = ("heatmap", "contour", "surface", "histogram2d")
_ERRORS = {"array": "plus", "arrayminus": "minus"}

Row = dict[str, Any]


def table_csv(table: Table) -> str:
    """Return a table as CSV; numbers keep every digit, and None is an empty cell."""
    return _written(table.columns, table.rows)


def figure_csv(figure: Figure) -> str:
    """Return the numbers of a figure as CSV: its own table, or else the points of its traces and frames."""
    if figure.data is not None:
        return table_csv(figure.data)
    rows = [
        {**where, **row}
        for where, trace in _traces(json.loads(figure.json))
        for row in (_grid_rows(trace) if trace.get("type") in _GRIDS else _point_rows(trace))
    ]
    columns = list(dict.fromkeys(column for row in rows for column in row))
    kept = [name for name in columns if name not in ("trace", "step", "frame") or any(row.get(name) for row in rows)]
    return _written(kept, ([row.get(column) for column in kept] for row in rows))


def as_array(value: Any) -> Array | None:
    """Return a list, or Plotly's base64 form of an array, as a numpy array; None if it is neither, or damaged."""
    try:
        return _unpacked(value) if isinstance(value, dict) else _listed(value)
    except (ValueError, TypeError, KeyError, OverflowError, SyntaxError):  # numpy raises SyntaxError for odd dtypes
        return None


def _written(columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(["" if cell is None else cell for cell in row] for row in rows)
    return text.getvalue()


def _traces(drawn: dict[str, Any]) -> Iterator[tuple[Row, dict[str, Any]]]:
    """Yield each trace with what identifies it, except those that only repeat the numbers of others."""
    frames = [{"data": drawn.get("data")}, *(drawn.get("frames") or [])]
    for frame in frames:
        for trace in frame.get("data") or []:
            meta = trace.get("meta")
            meta = meta if isinstance(meta, dict) else {}
            if not meta.get("derived"):
                yield {"frame": frame.get("name"), "step": meta.get("step"), "trace": trace.get("name")}, trace


def _point_rows(trace: dict[str, Any]) -> Iterator[Row]:
    """Yield a row per point, with every property that has one value per point."""
    found = {name: as_array(value) for name, value in trace.items()}
    for name in ("error_x", "error_y", "error_z"):
        error = trace.get(name) or {}
        for part, ending in _ERRORS.items():
            found[f"{name}_{ending}"] = as_array(error.get(part))
    columns = {name: values for name, values in found.items() if values is not None and values.ndim == 1}
    count = max(map(len, columns.values()), default=0)
    start, step = trace.get("x0", 0), trace.get("dx", 1)  # may be dates
    if "y" in columns and "x" not in columns and isinstance(start, int | float) and isinstance(step, int | float):
        columns["x"] = np.arange(count) * step + start
    whole = {name: values.tolist() for name, values in columns.items() if len(values) == count}
    names = [name for name in _FIRST if name in whole] + [name for name in whole if name not in _FIRST]
    for place in range(count):
        yield {name: whole[name][place] for name in names}


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
            yield {"x": column, "y": row, "z": value}


def _unpacked(value: dict[str, Any]) -> Array | None:
    flat = np.frombuffer(base64.b64decode(value["bdata"]), dtype=value["dtype"])
    if flat.dtype.kind not in "biuf":  # Plotly packs nothing but numbers
        return None
    shape = value.get("shape")
    return flat.reshape([int(length) for length in str(shape).split(",")]) if shape else flat


def _listed(value: Any) -> Array | None:
    if not isinstance(value, list):
        return None
    if value and all(isinstance(row, list) for row in value):
        return np.array(value, dtype=object) if len({len(row) for row in value}) == 1 else None
    held = np.empty(len(value), dtype=object)
    held[:] = value
    return held
