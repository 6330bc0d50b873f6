"""The circuit as a graph to read: layers from left to right, a row per head, edges as wide as they matter.

Also the scatter of estimated against exact effects.
"""

from collections.abc import Sequence
from typing import Any

import numpy as np
import plotly.graph_objects as go

from alice.causal import EMBEDDING, OUTPUT, Graph
from alice.reports.figures import DERIVED, slider
from alice.reports.figures.theme import PALETTE, template, with_alpha
from alice.statistics import Floats, Ints

WIDTHS = (1.0, 2.0, 3.5, 5.5, 8.0)
"""Widths of edges in pixels; an edge has the widest if it has the largest score, and areas follow the scores."""
COLORS = dict(zip(("q", "k", "v", "mlp", "output"), PALETTE, strict=False))
NAMES = {"q": "into queries", "k": "into keys", "v": "into values", "mlp": "into an MLP", "output": "into the output"}
SHIFTS = {"q": -0.2, "k": 0.0, "v": 0.2}
"""Where edges reach a head, in rows from its middle."""
POINTS = 17
"""Points of a curve."""
HOVERED = (5, 8, 11)
"""Points of a curve that show its numbers."""
QUIET = PALETTE[-1]
SMALL = 1e-4
"""Share of the effect below which the axes of the scatter are linear, and logarithmic above."""


