"""Figures in one style: arrays in, `plotly.graph_objects.Figure` out."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from alice.errors import AliceError
from alice.reports.checks import Array
from alice.reports.figures.theme import PALETTE, SYMBOLS, template, with_alpha

Values = Array | Sequence[float]
DERIVED = {"derived": True}
"""The `meta` of a trace that only repeats the numbers of another; the CSV file and the thumbnail omit it."""
LIGHT, DARK = (222, 235, 247), (8, 48, 107)
"""Colour of the first and of the last group of stacked bars, in red, green and blue."""


def layer_curve(
    values: Values | Mapping[str, Values],
    *,
    errors: Values | Mapping[str, Values] | None = None,
    layers: Values | Sequence[str] | None = None,
    x_title: str = "layer",
    y_title: str = "",
) -> go.Figure:
    """Draw a line per series over the layers: one series (layers,), or several by name.

    `errors` are half-widths of the band around a series, (layers,) or (2, layers) for below and above; `layers` are
    the values on the x axis, by default 0, 1, 2...
    """
    series, bands = _series(values), _series({} if errors is None else errors)
    figure = _blank(x_title, y_title, height=380, showlegend=len(series) > 1, hovermode="x unified")
    for number, (name, y) in enumerate(series.items()):
        x = np.arange(len(y)) if layers is None else np.asarray(layers)
        _same_length(x, y, f"the layers and the series {name!r}")
        color, style = PALETTE[number % len(PALETTE)], {"name": name, "legendgroup": name}
        below, above = _halves(bands, name, y)
        if name in bands:
            figure.add_trace(_band(x, y - below, y + above, color=color, group=name))
        line = {"color": color, "width": 2}
        marker = {"symbol": SYMBOLS[number % len(SYMBOLS)], "size": 7, "color": color}
        bars = {"array": above, "arrayminus": below, "visible": False} if name in bands else None
        figure.add_trace(go.Scatter(x=x, y=y, mode="lines+markers", line=line, marker=marker, error_y=bars, **style))
    return figure


def heatmap(
    values: Array,
    *,
    x_labels: Sequence[Any] | None = None,
    y_labels: Sequence[Any] | None = None,
    x_title: str = "",
    y_title: str = "",
    value_title: str = "",
    limits: tuple[float, float] | None = None,
    diverging: bool = False,
) -> go.Figure:
    """Draw a matrix (rows, columns), its first row on top; labels name the columns and the rows.

    `limits` are the values at the two ends of the colour scale, by default those of the matrix. `diverging` uses two
    colours that meet at zero, for values of both signs.
    """
    values = np.asarray(values)
    if values.ndim != 2:
        raise AliceError(f"a heatmap needs a matrix, not an array of shape {values.shape}")
    x = _labels(x_labels, values.shape[1], "x_labels")
    y = _labels(y_labels, values.shape[0], "y_labels")
    low, high = limits if limits is not None else (None, None)
    if diverging and limits is None:
        high = float(np.nanmax(np.abs(values), initial=0.0)) or 1.0
        low = -high
    figure = _blank(x_title, y_title, height=max(300, min(620, 130 + 24 * values.shape[0])))
    scale = {"autocolorscale": True} if diverging else {}
    bar = {"title": {"text": value_title, "side": "right"}}
    gap = 1 if max(values.shape) <= 60 else 0
    hover = f"{x_title or 'x'} %{{x}}<br>{y_title or 'y'} %{{y}}<br><b>%{{z:.4g}}</b><extra></extra>"
    figure.add_trace(
        go.Heatmap(
            z=values, x=x, y=y, zmin=low, zmax=high, xgap=gap, ygap=gap, colorbar=bar, hovertemplate=hover, **scale
        )
    )
    figure.update_yaxes(autorange="reversed", showgrid=False, type="category" if y_labels is not None else None)
    figure.update_xaxes(showgrid=False, type="category" if x_labels is not None else None)
    return figure


def bars(
    values: Values | Mapping[str, Values],
    *,
    labels: Sequence[Any] | None = None,
    errors: Values | Mapping[str, Values] | None = None,
    x_title: str = "",
    y_title: str = "",
) -> go.Figure:
    """Draw bars side by side, a colour per series: one series (labels,), or several by name.

    `errors` are half-lengths of the error bars, (labels,) or (2, labels) for below and above.
    """
    series, spans = _series(values), _series({} if errors is None else errors)
    figure = _blank(x_title, y_title, height=360, showlegend=len(series) > 1, bargap=0.25, bargroupgap=0.06)
    for number, (name, y) in enumerate(series.items()):
        below, above = _halves(spans, name, y)
        span = {"array": above, "arrayminus": below, "thickness": 1, "width": 3} if name in spans else None
        color = PALETTE[number % len(PALETTE)]
        x = _labels(labels, len(y), "labels")
        figure.add_trace(go.Bar(x=x, y=y, name=name, error_y=span, marker={"color": color}))
    figure.update_xaxes(showgrid=False, type="category" if labels is not None else None)
    return figure


def scatter_with_fit(
    x: Values,
    y: Values,
    *,
    labels: Sequence[str] | None = None,
    x_title: str = "",
    y_title: str = "",
) -> go.Figure:
    """Draw points (points,) and the least-squares line through them, with its correlation.

    `labels` names the points; the names are shown when there are few.
    """
    across, up = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    _same_length(across, up, "x and y")
    figure = _blank(x_title, y_title, height=400)
    mode = "markers+text" if labels is not None and len(across) <= 40 else "markers"
    marker = {"color": PALETTE[0], "size": 8, "opacity": 0.75}
    text = None if labels is None else _labels(labels, len(across), "labels")
    figure.add_trace(
        go.Scatter(x=across, y=up, mode=mode, text=text, textposition="top center", marker=marker, name="data")
    )
    finite = np.isfinite(across) & np.isfinite(up)
    if finite.sum() > 2 and np.ptp(across[finite]) > 0 and np.ptp(up[finite]) > 0:
        slope, offset = np.polyfit(across[finite], up[finite], 1)
        ends = np.array([across[finite].min(), across[finite].max()])
        correlation = np.corrcoef(across[finite], up[finite])[0, 1]
        line, name = {"color": PALETTE[1], "width": 2}, f"least squares, r = {correlation:.3f}"
        figure.add_trace(go.Scatter(x=ends, y=slope * ends + offset, mode="lines", line=line, name=name, meta=DERIVED))
        figure.update_layout(showlegend=True)
    return figure


def stacked_shares(
    counts: Array, *, starts: Array, width: float, names: Sequence[str], x_title: str = "", y_title: str = ""
) -> go.Figure:
    """Draw a bar for each bin, split by group: counts (bins, groups), lighter for the first group than for the last.

    `starts` are the lower ends of the bins, (bins,), all of the same `width`. Empty bins are omitted; hovering shows
    the counts of the others.
    """
    counts, starts = np.asarray(counts), np.asarray(starts)
    if counts.shape != (len(starts), len(names)):
        raise AliceError(f"counts have the shape {counts.shape} for {len(starts)} bins and {len(names)} groups")
    totals = counts.sum(1)
    full = totals > 0
    counts, starts, totals = counts[full], starts[full], totals[full]
    figure = _blank(x_title, y_title, height=420, showlegend=True, barmode="stack", bargap=0)
    figure.update_layout(yaxis_range=[0, 1], legend_traceorder="normal")
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


def slider(figures: Mapping[str, go.Figure], *, prefix: str = "layer ", start: int = 0) -> go.Figure:
    """Put figures of one kind, such as one per layer, into one figure with a slider.

    `figures` maps the label of each step to its figure; the layout is that of the first. `prefix` precedes the label of
    the step that is shown, which is number `start` at first.
    """
    steps = list(figures)
    if not 0 <= start < len(steps):
        raise AliceError(f"a slider of {len(steps)} figures cannot start at number {start}")
    joined = go.Figure(layout=figures[steps[0]].layout)
    owners: list[str] = []
    for step, figure in figures.items():
        for trace in figure.data:
            meta = {**(trace.meta or {}), "step": step}
            joined.add_trace(trace).data[-1].update(meta=meta, visible=step == steps[start])
            owners.append(step)
    entries = [
        {"label": step, "method": "restyle", "args": [{"visible": [owner == step for owner in owners]}]}
        for step in steps
    ]
    current = {"prefix": prefix, "font": {"size": 13}, "xanchor": "left"}
    pad = {"t": 56, "b": 8}
    joined.update_layout(sliders=[{"active": start, "steps": entries, "currentvalue": current, "pad": pad}])
    joined.update_layout(height=(joined.layout.height or 400) + 90)
    return joined


def _blank(x_title: str, y_title: str, **layout: Any) -> go.Figure:
    axes = {"xaxis": {"title": {"text": x_title}}, "yaxis": {"title": {"text": y_title}}}
    return go.Figure(layout={"template": template(), "showlegend": False, **axes, **layout})


def _series(values: Values | Mapping[str, Values]) -> dict[str, Array]:
    """Return the series by name; a single one has an empty name."""
    named = values if isinstance(values, Mapping) else {"": values}
    return {name: np.asarray(value, dtype=float) for name, value in named.items()}


def _labels(labels: Sequence[Any] | None, count: int, what: str) -> list[Any]:
    found = list(range(count)) if labels is None else [str(label) for label in labels]
    if len(found) != count:
        raise AliceError(f"{what} has {len(found)} entries for {count} values")
    return found


def _same_length(one: Array, other: Array, what: str) -> None:
    if one.ndim != 1 or one.shape != other.shape:
        raise AliceError(f"{what} have the shapes {one.shape} and {other.shape}; both must be (n,)")


def _halves(errors: dict[str, Array], name: str, values: Array) -> tuple[Array, Array]:
    """Return how far the errors of a series reach below and above its values."""
    if name not in errors:
        return np.zeros_like(values), np.zeros_like(values)
    error = errors[name]
    below, above = (error, error) if error.ndim == 1 else (error[0], error[-1])
    _same_length(below, values, f"the errors and the values of {name!r}")
    return below, above


def _band(x: Array, low: Array, high: Array, *, color: str, group: str) -> go.Scatter:
    """Draw a closed band: along the top, and back along the bottom."""
    return go.Scatter(
        x=np.concatenate([x, x[::-1]]),
        y=np.concatenate([high, low[::-1]]),
        fill="toself",
        fillcolor=with_alpha(color, 0.18),
        line={"width": 0},
        mode="lines",
        hoverinfo="skip",
        showlegend=False,
        legendgroup=group,
        name=group,
        meta=DERIVED,
    )


def _shades(count: int) -> list[str]:
    """Return `count` colours from light to dark."""
    steps = np.linspace(LIGHT, DARK, count).round().astype(int)
    return [f"rgb({red},{green},{blue})" for red, green, blue in steps]
