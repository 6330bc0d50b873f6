"""A small sketch of a figure as SVG, for the gallery: lines, points, bars or a matrix, without axes and without text.

It says "this one, with the falling curve" rather than any number; colours it does not know become those of the house.
"""

import math
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from alice.reports.checks import Array
from alice.reports.csv_text import as_array
from alice.reports.theme import PALETTE

WIDTH, HEIGHT = 280, 128
MOST_CELLS = 36
"""Rows and columns of a matrix at most; a larger one is thinned out."""
MOST_POINTS = 120
_COLOR = re.compile(r"#[0-9a-fA-F]{3,8}|rgba?\([\d., %]+\)")


@dataclass(frozen=True)
class Shape:
    """The points of one trace, ready to scale."""

    kind: str
    """`line`, `points`, `bars` or `area`."""
    x: Array
    """Across, (points,)."""
    y: Array
    """Up, (points,)."""
    color: str
    """Its colour."""


def sketch(drawn: Any) -> str:
    """Return an SVG element that sketches a Plotly figure, or nothing if there is nothing to draw."""
    traces = [trace.to_plotly_json() for trace in drawn.data if trace.visible is not False]
    matrix = next((found for found in map(_matrix, traces) if found is not None), None)
    if matrix is not None:
        top_down = drawn.layout.yaxis.autorange == "reversed"
        body = "".join(_cells(matrix if top_down else matrix[::-1]))
    else:
        log_y = drawn.layout.yaxis.type == "log"
        shapes = [shape for number, trace in enumerate(traces) for shape in _shapes(trace, number, log_y=log_y)]
        body = "".join(_scaled(shapes))
    if not body:
        return ""
    return f'<svg class="sketch" viewBox="0 0 {WIDTH} {HEIGHT}" focusable="false">{body}</svg>'


def _matrix(trace: dict[str, Any]) -> Array | None:
    if trace.get("type") not in ("heatmap", "contour"):
        return None
    found = as_array(trace.get("z"))
    if found is None or found.ndim != 2 or not found.size:
        return None
    return _numbers(found)


def _cells(matrix: Array) -> Iterator[str]:
    """Yield a rectangle per cell, the more opaque the further its value is from the lowest, or from zero."""
    rows, columns = (np.unique(np.linspace(0, n - 1, min(n, MOST_CELLS)).astype(int)) for n in matrix.shape)
    small = matrix[np.ix_(rows, columns)]
    known = small[np.isfinite(small)]
    if not known.size:
        return
    signed = known.min() < 0 < known.max()  # then two colours part at zero
    low = 0.0 if signed else known.min()
    span = float(np.abs(known - low).max()) or 1.0
    tall, wide = HEIGHT / len(rows), WIDTH / len(columns)
    for (row, column), value in np.ndenumerate(small):
        opacity = abs(value - low) / span if math.isfinite(value) else 0.0
        if opacity > 0.02:
            yield (
                f'<rect x="{column * wide:.1f}" y="{row * tall:.1f}" width="{wide:.1f}" height="{tall:.1f}" '
                f'fill="{PALETTE[int(value < low)]}" fill-opacity="{opacity:.2f}"/>'
            )


def _shapes(trace: dict[str, Any], number: int, *, log_y: bool) -> Iterator[Shape]:
    y = as_array(trace.get("y"))
    if y is None or y.ndim != 1 or not y.size:
        return
    x = as_array(trace.get("x"))
    across = _numbers(x) if x is not None and x.shape == y.shape else np.arange(len(y), dtype=float)
    if not np.isfinite(across).any():  # names on the axis: one place after the other
        across = np.arange(len(y), dtype=float)
    up = _numbers(y)
    if log_y:
        up = np.where(up > 0, np.log10(np.where(up > 0, up, 1)), np.nan)
    known = np.isfinite(across) & np.isfinite(up)
    if known.any():
        yield Shape(_kind(trace), across[known], up[known], _color(trace, number))


