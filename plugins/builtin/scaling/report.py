"""The result of the scaling analysis: a line and a row for each size, the frontier of all and its power law."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alice.model.config import ModelConfig
from alice.plugins.builtin.training_curves import FEWEST_POINTS, PowerLaw, frontier, power_law
from alice.plugins.reproduce import paper
from alice.reports import Figure, Result, Table
from alice.reports.figures import DERIVED
from alice.reports.panels import Panel, line_panels
from alice.statistics import Floats
from alice.training.presets import CPU_SIZES, PAPER_SIZES, Size, model_config
from alice.training.records import Found, RunRecord, differences

SIZE_FIELDS = ("d_model", "n_layers", "n_heads", "d_mlp", "hyper_layers", "hyper_heads", "cross_heads")
CAVEATS = (
    "Operations are those of the matrix products in the blocks, forward and backward, attention included; embedding, "
    "pooling and head are left out, and so is padding.",
    "The standard error of the exponent takes the points for independent. Neighbours on one curve are not, and one run "
    "for each size says nothing of other seeds: take it for a lower bound.",
    "The power law has no floor and knows no plateau; do not carry it far beyond the points that it was fitted to.",
    "Where the learning rate decays, a curve drops at its end for that reason alone; a constant one avoids it.",
)


@dataclass(frozen=True, eq=False)
class Line:
    """One run, as the report tells it."""

    label: str
    run: RunRecord

    @property
    def flops(self) -> Floats:
        """Operations at each measurement, (points,)."""
        return self.run.error.flops

    @property
    def ser(self) -> Floats:
        """Error rate at each measurement, (points,)."""
        return self.run.error.values


def report(found: Found, *, fit_below: float) -> Result:
    """Put the runs into a result."""
    lines = _lines(found.runs)
    flops = np.concatenate([line.flops for line in lines])
    ser = np.concatenate([line.ser for line in lines])
    best = frontier(flops, ser)
    fitted = best[(ser[best] < fit_below) & (ser[best] > 0) & (flops[best] > 0)]  # what has a logarithm
    law = power_law(flops[fitted], ser[fitted])
    return Result(
        title="Scaling",
        summary=_summary(lines, law, fit_below),
        caveats=(*differences(found.runs, besides=SIZE_FIELDS), *found.notes, *_estimates(lines), *CAVEATS),
        metrics=_metrics(lines, law),
        tables={"sizes": _table(lines), "configurations": _configurations(lines)},
        figures={"error-by-operations": _figure(lines, flops[best], ser[best], law, flops[fitted])},
        arrays={f"curve-{number}": np.stack([line.flops, line.ser]) for number, line in enumerate(lines, start=1)}
        | {"frontier": np.stack([flops[best], ser[best]])},
    )


def _lines(runs: Sequence[RunRecord]) -> list[Line]:
    ordered = sorted(runs, key=lambda run: run.model.block_weights)
    names = [_size_name(run) for run in ordered]
    return [
        Line(f"{name if names.count(name) == 1 else run.name} ({_millions(run.model)})", run)
        for name, run in zip(names, ordered, strict=True)
    ]


def _size_name(run: RunRecord) -> str:
    """Return the preset of this size, or what the run is called."""
    model = run.model
    same = (
        name
        for name, size in (CPU_SIZES | PAPER_SIZES).items()
        if size == Size(model.d_model, model.n_layers, model.n_heads, model.d_mlp)
    )
    return next(same, run.name)


def _millions(model: ModelConfig) -> str:
    return f"{model.block_weights / 1e6:.3g}M"


def _summary(lines: Sequence[Line], law: PowerLaw | None, fit_below: float) -> str:
    ends = [f"{line.label} ends at {line.ser[-1]:.3f} after {line.flops[-1]:.2e}" for line in lines if len(line.ser)]
    where = f" below {fit_below:g}" if fit_below < 1 else ""
    if law is None:
        told = f"There are fewer than {FEWEST_POINTS} points on the frontier{where}, too few for a power law."
    else:
        told = (
            f"The lowest error{where} that any of them has reached falls as the operations to the power "
            f"{law.exponent:.3f} ± {law.exponent_error:.3f} ({law.points} points, R² {law.r_squared:.2f})."
        )
    return (
        "The symbol error rate on held-out texts against the operations spent on training (FLOPs). "
        f"{'; '.join(ends) or 'Nothing was measured yet'}. {told}\n\n"
        "In the paper smaller models level off at higher errors, more parameters help up to "
        f"{paper.BEST_SCALING_PRESET.upper()}, and the next larger model does no better after "
        f"{paper.SCALING_STEPS:,} steps. It gives no exponent."
    )


def _estimates(lines: Sequence[Line]) -> list[str]:
    """Say which runs were logged before operations were counted."""
    guessed = [line.run.name for line in lines if not line.run.exact_flops]
    if not guessed:
        return []
    return [
        f"The log of {', '.join(guessed)} has no count of operations; they are estimated from its characters, with "
        "attention as if every text were half as long as the longest allowed."
    ]


def _metrics(lines: Sequence[Line], law: PowerLaw | None) -> dict[str, Any]:
    metrics: dict[str, Any] = {}
    if law is not None:
        metrics |= {"exponent": law.exponent, "standard error of the exponent": law.exponent_error}
        metrics |= {"points of the fit": law.points}
    metrics |= {f"SER of {line.label}": float(line.ser[-1]) for line in lines if len(line.ser)}
    return metrics | {"runs": len(lines)}


def _figure(lines: Sequence[Line], x: Floats, y: Floats, law: PowerLaw | None, fitted: Floats) -> Figure:
    curves = {line.label: (line.flops, line.ser) for line in lines}
    drawn = line_panels(Panel(curves, "training FLOPs", "SER", log=True), height=460)
    grey = {"color": "#7d8790", "width": 2, "dash": "dot"}
    if law is not None:
        ends = np.array([fitted.min(), fitted.max()])
        name = f"power law, exponent {law.exponent:.3f}"
        drawn.add_scatter(x=ends, y=law(ends), mode="lines", line=grey, name=name, meta=DERIVED)
    marker = {"symbol": "circle-open", "size": 11, "color": grey["color"]}
    drawn.add_scatter(x=x, y=y, mode="markers", marker=marker, name="lowest so far", meta=DERIVED)
    caption = (
        "Error rate at every measurement against the operations spent until then, both on logarithmic scales. Circles "
        "mark errors that no run has reached with fewer operations."
    )
    rows = [
        (line.label, int(step), float(spent), float(error))
        for line in lines
        for step, spent, error in zip(line.run.error.steps, line.flops, line.ser, strict=True)
    ]
    return Figure(drawn, caption, Table(("size", "step", "FLOPs", "SER"), rows))


def _table(lines: Sequence[Line]) -> Table:
    rows = [
        (line.label, line.run.name, int(line.run.loss.steps[-1]), float(line.run.loss.flops[-1]))
        + ((float(line.ser[-1]), float(line.ser.min())) if len(line.ser) else (None, None))
        for line in lines
    ]
    return Table(("size", "run", "steps", "FLOPs", "final SER", "lowest SER"), rows, caption="Each run at its end.")


def _configurations(lines: Sequence[Line]) -> Table:
    """Put the paper's sizes beside ours."""
    models = [("ours", line.label.rpartition(" (")[0], line.run.model) for line in lines]
    models += [("paper", name.upper(), model_config(name)) for name in PAPER_SIZES]
    rows = [
        (whose, name, _millions(model), model.d_model, model.n_blocks, model.n_heads, model.d_mlp)
        for whose, name, model in models
    ]
    columns = ("whose", "name", "weights in blocks", "d_model", "layers", "heads", "d_mlp")
    return Table(columns, rows, caption="The models here, and those of the paper's table of scaling configurations.")
