"""A key as a matrix: a marker where the row of a cipher letter meets the column of the plain letter it stands for."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go

from alice.reports.checks import Array
from alice.reports.theme import template

# Black markers need a light ground under them, whichever theme the page has.
GROUND, SHADE, GRID = "#ffffff", "#dcdcd8", "#ecece8"
WEIGHTS = ((0, "rgba(43,123,186,0)"), (1, "rgba(43,123,186,0.75)"))


@dataclass(frozen=True, eq=False)
class Marks:
    """Cells of the matrix that look alike."""

    name: str
    """What the legend calls them."""
    rows: Array
    """Number of each one's cipher letter, (marks,)."""
    columns: Array
    """Number of each one's plain letter, (marks,)."""
    symbol: str = "square"
    """Plotly's name of the marker."""
    color: str = "#111111"
    """Colour of the marker."""
    size: int = 11
    """Its width in pixels."""


def key_matrix(
    marks: Iterable[Marks], letters: Sequence[str], *, shaded: Iterable[int] = (), weights: Array | None = None
) -> go.Figure:
    """Draw one key, with the rows of some letters shaded.

    `weights` (rows, columns), 0 to 1, colours the ground: how much a model believes in each cell.
    """
    names = np.array(list(letters))
    figure = go.Figure(layout=_layout(list(letters), list(shaded)))
    if weights is not None:
        figure.add_trace(_ground(weights, names))
    for group in marks:
        if len(group.rows):
            # A filled marker has a light rim, or its copy in the legend of a dark page could not be seen.
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


def _layout(letters: list[str], shaded: list[int]) -> dict[str, Any]:
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
