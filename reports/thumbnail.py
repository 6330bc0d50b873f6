"""A small SVG sketch of a figure for the gallery: lines, points, bars or a matrix, without axes and without text."""

import json
import re
from typing import Any

import numpy as np

from alice.reports.checks import Array
from alice.reports.csv_text import as_array
from alice.reports.figures.theme import PALETTE

WIDTH, HEIGHT, MARGIN = 280, 128, 4
MOST_CELLS, MOST_POINTS, SHADES = 36, 120, 8
LARGEST = 1e100
_COLOR = re.compile(r"#[0-9a-fA-F]{3,8}|rgba?\([\d., %]+\)")
Points = tuple[Array, Array]


def sketch(plotly: str) -> str:
    """Return an SVG file that sketches a figure in Plotly's JSON, or an empty string if it has nothing to draw."""
    figure = json.loads(plotly)
    layout, traces = figure.get("layout", {}), [trace for trace in figure.get("data", []) if _is_drawn(trace)]
    vertical = layout.get("yaxis", {})
    for trace in traces:
        matrix = as_array(trace.get("z")) if trace.get("type") in ("heatmap", "contour") else None
        if matrix is not None and matrix.ndim == 2 and np.isfinite(_floats(matrix)).any():
            return _matrix(_floats(matrix)[:: 1 if vertical.get("autorange") == "reversed" else -1])
    found = [(trace, points) for trace in traces if (points := _points(trace, log=vertical.get("type") == "log"))]
    return _curves(found) if found else ""


def _is_drawn(trace: dict[str, Any]) -> bool:
    """Tell whether a trace is visible, in the first panel, and more than a copy of another."""
    meta = trace.get("meta")
    derived = isinstance(meta, dict) and meta.get("derived")
    return trace.get("visible", True) is True and trace.get("xaxis", "x") == "x" and not derived


def _points(trace: dict[str, Any], *, log: bool) -> Points | None:
    """Return the finite points of a trace, at most `MOST_POINTS`; names on the x axis count from 0."""
    y, x = as_array(trace.get("y")), as_array(trace.get("x"))
    if y is None or y.ndim != 1:
        return None
    up = _floats(y)
    across = _floats(x) if x is not None and x.shape == y.shape else np.arange(len(up), dtype=float)
    if not np.isfinite(across).any():
        across = np.arange(len(up), dtype=float)
    if log:
        up = np.log10(up, out=np.full(len(up), np.nan), where=up > 0)
    known = np.flatnonzero(np.isfinite(across) & np.isfinite(up))
    known = known[:: max(1, -(-len(known) // MOST_POINTS))]
    return (across[known], up[known]) if len(known) else None


def _curves(found: list[tuple[dict[str, Any], Points]]) -> str:
    """Return the sketch of traces, drawn to one scale; bars start at zero."""
    bars = [trace for trace, _ in found if trace.get("type") == "bar"]
    across, up = (np.concatenate(values) for values in zip(*(points for _, points in found), strict=True))
    left, right = across.min() - 0.5 * bool(bars), across.max() + 0.5 * bool(bars)
    low, high = (min(up.min(), 0.0), max(up.max(), 0.0)) if bars else (up.min(), up.max())
    wide, tall = (WIDTH - 2 * MARGIN) / ((right - left) or 1.0), (HEIGHT - 2 * MARGIN) / ((high - low) or 1.0)
    parts, floor = [], HEIGHT - MARGIN + low * tall
    for number, (trace, points) in enumerate(found):
        x, y = MARGIN + (points[0] - left) * wide, HEIGHT - MARGIN - (points[1] - low) * tall
        color = _color(trace, PALETTE[number % len(PALETTE)])
        if trace.get("type") == "bar":
            width = 0.8 * wide / len(bars)
            x = x + width * (bars.index(trace) - len(bars) / 2)
            path = "".join(
                f"M{a:.1f} {floor:.1f}V{b:.1f}h{0.9 * width:.1f}V{floor:.1f}z" for a, b in zip(x, y, strict=True)
            )
            parts.append(f'<path d="{path}" fill="{color}"/>')
        elif "lines" in (trace.get("mode") or "lines") and len(x) > 1:
            path = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
            parts.append(f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"/>')
        else:
            circles = (f'<circle cx="{a:.1f}" cy="{b:.1f}" r="2.6"/>' for a, b in zip(x, y, strict=True))
            parts.append(f'<g fill="{color}" fill-opacity="0.75">{"".join(circles)}</g>')
    return _svg("".join(parts), WIDTH, HEIGHT)


def _matrix(values: Array) -> str:
    """Return the sketch of a matrix: a cell is more opaque the further it is from the lowest value, or from zero."""
    rows, columns = (np.unique(np.linspace(0, n - 1, min(n, MOST_CELLS)).astype(int)) for n in values.shape)
    small = values[np.ix_(rows, columns)]
    known = small[np.isfinite(small)]
    base = 0.0 if not known.size or known.min() < 0 < known.max() else known.min()
    distance = np.nan_to_num(small - base, posinf=0.0, neginf=0.0)
    shades = np.rint(SHADES * distance / (np.abs(distance).max() or 1.0)).astype(int)
    parts = []
    for shade in sorted(set(shades.ravel().tolist()) - {0}):
        path = "".join(f"M{column} {row}h1v1h-1z" for row, column in np.argwhere(shades == shade))
        parts.append(f'<path d="{path}" fill="{PALETTE[int(shade < 0)]}" fill-opacity="{abs(shade) / SHADES}"/>')
    return _svg("".join(parts), len(columns), len(rows), 'preserveAspectRatio="none" shape-rendering="crispEdges"')


def _svg(body: str, width: int, height: int, extra: str = "") -> str:
    return f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" {extra}>{body}</svg>\n'


def _color(trace: dict[str, Any], default: str) -> str:
    """Return the colour of a trace if it is a plain colour, else the default."""
    named = ((trace.get(part) or {}).get("color") for part in ("line", "marker"))
    return next((color for color in named if isinstance(color, str) and _COLOR.fullmatch(color)), default)


def _floats(values: Array) -> Array:
    """Return values as floats; anything that is not a number of ordinary size is NaN."""
    if values.dtype.kind in "biuf":
        numbers = values.astype(float)
    else:
        known = (value if isinstance(value, int | float) and abs(value) < LARGEST else np.nan for value in values.flat)
        numbers = np.fromiter(known, float, values.size).reshape(values.shape)
    return np.where(np.abs(numbers) < LARGEST, numbers, np.nan)