def _kind(trace: dict[str, Any]) -> str:
    if trace.get("type") == "bar":
        return "bars"
    if trace.get("fill") == "toself":
        return "area"
    return "line" if "lines" in trace.get("mode", "lines") else "points"


def _color(trace: dict[str, Any], number: int) -> str:
    """Return the colour of a trace if it is one plain colour, else one of the palette."""
    candidates = [
        trace.get("fillcolor"),
        (trace.get("line") or {}).get("color"),
        (trace.get("marker") or {}).get("color"),
    ]
    named = (color for color in candidates if isinstance(color, str) and _COLOR.fullmatch(color))
    return next(named, PALETTE[number % len(PALETTE)])


def _scaled(shapes: list[Shape]) -> Iterator[str]:
    """Yield the elements of all shapes, drawn to one scale."""
    if not shapes:
        return
    has_bars = any(shape.kind == "bars" for shape in shapes)
    pad = 0.5 if has_bars else 0.0
    left, right = min(shape.x.min() for shape in shapes) - pad, max(shape.x.max() for shape in shapes) + pad
    low, high = min(shape.y.min() for shape in shapes), max(shape.y.max() for shape in shapes)
    low, high = (min(low, 0.0), max(high, 0.0)) if has_bars else (low, high)
    groups = sum(shape.kind == "bars" for shape in shapes)
    group = 0
    for shape in shapes:
        x = 4 + (shape.x - left) / ((right - left) or 1.0) * (WIDTH - 8)
        y = HEIGHT - 4 - (shape.y - low) / ((high - low) or 1.0) * (HEIGHT - 8)
        if shape.kind == "bars":
            unit = (WIDTH - 8) / ((right - left) or 1.0) * 0.8 / groups
            floor = HEIGHT - 4 - (0 - low) / ((high - low) or 1.0) * (HEIGHT - 8)
            yield from _bar_elements(
                x + unit * (group - groups / 2), y, width=unit * 0.9, floor=floor, color=shape.color
            )
            group += 1
        else:
            yield from _elements(shape.kind, x, y, shape.color)


def _bar_elements(x: Array, y: Array, *, width: float, floor: float, color: str) -> Iterator[str]:
    for left, top in zip(x, y, strict=True):
        yield (
            f'<rect x="{left:.1f}" y="{min(top, floor):.1f}" width="{width:.1f}" height="{abs(floor - top):.1f}" '
            f'fill="{color}"/>'
        )


def _elements(kind: str, x: Array, y: Array, color: str) -> Iterator[str]:
    if kind == "points":
        step = math.ceil(len(x) / MOST_POINTS)
        for across, down in zip(x[::step], y[::step], strict=True):
            yield f'<circle cx="{across:.1f}" cy="{down:.1f}" r="2.6" fill="{color}" fill-opacity="0.75"/>'
        return
    points = " ".join(f"{across:.1f},{down:.1f}" for across, down in _thinned(x, y))
    if kind == "area":
        yield f'<polygon points="{points}" fill="{color}"/>'
    else:
        yield (
            f'<polyline points="{points}" fill="none" stroke="{color}" stroke-width="2.2" '
            'stroke-linejoin="round" vector-effect="non-scaling-stroke"/>'
        )


def _thinned(x: Array, y: Array) -> Iterable[tuple[float, float]]:
    chosen = np.unique(np.linspace(0, len(x) - 1, min(len(x), 2 * MOST_POINTS)).astype(int))
    return zip(x[chosen].tolist(), y[chosen].tolist(), strict=True)


def _numbers(values: Array) -> Array:
    """Return values as floats; what is no number is NaN."""
    if values.dtype.kind in "biuf":
        return values.astype(float)
    plain = [float(v) if isinstance(v, int | float) else math.nan for v in values.ravel().tolist()]
    return np.array(plain, dtype=float).reshape(values.shape)
