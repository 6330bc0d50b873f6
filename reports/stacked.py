"""Bars of shares that add up to one, over a number such as a length: how a distribution changes along the way."""

from collections.abc import Sequence

import numpy as np
import plotly.graph_objects as go

from alice.errors import AliceError
from alice.reports.checks import Array
from alice.reports.theme import template

LIGHT, DARK = (222, 235, 247), (8, 48, 107)
"""Colour of the first group and of the last, in red, green and blue."""


def stacked_shares(
    counts: Array, *, starts: Array, width: float, names: Sequence[str], x_title: str = "", y_title: str = ""
) -> go.Figure:
    """Draw a bar for each bin, split by group: counts (bins, groups), lighter for the first group than for the last.

    `starts` are the lower ends of the bins, (bins,), all of one `width`. A bin without counts is left out; hovering
    says how many there are in the others.
    """
    counts, starts = np.asarray(counts), np.asarray(starts)
    if counts.shape != (len(starts), len(names)):
        raise AliceError(f"counts have the shape {counts.shape} for {len(starts)} bins and {len(names)} groups")
    totals = counts.sum(1)
    full = totals > 0
    counts, starts, totals = counts[full], starts[full], totals[full]
    axes = {"xaxis": {"title": {"text": x_title}}, "yaxis": {"title": {"text": y_title}, "range": [0, 1]}}
    layout = {"template": template(), "barmode": "stack", "bargap": 0, "height": 420, "showlegend": True, **axes}
    figure = go.Figure(layout=layout | {"legend": {"traceorder": "normal"}})
    for number, (name, color) in enumerate(zip(names, _shades(len(names)), strict=True)):
        hover = [
            f"{start:g} to {start + width - 1:g}: {part} of {total} ({part / total:.0%})"
            for start, part, total in zip(starts, counts[:, number], totals, strict=True)
        ]
        figure.add_trace(
            go.Bar(
                x=starts + width / 2,
                y=counts[:, number] / totals,
                width=width,
                name=name,
                text=hover,
                textposition="none",
                hovertemplate="%{text}<extra>" + name + "</extra>",
                marker={"color": color, "line": {"width": 0.5, "color": "rgba(125,135,144,0.5)"}},
            )
        )
    return figure


def _shades(count: int) -> list[str]:
    """Return so many colours from light to dark."""
    steps = np.linspace(LIGHT, DARK, count).round().astype(int)
    return [f"rgb({red},{green},{blue})" for red, green, blue in steps]
