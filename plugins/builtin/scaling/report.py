"""The result of the scaling analysis: a line and a row for each size, the lowest errors and their power law."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from alice.model import ModelConfig
from alice.plugins import paper
from alice.plugins.builtin.scaling.encodings_report import (
    encoding_caveats,
    encoding_figures,
    encoding_metrics,
    encoding_summary,
    encoding_tables,
)
from alice.plugins.builtin.scaling.equal_operations_report import (
    size_caveats,
    size_figures,
    size_metrics,
    size_summary,
    size_tables,
)
from alice.plugins.builtin.scaling.measure import FEWEST_POINTS, Line, Scaled
from alice.reports import Figure, Metric, Result, Table, model_key
from alice.reports.figures import DERIVED
from alice.reports.figures.panels import DASHES, Panel, line_panels
from alice.reports.figures.theme import PALETTE, SYMBOLS
from alice.training import PAPER_SIZES, model_config

if TYPE_CHECKING:
    import plotly.graph_objects as go

GREY = "#7d8790"
CAVEATS = (
    "Operations are those of the matrix products in the blocks, forward and backward, including attention. Embedding, "
    "pooling, head and padding are left out.",
    "The standard error of the exponent treats the points as independent. Neighbours on one curve are not, nor are "
    "trainings with the same seed: read it as a lower bound.",
    "The power law has neither a floor nor a plateau; do not extrapolate it far beyond the fitted points.",
    "Where the learning rate decays, a curve drops at its end for that reason alone; a constant rate avoids it.",
)


def report(found: Scaled, *, fit_below: float) -> Result:
    """Put the trainings into a result; `fit_below` is in percent."""
    arrays = {"frontier-flops": found.frontier[0], "frontier-ser": 100 * found.frontier[1]}
    for line in found.lines:
        arrays |= {model_key("flops", line.name): line.flops, model_key("ser", line.name): 100 * line.ser}
    return Result(
        title="Scaling",
        summary=_summary(found, fit_below) + size_summary(found.sizes) + encoding_summary(found.comparisons),
        caveats=(*found.notes, *CAVEATS, *size_caveats(found.sizes), *encoding_caveats(found.comparisons)),
        metrics=[*_metrics(found), *size_metrics(found.sizes), *encoding_metrics(found.comparisons)],
        tables={
            **encoding_tables(found.comparisons),
            **size_tables(found.sizes),
            "sizes": _sizes(found.lines),
            "configurations": _configurations(found.lines),
        },
        figures={
            "error-by-operations": _figure(found),
            **size_figures(found.sizes),
            **encoding_figures(found.comparisons),
        },
        arrays=arrays,
    )


def _label(line: Line) -> str:
    return f"{line.name} ({line.model.block_weights / 1e6:.3g}M)"


def _summary(found: Scaled, fit_below: float) -> str:
    ends = _ends(found.lines)
    below, law = f" below {fit_below:g} %" if fit_below < 100 else "", found.law
    if law is None:
        fit = f"The lowest errors{below} are fewer than {FEWEST_POINTS} points, too few for a power law."
    else:
        fit = (
            f"The lowest error{below} that any of them reached falls as the operations to the power "
            f"{law.exponent:.3f} ± {law.exponent_error:.3f} ({law.points} points, R² {law.r_squared:.2f})."
        )
    return (
        "The symbol error rate on held-out texts against the operations spent on training (FLOPs). "
        f"{'; '.join(ends) or 'Nothing was measured yet'}. {fit}\n\n"
        "In the paper smaller models level off at higher errors, more parameters help up to "
        f"{paper.BEST_SCALING_PRESET.upper()}, and the next larger model is no better after "
        f"{paper.SCALING_STEPS:,} steps. It gives no exponent."
    )


def _ends(lines: Sequence[Line]) -> list[str]:
    """Say where each training ends; those of the same model together."""
    groups: dict[ModelConfig, list[Line]] = {}
    for line in lines:
        if len(line.ser):
            groups.setdefault(line.model, []).append(line)
    ends = []
    for group in groups.values():
        errors = sorted(100 * float(line.ser[-1]) for line in group)
        flops = np.mean([line.flops[-1] for line in group])
        name, error = _label(group[0]), f"{errors[0]:.1f}"
        if len(group) > 1:
            size = f"{group[0].model.block_weights / 1e6:.3g}M"
            name, error = f"{', '.join(line.name for line in group)} ({size})", f"{error} to {errors[-1]:.1f}"
        ends.append(f"{name} {'end' if len(group) > 1 else 'ends'} at {error} % after {flops:.2e} operations")
    return ends


def _metrics(found: Scaled) -> list[Metric]:
    metrics = []
    if (law := found.law) is not None:
        metrics = [
            Metric("exponent", law.exponent, law.exponent_error, label="exponent of the power law"),
            Metric("fit-points", law.points, label="points of the fit"),
        ]
    metrics += [
        Metric("ser", 100 * float(line.ser[-1]), unit="%", model=line.name, label="final symbol error rate")
        for line in found.lines
        if len(line.ser)
    ]
    return [*metrics, Metric("trainings", len(found.lines))]


def _figure(found: Scaled) -> Figure:
    curves = {_label(line): (line.flops, 100 * line.ser) for line in found.lines}
    drawn = line_panels(Panel(curves, "training FLOPs", "SER, %", log=True), height=460)
    _color_by_model(drawn, found.lines)
    if (law := found.law) is not None:
        ends = np.array([found.fitted[0].min(), found.fitted[0].max()])
        name, dotted = f"power law, exponent {law.exponent:.3f}", {"color": GREY, "width": 2, "dash": "dot"}
        drawn.add_scatter(x=ends, y=100 * law(ends), mode="lines", line=dotted, name=name, meta=DERIVED)
    x, y = found.frontier
    marker = {"symbol": "circle-open", "size": 11, "color": GREY}
    drawn.add_scatter(x=x, y=100 * y, mode="markers", marker=marker, name="lowest so far", meta=DERIVED)
    caption = (
        "Symbol error rate at every measurement against the operations spent until then, both on logarithmic scales. "
        "Circles mark errors that no training reached with fewer operations. Trainings of the same model have one "
        "colour."
    )
    rows = [
        (line.name, line.training, int(step), float(spent), 100 * float(error))
        for line in found.lines
        for step, spent, error in zip(line.steps, line.flops, line.ser, strict=True)
    ]
    return Figure(drawn, caption, Table(("model", "training", "step", "flops", "ser"), rows))


def _color_by_model(drawn: "go.Figure", lines: Sequence[Line]) -> None:
    """Give trainings of the same model one colour and symbol, and different dashes."""
    models: list[ModelConfig] = []
    for trace, line in zip(drawn.data, lines, strict=True):
        dash = models.count(line.model)
        models.append(line.model)
        place = list(dict.fromkeys(models)).index(line.model)
        color = PALETTE[place % len(PALETTE)]
        trace.line.update(color=color, dash=DASHES[dash % len(DASHES)])
        trace.marker.update(color=color, symbol=SYMBOLS[place % len(SYMBOLS)])


def _sizes(lines: Sequence[Line]) -> Table:
    rows = [
        (line.name, line.training, line.model.block_weights, line.last_step, line.last_flops)
        + ((100 * float(line.ser[-1]), 100 * float(line.ser.min())) if len(line.ser) else (None, None))
        for line in lines
    ]
    labels = {
        "weights": "weights in blocks",
        "flops": "FLOPs",
        "ser": "final SER, %",
        "lowest_ser": "lowest SER, %",
    }
    columns = ("model", "training", "weights", "steps", "flops", "ser", "lowest_ser")
    return Table(columns, rows, "The end of each training.", labels)


def _configurations(lines: Sequence[Line]) -> Table:
    """Compare the sizes of the paper with ours."""
    models: list[tuple[str, str, ModelConfig]] = [(line.name, "ours", line.model) for line in lines]
    models += [(name.upper(), "paper", model_config(name)) for name in PAPER_SIZES]
    rows = [
        (name, source, model.block_weights, model.d_model, model.n_blocks, model.n_heads, model.d_mlp)
        for name, source, model in models
    ]
    columns = ("model", "source", "weights", "d_model", "blocks", "heads", "d_mlp")
    caption = "The models here, and those of the paper's table of scaling configurations."
    return Table(columns, rows, caption, {"weights": "weights in blocks", "d_model": "d_model", "d_mlp": "d_mlp"})
