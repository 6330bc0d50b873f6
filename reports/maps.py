"""Attention maps that a browser can bear: every cell a byte, many maps as one picture.

A map is row-normalised: each row is divided by its largest entry, so that a row whose attention is spread over many
keys can be read beside one that has it all in one place.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from alice.errors import AliceError
from alice.reports.checks import Array
from alice.reports.theme import PALETTE, template

WIDTH = 960
"""Cells across a figure of many maps, at most; a page is not much wider."""
EACH_CHARACTER = 90
"""Longest text whose characters have each a tick; a longer one is labelled word by word."""
SPACE = "\N{OPEN BOX}"
DARKEST = 255
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

    A map of more cells than there is room for is made smaller; each cell then shows the largest of those it stands for,
    so that a thin line stays a line.
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
    """Draw the map of one head over a text, (query, key); a tip shows both characters and the weight in thousandths."""
    if weights.shape != (len(text), len(text)):
        raise AliceError(f"a map of shape {weights.shape} is not of a text of {len(text)} characters")
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
    """Label every character, or in a long text every word at its first character."""
    if len(text) <= EACH_CHARACTER:
        marks = dict(enumerate(text.replace(" ", SPACE)))
        return {"tickvals": list(marks), "ticktext": list(marks.values()), "tickangle": 0, "tickfont": {"size": 9}}
    starts = [place for place, sign in enumerate(text) if sign != " " and (place == 0 or text[place - 1] == " ")]
    return {"tickvals": starts, "ticktext": [text[start:].split(" ")[0] for start in starts], "tickfont": {"size": 9}}


def _centres(count: int, side: int) -> list[float]:
    return [(number + 0.5) * side - 0.5 for number in range(count)]


def _lines(axis: str, count: int, side: int) -> list[dict[str, Any]]:
    """Return the lines that part the maps along one axis."""
    across = "y" if axis == "x" else "x"
    style = {"type": "line", "line": {"width": 1, "color": PALETTE[-1]}, f"{across}ref": f"{across} domain"}
    return [
        {**style, f"{axis}0": place, f"{axis}1": place, f"{across}0": 0, f"{across}1": 1}
        for place in (number * side - 0.5 for number in range(count + 1))
    ]
