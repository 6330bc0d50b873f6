"""Lines in panels side by side: a line per name over its own x values, one legend for all panels."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from alice.reports.figures.charts import Values
from alice.reports.figures.theme import PALETTE, SYMBOLS, template

ORDERED = (PALETTE[0], PALETTE[3], PALETTE[1], PALETTE[4])
"""Blue, purple, vermilion, amber: a scale for ordered lines, readable on light and on dark."""
DASHES = ("solid", "dash", "dot", "dashdot")
"""Dashes for each round through the palette, when there are more lines than colours."""
MOST_MARKERS = 60
"""A line of more points is drawn without markers."""
BETWEEN = 0.1
"""Gap between two panels, as a share of the width."""


@dataclass(frozen=True, eq=False)
class Panel:
    """One panel."""

    lines: Mapping[str, tuple[Values, Values]]
    """Lines by name, each a pair of x and y values, (points,) both; a name has one colour in all panels."""
    x_title: str = ""
    y_title: str = ""
    title: str = ""
    """Text above the panel."""
    log: bool = False
    """Whether both axes are logarithmic."""
    y_range: tuple[float, float] | None = None
    """Ends of the y axis; those of the data if absent."""


def line_panels(*panels: Panel, height: int = 420, legend_title: str = "", ordered: bool = False) -> go.Figure:
    """Draw panels side by side; a click on the legend hides a line in all of them.

    Args:
        panels: the panels from left to right.
        height: of the figure, in pixels.
        legend_title: what the names are.
        ordered: whether the colours follow the order of the lines.

    """
    names = list(dict.fromkeys(name for panel in panels for name in panel.lines))
    styles = dict(zip(names, _in_order(len(names)) if ordered else _apart(len(names)), strict=True))
    traces, shown = [], set[str]()
    for panel, number in zip(panels, _numbers(len(panels)), strict=True):
        for name, (x, y) in panel.lines.items():
            place = {"xaxis": f"x{number}", "yaxis": f"y{number}", "showlegend": name not in shown}
            traces.append(_line(name, x, y, styles[name]).update(place))
            shown.add(name)
    return go.Figure(traces, _layout(panels, height, legend_title))


def level_and_change(series: Mapping[str, Values], *, y_title: str, legend_title: str = "") -> go.Figure:
    """Draw a line per series, (layers,) each: its values on the left, its change from layer to layer on the right.

    The colours follow the order of the series.
    """
    values = {name: np.asarray(given, dtype=float) for name, given in series.items()}
    levels = {name: (np.arange(len(y)), y) for name, y in values.items()}
    changes = {name: (np.arange(1, len(y)), np.diff(y)) for name, y in values.items()}
    figure = line_panels(
        Panel(levels, "layer", title=y_title),
        Panel(changes, "layer", title="change from the layer before"),
        legend_title=legend_title,
        ordered=True,
    )
    return figure.update_xaxes(dtick=1).update_layout(hovermode="x unified")


def _apart(count: int) -> Iterator[dict[str, Any]]:
    """Yield a different style for each line."""
    for number in range(count):
        turn = number // len(PALETTE)
        yield _style(PALETTE[number % len(PALETTE)], number) | {"dash": DASHES[turn % len(DASHES)]}


def _in_order(count: int) -> Iterator[dict[str, Any]]:
    """Yield a style for each line; neighbouring lines have similar colours."""
    colors = sample_colorscale(list(ORDERED), np.linspace(0, 1, max(2, count)).tolist())
    yield from (_style(colors[number], number) for number in range(count))


def _style(color: str, number: int) -> dict[str, Any]:
    return {"color": color, "symbol": SYMBOLS[number % len(SYMBOLS)], "dash": DASHES[0]}


def _line(name: str, x: Values, y: Values, style: Mapping[str, Any]) -> go.Scatter:
    return go.Scatter(
        x=np.asarray(x, dtype=float),
        y=np.asarray(y, dtype=float),
        name=name,
        legendgroup=name,
        mode="lines+markers" if len(x) <= MOST_MARKERS else "lines",
        line={"color": style["color"], "width": 2, "dash": style["dash"]},
        marker={"color": style["color"], "size": 6, "symbol": style["symbol"]},
    )


def _numbers(count: int) -> list[str]:
    """Return the suffixes of Plotly's axis names, panel by panel: the first has none."""
    return ["", *map(str, range(2, count + 1))]


def _layout(panels: Sequence[Panel], height: int, legend_title: str) -> dict[str, Any]:
    """Return the layout of all panels at once; Plotly's `make_subplots` is many times slower."""
    width = (1 - BETWEEN * (len(panels) - 1)) / len(panels)
    axes: dict[str, Any] = {}
    titles = []
    for place, (panel, number) in enumerate(zip(panels, _numbers(len(panels)), strict=True)):
        start = place * (width + BETWEEN)
        kind = "log" if panel.log else "linear"
        across = {"domain": (start, min(start + width, 1)), "anchor": f"y{number}", "rangemode": "tozero"}
        axes[f"xaxis{number}"] = {**across, "title": {"text": panel.x_title}, "type": kind}
        down = {"anchor": f"x{number}", "title": {"text": panel.y_title}, "type": kind}
        axes[f"yaxis{number}"] = down | ({"range": panel.y_range} if panel.y_range else {})
        if panel.title:
            titles.append({"text": panel.title, "x": start + width / 2})
    above = {"xref": "paper", "yref": "paper", "y": 1, "yanchor": "bottom", "xanchor": "center", "showarrow": False}
    legend = {"y": 1.14} if titles else {}  # above the titles, and below the buttons
    return axes | {
        "template": template(),
        "height": height,
        "margin": {"t": 96},
        "showlegend": True,
        "legend": {**legend, "title": {"text": legend_title}},
        "annotations": [{**above, **title, "font": {"size": 14}} for title in titles],
    }
