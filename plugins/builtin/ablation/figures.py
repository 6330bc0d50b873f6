"""The figures of the ablation analysis: losses by part, against statistics of attention, and pairs of heads."""

import numpy as np
import plotly.graph_objects as go

from alice.plugins.builtin.ablation.losses import MAIN, Losses
from alice.plugins.builtin.ablation.measure import ROTATED, WAYS, Measured
from alice.plugins.builtin.attention.statistics import STATISTICS
from alice.reports import Figure, Table
from alice.reports.figures import heatmap, slider
from alice.reports.figures.theme import PALETTE, SYMBOLS, template
from alice.statistics import Floats

LABELS = {"zero": "zero", "mean": "its mean", "resample": "its output for another text", ROTATED: "rotated (control)"}
NUMBERING = "L0H3 is head 3 of block 0 (blocks.0)."
LOSS = "loss, %"
NAMED = 5.0
"""Heads that cost at least this much, in percent, are named in the scatter plot."""


def _grid(measured: Measured, values: Floats) -> Floats:
    """Arrange a value per part by block, heads first, then the feed-forward layer, (block, head + 1)."""
    return values.reshape(measured.parts[-1].block + 1, -1)


def part_figure(measured: Measured, losses: Losses, data: Table) -> Figure:
    """Draw the losses by block and part, a step for each replacement; all steps share the colours."""
    columns = [f"H{head}" for head in range(measured.heads.per_block)] + ["MLP"]
    steps = {}
    for way in WAYS:
        value, low, high = losses.loss(way)
        points = losses.errors[way][0]
        drawn = heatmap(
            _grid(measured, np.clip(value, -100, 100)),
            x_labels=columns,
            y_labels=[f"L{block}" for block in range(measured.parts[-1].block + 1)],
            value_title=LOSS,
            limits=(-100, 100),
            diverging=True,
        )
        details = np.stack([_grid(measured, one) for one in (value, low, high, points)], axis=-1)
        drawn.update_traces(
            customdata=details,
            text=[[f"{cell:.0f}" for cell in row] for row in _grid(measured, value.round() + 0.0)],  # no minus zero
            texttemplate="%{text}",
            hovertemplate="%{y} %{x}<br>loss <b>%{customdata[0]:.1f} %</b> (%{customdata[1]:.1f} to "
            "%{customdata[2]:.1f})<br>SER %{customdata[3]:+.1f} points<extra></extra>",
        )
        steps[LABELS[way]] = drawn.update_layout(height=360)
    caption = (
        "Loss without each head (H0, H1, ...) and feed-forward layer (MLP), by block, in percent of the way to the "
        "answer to another text; 0 is the whole model. The slider changes what replaces the part. In the control the "
        "output changes as much as for another text, in a rotated direction."
    )
    return Figure(slider(steps, prefix="replaced by ", start=WAYS.index(MAIN)), caption, data)


def statistic_figure(measured: Measured, losses: Losses, heads: list[int]) -> Figure:
    """Draw the loss of each head against what `attention` says of it, a colour per kind and a step per statistic."""
    loss, means = losses.loss(MAIN)[:, heads], measured.heads.means
    steps = {
        statistic: _statistic_scatter(measured, loss, means[:, column]) for column, statistic in enumerate(STATISTICS)
    }
    rows = [
        (
            measured.heads.label(head),
            measured.heads.kind_of[head],
            name,
            float(means[head, column]),
            *loss[:, head].tolist(),
        )
        for head in range(len(heads))
        for column, name in enumerate(STATISTICS)
    ]
    caption = (
        "Loss of each head, replaced by its output for another text, against the statistics of `attention`: entropy in "
        "bits, distance in characters, the rest shares of the attention. The slider changes the statistic. Colours are "
        "kinds of head; bars are 95 % intervals."
    )
    columns = ("head", "kind", "statistic", "value", "loss", "low", "high")
    return Figure(slider(steps, prefix="", start=STATISTICS.index("same symbol")), caption, Table(columns, rows))


def _statistic_scatter(measured: Measured, loss: Floats, statistic: Floats) -> go.Figure:
    """Draw the losses of the heads, (3, head), against one statistic, (head,)."""
    drawn = go.Figure(layout={"template": template(), "height": 420, "showlegend": True})
    for number, kind in enumerate(measured.heads.kinds):
        members = list(kind.heads)
        value, low, high = loss[:, members]
        marker = {"size": 9, "color": PALETTE[number % len(PALETTE)], "symbol": SYMBOLS[number % len(SYMBOLS)]}
        drawn.add_trace(
            go.Scatter(
                x=statistic[members],
                y=value,
                error_y={"array": high - value, "arrayminus": value - low, "thickness": 1, "width": 0},
                mode="markers+text",
                name=kind.name,
                text=[measured.heads.label(head) if loss[0, head] >= NAMED else "" for head in members],
                textposition="top right",
                customdata=[measured.heads.label(head) for head in members],
                hovertemplate="%{customdata}: <b>%{y:.1f} %</b>, %{x:.3g}<extra>" + kind.name + "</extra>",
                marker=marker,
            )
        )
    return drawn.update_yaxes(title={"text": LOSS}).update_xaxes(rangemode="tozero")


def pair_figure(measured: Measured, losses: Losses, data: Table) -> Figure:
    """Draw the interactions as a matrix: those of removed heads above the diagonal, the control below."""
    numbers = sorted({number for pair in measured.pairs for number in pair})
    labels = [measured.parts[number].label for number in numbers]
    values = np.full((len(numbers), len(numbers)), np.nan)
    hover = np.full(values.shape, "", dtype=object)
    for place, (one, other) in enumerate(measured.pairs):
        row, column = numbers.index(one), numbers.index(other)
        for way, (i, j) in enumerate(((row, column), (column, row))):
            value, low, high = losses.pairs[way, :, place]
            values[i, j] = value
            name = "control" if way else "interaction"
            hover[i, j] = f"{pair_label(measured, place)}, {name}: <b>{value:.1f} %</b> ({low:.1f} to {high:.1f})"
    drawn = heatmap(values, x_labels=labels, y_labels=labels, value_title="interaction, %", diverging=True)
    shown = [["" if np.isnan(cell) else f"{cell:.1f}" for cell in row] for row in values]
    drawn.update_traces(
        customdata=hover, hovertemplate="%{customdata}<extra></extra>", text=shown, texttemplate="%{text}"
    )
    drawn.update_layout(height=440)
    caption = (
        "Loss without two heads, less the sum of the losses without each: above zero, one stands in for the other. "
        f"Above the diagonal the heads are replaced by their output for another text, below it is the rotated "
        f"control. {NUMBERING}"
    )
    return Figure(drawn, caption, data)


def pair_label(measured: Measured, place: int) -> str:
    """Return the name of a pair of heads by its number: `L0H1 + L2H1`."""
    return " + ".join(measured.parts[number].label for number in measured.pairs[place])