def graph_figure(graph: Graph, order: Ints, shares: Floats, counts: list[int]) -> go.Figure:
    """Draw the first edges of a ranking, with a slider over how many.

    Args:
        graph: the edges of the model.
        order: edges of the circuit, best first.
        shares: score of every edge as a share of the total effect, (edge,).
        counts: how many edges each step of the slider shows.

    """
    largest = float(np.abs(shares[order]).max(initial=0.0)) or 1.0
    steps = {str(count): _figure(graph, order[:count], shares / largest, shares) for count in counts}
    return slider(steps, prefix="strongest edges: ", start=len(counts) // 2)


def _figure(graph: Graph, edges: Ints, relative: Floats, shares: Floats) -> go.Figure:
    rows = graph.n_heads
    ticks = [0, *(1.5 + 2 * block for block in range(graph.n_layers)), 2 * graph.n_layers + 1]
    layout = {
        "template": template(),
        "height": 170 + 70 * (rows + 1),
        "showlegend": True,
        "hovermode": "closest",
        "xaxis": {
            "tickvals": ticks,
            "ticktext": ["in", *map(str, range(graph.n_layers)), "out"],
            "title": {"text": "block"},
            "range": [-0.7, 2 * graph.n_layers + 1.7],
            "showgrid": False,
            "zeroline": False,
        },
        "yaxis": {
            "tickvals": list(range(rows + 1)),
            "ticktext": [*(f"head {head}" for head in range(rows)), "MLP"],
            "range": [rows + 1.6, -0.9],
            "showgrid": False,
            "zeroline": False,
        },
    }
    figure = go.Figure(layout=layout)
    curves = {int(edge): _curve(graph, int(edge)) for edge in edges}
    for kind, color in COLORS.items():
        _add_edges(figure, graph, kind, color, curves, relative)
    figure.add_trace(_hover(graph, curves, shares))
    figure.add_trace(_nodes(graph, edges))
    return figure


def _add_edges(
    figure: go.Figure, graph: Graph, kind: str, color: str, curves: dict[int, Floats], relative: Floats
) -> None:
    """Add the edges into one kind of input: a trace for each width, dashed where the edge harms."""
    here = [edge for edge in curves if graph.readers[graph.edges[edge, 1]].input == kind]
    named = False
    for width in range(len(WIDTHS)):
        for harms in (False, True):
            some = [edge for edge in here if _width(relative[edge]) == width and (relative[edge] < 0) == harms]
            if not some:
                continue
            gap = np.full((1, 2), np.nan)
            x, y = np.concatenate([part for edge in some for part in (curves[edge], gap)]).T
            line = {"color": with_alpha(color, 0.75), "width": WIDTHS[width], "dash": "dot" if harms else "solid"}
            style: dict[str, Any] = {"name": NAMES[kind], "legendgroup": kind, "showlegend": not named}
            figure.add_trace(go.Scatter(x=x, y=y, mode="lines", line=line, hoverinfo="skip", meta=DERIVED, **style))
            named = True


def _width(relative: float) -> int:
    """Return the class of an edge's width from its score divided by the largest."""
    return min(len(WIDTHS) - 1, int(np.sqrt(abs(relative)) * len(WIDTHS)))


def _place(graph: Graph, label: str) -> tuple[float, float]:
    """Return where a node is: column and row."""
    if label in (EMBEDDING, OUTPUT):
        return (0.0 if label == EMBEDDING else 2.0 * graph.n_layers + 1), (graph.n_heads - 1) / 2
    part = graph.parts[graph.writers.index(label) - 1]
    return (2.0 * part.block + 2, graph.n_heads) if part.head is None else (2.0 * part.block + 1, part.head)


def _curve(graph: Graph, edge: int) -> Floats:
    """Return the points of an edge, (point, 2): level at both ends, and bowed around nodes that it would cross."""
    writer, reader = graph.edges[edge]
    (x0, y0), (x1, y1) = _place(graph, graph.writers[writer]), _place(graph, graph.readers[reader].node)
    y1 += SHIFTS.get(graph.readers[reader].input, 0.0)
    t = np.linspace(0, 1, POINTS)
    x, y = x0 + (x1 - x0) * t, y0 + (y1 - y0) * (3 * t**2 - 2 * t**3)
    if abs(y1 - y0) < 0.5 and x1 - x0 > 1.5:  # along a row: MLPs bow down, heads up
        depth = min(1.3, 0.25 + 0.08 * (x1 - x0))
        y = y + (depth if y0 >= graph.n_heads - 0.5 else -depth * 0.6) * 4 * t * (1 - t)
    return np.stack([x, y], 1)


def _hover(graph: Graph, curves: dict[int, Floats], shares: Floats) -> go.Scatter:
    """Return invisible points along the edges that show their numbers."""
    places = np.array([curve[point] for curve in curves.values() for point in HOVERED]).reshape(-1, 2)
    labels = graph.labels(np.array(list(curves), dtype=np.int64))
    text = [
        f"{label}<br><b>{100 * shares[edge]:.2f} %</b> of the effect"
        for label, edge in zip(labels, curves, strict=True)
    ]
    return go.Scatter(
        x=places[:, 0],
        y=places[:, 1],
        mode="markers",
        marker={"size": 10, "color": with_alpha(QUIET, 0.0)},
        text=[line for line in text for _ in HOVERED],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        meta=DERIVED,
    )


def _nodes(graph: Graph, edges: Ints) -> go.Scatter:
    """Return the nodes, faint where no edge of the circuit touches them."""
    labels = (*graph.writers, OUTPUT)
    leaving = [graph.writers[writer] for writer in graph.edges[edges, 0]]
    arriving = [graph.readers[reader].node for reader in graph.edges[edges, 1]]
    places = np.array([_place(graph, label) for label in labels])
    counts = [(arriving.count(label), leaving.count(label)) for label in labels]
    return go.Scatter(
        x=places[:, 0],
        y=places[:, 1],
        mode="markers",
        marker={
            "size": [13 if any(count) else 7 for count in counts],
            "color": [QUIET if any(count) else with_alpha(QUIET, 0.35) for count in counts],
        },
        text=[f"{label}: {into} edges in, {out} out" for label, (into, out) in zip(labels, counts, strict=True)],
        hovertemplate="%{text}<extra></extra>",
        showlegend=False,
        meta=DERIVED,
    )


def agreement_scatter(graph: Graph, reference: Floats, estimate: Floats) -> go.Figure:
    """Draw an estimate against the exact effect of every edge, both as shares of the total effect, (edge,)."""
    ticks = [sign * size for sign in (-1, 1) for size in (1e-3, 1e-2, 1e-1, 1.0)] + [0.0]
    axis = {"tickvals": _stretched(ticks).tolist(), "ticktext": [f"{100 * tick:g} %" for tick in ticks]}
    ends = _stretched([float(min(reference.min(), estimate.min())), float(max(reference.max(), estimate.max()))])
    drawn = go.Figure(
        layout={
            "template": template(),
            "height": 460,
            "showlegend": False,
            "hovermode": "closest",
            "xaxis": {**axis, "title": {"text": "exact effect"}},
            "yaxis": {**axis, "title": {"text": "estimate"}},
        }
    )
    drawn.add_trace(go.Scatter(x=ends, y=ends, mode="lines", line={"color": PALETTE[-1], "width": 1}, hoverinfo="skip"))
    drawn.add_trace(
        go.Scatter(
            x=_stretched(reference),
            y=_stretched(estimate),
            mode="markers",
            marker={"size": 4, "color": PALETTE[0], "opacity": 0.6},
            text=graph.labels(np.arange(len(reference))),
            hovertemplate="%{text}<extra></extra>",
        )
    )
    return drawn


def _stretched(values: Floats | Sequence[float]) -> Floats:
    """Return values on a scale that is linear near zero and logarithmic away from it."""
    return np.arcsinh(np.asarray(values, dtype=np.float64) / SMALL)
