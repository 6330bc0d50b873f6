"""Lines in panels side by side: a line per name over its own x values, one legend for all panels."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import plotly.graph_objects as go
from plotly.subplots import make_subplots

from alice.reports.figures import Values
from alice.reports.theme import PALETTE, SYMBOLS, template

DASHES = ("solid", "dash", "dot", "dashdot")
"""Lines in the order of the rounds through the palette, when there are more lines than colours."""
MOST_MARKERS = 60
"""A line of more points is drawn without markers."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel."""

    lines: Mapping[str, tuple[Values, Values]]
    """Lines by name, each a pair of x and y values, (points,) both; a name has one colour in all panels."""
    x_title: str = ""
    y_title: str = ""
    title: str = ""
    """What stands above it."""
    log: bool = False
    """Whether both axes are logarithmic."""
    y_range: tuple[float, float] | None = None
    """Ends of the y axis; those of the data if absent."""


def line_panels(*panels: Panel, height: int = 420) -> go.Figure:
    """Draw panels side by side; a click on the legend hides a line in all of them."""
    titles = [panel.title for panel in panels]
    figure = make_subplots(cols=len(panels), horizontal_spacing=0.1, subplot_titles=titles if any(titles) else None)
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    shown: set[str] = set()
    for column, panel in enumerate(panels, start=1):
        for name, (x, y) in panel.lines.items():
            line = _line(name, names.index(name), x, y)
            figure.add_trace(line.update(showlegend=name not in shown), row=1, col=column)
            shown.add(name)
        kind = "log" if panel.log else "linear"
        figure.update_xaxes(title_text=panel.x_title, type=kind, rangemode="tozero", row=1, col=column)
        figure.update_yaxes(title_text=panel.y_title, type=kind, range=panel.y_range, row=1, col=column)
    legend = {"y": 1.14} if any(titles) else {}  # above the titles, and below the buttons
    figure.update_layout(template=template(), height=height, showlegend=True, margin_t=96, legend=legend)
    return figure


def _line(name: str, number: int, x: Values, y: Values) -> go.Scatter:
    color, turn = PALETTE[number % len(PALETTE)], number // len(PALETTE)
    return go.Scatter(
        x=np.asarray(x, dtype=float),
        y=np.asarray(y, dtype=float),
        name=name,
        legendgroup=name,
        mode="lines+markers" if len(x) <= MOST_MARKERS else "lines",
        line={"color": color, "width": 2, "dash": DASHES[turn % len(DASHES)]},
        marker={"color": color, "size": 6, "symbol": SYMBOLS[number % len(SYMBOLS)]},
    )
