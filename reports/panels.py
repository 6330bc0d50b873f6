"""Two panels side by side: values by layer, and how much they change from each layer to the next."""

from collections.abc import Mapping
from typing import Any

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale

from alice.reports.figures import Values
from alice.reports.theme import PALETTE, SYMBOLS, template

ORDERED = (PALETTE[0], PALETTE[3], PALETTE[1], PALETTE[4])
"""Blue over purple and vermilion to amber: series in an order, each colour readable on light and on dark."""


def level_and_change(series: Mapping[str, Values], *, y_title: str, legend_title: str = "") -> go.Figure:
    """Draw a line per series, (layers,) each: its values on the left, its change from layer to layer on the right.

    The series are in an order, which the colours follow; a click on the legend hides one in both panels.
    """
    colors = sample_colorscale(list(ORDERED), np.linspace(0, 1, max(2, len(series))).tolist())
    traces = []
    for number, (name, values) in enumerate(series.items()):
        y = np.asarray(values, dtype=float)
        marker = {"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 7}
        line = {"color": colors[number], "width": 2}
        style = {"name": name, "legendgroup": name, "mode": "lines+markers", "marker": marker, "line": line}
        traces.append(go.Scatter(x=np.arange(len(y)), y=y, xaxis="x", yaxis="y", **style))
        change = {"x": np.arange(1, len(y)), "y": np.diff(y), "xaxis": "x2", "yaxis": "y2", "showlegend": False}
        traces.append(go.Scatter(**change, **style))
    return go.Figure(traces, _layout((y_title, "change from the layer before"), legend_title))


def _layout(titles: tuple[str, str], legend_title: str) -> dict[str, Any]:
    """Return the layout of both panels at once; plotly's `make_subplots` takes many times as long."""
    spans = ((0, 0.45), (0.55, 1))
    title = {
        "xref": "paper",
        "yref": "paper",
        "y": 1,
        "yanchor": "bottom",
        "xanchor": "center",
        "showarrow": False,
        "font": {"size": 14},
    }
    axis = {"title": {"text": "layer"}, "dtick": 1}
    return {
        "template": template(),
        "height": 420,
        "margin": {"t": 96},
        "hovermode": "x unified",
        "legend": {"y": 1.14, "title": {"text": legend_title}},
        "xaxis": {**axis, "domain": spans[0], "anchor": "y"},
        "xaxis2": {**axis, "domain": spans[1], "anchor": "y2"},
        "yaxis": {"anchor": "x"},
        "yaxis2": {"anchor": "x2"},
        "annotations": [{**title, "text": text, "x": sum(span) / 2} for text, span in zip(titles, spans, strict=True)],
    }
