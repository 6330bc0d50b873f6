"""Letters against letters: attention maps, and keys as matrices.

Attention maps use one byte per cell, and many maps make one picture, so that a page stays small. Each row is divided by
its largest entry, so that attention spread over many keys can be compared with attention to a single one.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from alice.errors import AliceError
from alice.reports.checks import Array
from alice.reports.figures.theme import PALETTE, template

WIDTH = 960
"""Most cells across a figure of many maps; a page is not much wider."""
EACH_CHARACTER = 90
"""Longest text with a tick for each character; a longer one has a tick for each word."""
SPACE = "\N{OPEN BOX}"
DARKEST = 255
# Black markers need a light background, whichever theme the page has.
GROUND, SHADE, GRID = "#ffffff", "#dcdcd8", "#ecece8"
WEIGHTS = ((0, "rgba(43,123,186,0)"), (1, "rgba(43,123,186,0.75)"))
_BAR = {
    "title": {"text": "weight by the largest of its row", "side": "right"},
    "tickvals": [0, DARKEST / 2, DARKEST],
    "ticktext": ["0", "0.5", "1"],
}


def row_normalised(weights: Array) -> Array:
    """Divide each row by its largest entry, (..., query, key), and round to bytes: 255 is 1."""
    largest = np.max(weights, axis=-1, keepdims=True)
    return np.rint(DARKEST * weights / np.where(largest > 0, largest, 1)).astype(np.uint8)


def tiled_maps(weights: Array, *, row_labels: Sequence[str], column_labels: Sequence[str]) -> go.Figure:
    """Draw maps (row, column, query, key) side by side in one picture.

    A map with more cells than fit is reduced; each cell then shows the largest of those it replaces, so that a thin
    line stays a line.
    """
    rows, columns, length = weights.shape[:3]
    if len(row_labels) != rows or len(column_labels) != columns:
        raise AliceError(f"{rows} rows and {columns} columns have {len(row_labels)} and {len(column_labels)} labels")
    side = min(length, max(WIDTH // columns, 1))
    edges = np.arange(side) * length // side
    small = np.maximum.reduceat(np.maximum.reduceat(row_normalised(weights), edges, axis=-1), edges, axis=-2)
    picture = small.transpose(0, 2, 1, 3).reshape(rows * side, columns * side)
    cells = go.Heatmap(z=picture, zmin=0, zmax=DARKEST, hoverinfo="skip", colorbar=_BAR)
    axis = {"showgrid": False, "zeroline": False, "tickmode": "array", "ticks": "", "constrain": "domain"}
    across = {"tickvals": _centres(columns, side), "ticktext": list(column_labels), "side": "top"}
    down = {"tickvals": _centres(rows, side), "ticktext": list(row_labels), "autorange": "reversed"}
    layout = {
        "template": template(),
        "height": round(90 + 720 * rows / columns),
        "xaxis": {**axis, **across},
        "yaxis": {**axis, **down, "scaleanchor": "x"},
        "shapes": [*_lines("x", columns, side), *_lines("y", rows, side)],
    }
    return go.Figure(cells, layout)


def character_map(weights: Array, text: str) -> go.Figure:
    """Draw the map of one head over a text, (query, key); hovering shows both characters and their weight."""
    if weights.shape != (len(text), len(text)):
        raise AliceError(f"a map of shape {weights.shape} does not fit a text of {len(text)} characters")
    places = [f"{character.replace(' ', SPACE)} ({place})" for place, character in enumerate(text)]
    cells = go.Heatmap(
        z=row_normalised(weights),
        x=places,
        y=places,
        customdata=np.rint(1000 * weights).astype(np.uint16),
        zmin=0,
        zmax=DARKEST,
        colorbar=_BAR,
        hovertemplate="from %{y}<br>to %{x}<br><b>%{customdata}\N{PER MILLE SIGN}</b> of its attention<extra></extra>",
    )
    axis = {"type": "category", "showgrid": False, "tickmode": "array", **_ticks(text)}
    return go.Figure(
        cells,
        {
            "template": template(),
            "height": 780,
            "xaxis": {**axis, "title": {"text": "key"}, "side": "top"},
            "yaxis": {**axis, "title": {"text": "query"}, "autorange": "reversed"},
        },
    )


def _ticks(text: str) -> dict[str, Any]:
    """Return ticks for every character, or for the first character of every word of a long text."""
    if len(text) <= EACH_CHARACTER:
        marks = dict(enumerate(text.replace(" ", SPACE)))
        return {"tickvals": list(marks), "ticktext": list(marks.values()), "tickangle": 0, "tickfont": {"size": 9}}
    starts = [place for place, sign in enumerate(text) if sign != " " and (place == 0 or text[place - 1] == " ")]
    return {"tickvals": starts, "ticktext": [text[start:].split(" ")[0] for start in starts], "tickfont": {"size": 9}}


def _centres(count: int, side: int) -> list[float]:
    return [(number + 0.5) * side - 0.5 for number in range(count)]


def _lines(axis: str, count: int, side: int) -> list[dict[str, Any]]:
    """Return the lines between the maps along one axis."""
    across = "y" if axis == "x" else "x"
    style = {"type": "line", "line": {"width": 1, "color": PALETTE[-1]}, f"{across}ref": f"{across} domain"}
    return [
        {**style, f"{axis}0": place, f"{axis}1": place, f"{across}0": 0, f"{across}1": 1}
        for place in (number * side - 0.5 for number in range(count + 1))
    ]


@dataclass(frozen=True, eq=False)
class Marks:
    """Cells of a key matrix with the same marker."""

    name: str
    """Their name in the legend."""
    rows: Array
    """Index of the cipher letter of each mark, (marks,)."""
    columns: Array
    """Index of the plain letter of each mark, (marks,)."""
    symbol: str = "square"
    """Plotly's name of the marker."""
    color: str = "#111111"
    """Colour of the marker."""
    size: int = 11
    """Its width in pixels."""


