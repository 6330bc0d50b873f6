"""Two panels side by side: values by layer, and how much they change from each layer to the next."""

from collections.abc import Mapping

import numpy as np
import plotly.graph_objects as go
from plotly.colors import sample_colorscale
from plotly.subplots import make_subplots

from alice.reports.figures import Values
from alice.reports.theme import PALETTE, SYMBOLS, template

ORDERED = (PALETTE[0], PALETTE[3], PALETTE[1], PALETTE[4])
"""Blue over purple and vermilion to amber: series in an order, each colour readable on light and on dark."""


def level_and_change(series: Mapping[str, Values], *, y_title: str, legend_title: str = "") -> go.Figure:
    """Draw a line per series, (layers,) each: its values on the left, its change from layer to layer on the right.

    The series are in an order, which the colours follow; a click on the legend hides one in both panels.
    """
    figure = make_subplots(cols=2, horizontal_spacing=0.1, subplot_titles=(y_title, "change from the layer before"))
    colors = sample_colorscale(list(ORDERED), np.linspace(0, 1, max(2, len(series))).tolist())
    for number, (name, values) in enumerate(series.items()):
        y = np.asarray(values, dtype=float)
        marker = {"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 7}
        style = {"name": name, "legendgroup": name, "mode": "lines+markers", "marker": marker}
        line = {"color": colors[number], "width": 2}
        figure.add_trace(go.Scatter(x=np.arange(len(y)), y=y, line=line, **style), row=1, col=1)
        change = go.Scatter(x=np.arange(1, len(y)), y=np.diff(y), line=line, showlegend=False, **style)
        figure.add_trace(change, row=1, col=2)
    figure.update_layout(template=template(), height=420, legend_title_text=legend_title, margin_t=96)
    figure.update_layout(legend={"y": 1.14}, hovermode="x unified")
    figure.update_xaxes(title_text="layer", dtick=1)
    return figure