def key_matrix(
    marks: Iterable[Marks], letters: Sequence[str], *, shaded: Iterable[int] = (), weights: Array | None = None
) -> go.Figure:
    """Draw a key: a marker where the row of a cipher letter meets the column of its plain letter.

    The rows of `shaded` letters have a darker background. `weights` (rows, columns), 0 to 1, are the probabilities that
    a model gives to the cells; they colour the background.
    """
    names = np.array(list(letters))
    figure = go.Figure(layout=_key_layout(list(letters), list(shaded)))
    if weights is not None:
        figure.add_trace(_ground(weights, names))
    for group in marks:
        if len(group.rows):
            # A filled marker has a light rim; otherwise a dark page would hide it in the legend.
            rim = {"width": 2} if group.symbol.endswith("-open") else {"width": 1, "color": GROUND}
            marker = {"symbol": group.symbol, "color": group.color, "size": group.size, "line": rim}
            x, y = names[group.columns], names[group.rows]
            figure.add_trace(go.Scatter(x=x, y=y, mode="markers", marker=marker, name=group.name))
    return figure


def _ground(weights: Array, names: Array) -> go.Heatmap:
    hover = "cipher %{y} as %{x}<br><b>%{z:.3g}</b><extra></extra>"
    bar = {"title": {"text": "probability", "side": "right"}}
    scale = [list(stop) for stop in WEIGHTS]
    return go.Heatmap(
        z=weights, x=names, y=names, zmin=0, zmax=1, colorscale=scale, colorbar=bar, hovertemplate=hover, name="ground"
    )


def _key_layout(letters: list[str], shaded: list[int]) -> dict[str, Any]:
    last = len(letters) - 0.5
    axis = {"type": "category", "categoryorder": "array", "categoryarray": letters, "gridcolor": GRID}
    band = {
        "type": "rect",
        "xref": "paper",
        "x0": 0,
        "x1": 1,
        "fillcolor": SHADE,
        "line": {"width": 0},
        "layer": "below",
    }
    return {
        "template": template(),
        "height": 640,
        "width": 700,
        "showlegend": True,
        "plot_bgcolor": GROUND,
        "shapes": [{**band, "y0": row - 0.5, "y1": row + 0.5} for row in shaded],
        "xaxis": {**axis, "title": {"text": "plain letter"}, "range": [-0.5, last]},
        "yaxis": {**axis, "title": {"text": "cipher letter"}, "range": [last, -0.5]},
    }
