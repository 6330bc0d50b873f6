"""The part of the scaling report about trainings that rename the letters of their input in different ways."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.plugins.builtin.scaling.encodings import Comparison, Difference
from alice.plugins.builtin.scaling.measure import preset_of
from alice.reports import Figure, Metric, Table
from alice.reports.figures import DERIVED
from alice.reports.figures.panels import Panel, line_panels
from alice.statistics import blank_nan

FAINT = 0.35
"""Opacity of the lines of single seeds."""
CAVEATS = (
    "Encodings are compared seed by seed: the same seed gives the same texts, keys and initial weights. The intervals "
    "are Student's over seeds, each for itself, and say nothing about other sizes, longer trainings or other texts.",
    "Renaming the letters is not counted as operations.",
)


def encoding_caveats(comparisons: Sequence[Comparison]) -> tuple[str, ...]:
    """Return what to keep in mind about the comparisons."""
    if not comparisons:
        return ()
    unequal = any(not comparison.equal_flops for comparison in comparisons)
    note = "Encodings are compared at equal steps, where their operations differ by more than a percent."
    return (*CAVEATS, note) if unequal else CAVEATS


def encoding_summary(comparisons: Sequence[Comparison]) -> str:
    """Return a paragraph for each comparison: the last errors, and whether they differ."""
    return "".join(f"\n\n{_sentences(comparison)}" for comparison in comparisons)


def _sentences(comparison: Comparison) -> str:
    last = 100 * comparison.ser[:, :, -1].mean(1)
    ends = ", ".join(f"{name} {ser:.2f} %" for name, ser in zip(comparison.encodings, last, strict=True))
    steps, flops, seeds = int(comparison.steps[-1]), comparison.flops[:, :, -1].mean(), len(comparison.seeds)
    return (
        f"Encodings of the input, {preset_of(comparison.model) or 'one size'}, after {steps:,} steps and {flops:.2e} "
        f"operations, SER as a mean over {seeds} {'seeds' if seeds > 1 else 'seed'}: {ends}. "
        f"{' '.join(map(_verdict, comparison.differences()))}"
    )


def _verdict(difference: Difference) -> str:
    """Say whether two encodings differ after the last step."""
    name, (low, high) = f"{difference.encoding} minus {difference.reference}", 100 * difference.interval[:, -1]
    said = f"{name}: {100 * difference.mean[-1]:+.2f} percentage points"
    if np.isnan(low):
        return f"{said}, without an interval, which needs a second seed."
    verdict = "a difference" if low > 0 or high < 0 else "no difference that these seeds show"
    return f"{said} (95 % interval {low:+.2f} to {high:+.2f}), {verdict}."


def encoding_metrics(comparisons: Sequence[Comparison]) -> list[Metric]:
    """Return the differences after the last step, in percentage points."""
    return [
        Metric(
            f"difference-from-{difference.reference}",
            100 * float(difference.mean[-1]),
            blank_nan(100 * float(difference.error[-1])),
            unit="%",
            model=_name(comparison, difference.encoding, comparisons),
            label=f"final SER minus that of {difference.reference}, percentage points",
        )
        for comparison in comparisons
        for difference in comparison.differences()
    ]


def encoding_tables(comparisons: Sequence[Comparison]) -> dict[str, Table]:
    """Return the last errors of each encoding, and the differences after every measurement."""
    if not comparisons:
        return {}
    ends = [
        (preset_of(one.model), encoding, len(one.seeds), int(one.steps[-1]), float(flops.mean()),
         *(100 * float(reduce(ser)) for reduce in (np.mean, np.min, np.max)))
        for one in comparisons
        for encoding, flops, ser in zip(one.encodings, one.flops[:, :, -1], one.ser[:, :, -1], strict=True)
    ]  # fmt: skip
    labels = {"flops": "FLOPs", "ser": "SER, %", "lowest": "lowest of a seed, %", "highest": "highest of a seed, %"}
    columns = ("size", "encoding", "seeds", "steps", "flops", "ser", "lowest", "highest")
    rows = [row for one in comparisons for difference in one.differences() for row in _rows(one, difference)]
    caption = "Difference in SER after every measurement, in percentage points, with its 95 % interval over seeds."
    differing = ("size", "encoding", "reference", "step", "flops", "difference", "low", "high")
    return {
        "encodings": Table(columns, ends, "Last error of each encoding, a mean over seeds.", labels),
        "encoding-differences": Table(differing, rows, caption, {"flops": "FLOPs"}),
    }


def _rows(comparison: Comparison, difference: Difference) -> list[tuple[Any, ...]]:
    flops, (low, high) = comparison.flops.mean((0, 1)), 100 * difference.interval
    start = (preset_of(comparison.model), difference.encoding, difference.reference)
    values = zip(comparison.steps, flops, 100 * difference.mean, low, high, strict=True)
    return [
        (*start, int(step), float(spent), float(mean), blank_nan(float(bottom)), blank_nan(float(top)))
        for step, spent, mean, bottom, top in values
    ]


def encoding_figures(comparisons: Sequence[Comparison]) -> dict[str, Figure]:
    """Draw the errors over operations: a line for each encoding, the mean over seeds, and thin lines for the seeds."""
    if not comparisons:
        return {}
    curves, singles, rows = {}, [], []
    for one in comparisons:
        for encoding, flops, ser in zip(one.encodings, one.flops, 100 * one.ser, strict=True):
            name = _name(one, encoding, comparisons)
            curves[name] = (flops.mean(0), ser.mean(0))
            singles += [(name, x, y) for x, y in zip(flops, ser, strict=True)]
            rows += [
                (preset_of(one.model), encoding, seed, int(step), float(spent), float(error))
                for seed, *curve in zip(one.seeds, flops, ser, strict=True)
                for step, spent, error in zip(one.steps, *curve, strict=True)
            ]
    drawn = line_panels(Panel(curves, "training FLOPs", "SER, %", log=True), height=460, legend_title="encoding")
    colors = {trace.name: trace.line.color for trace in drawn.data}
    for name, x, y in singles:
        thin = {"color": colors[name], "width": 1}
        drawn.add_scatter(x=x, y=y, mode="lines", line=thin, opacity=FAINT, name=name, legendgroup=name,
                          showlegend=False, hoverinfo="skip", meta=DERIVED)  # fmt: skip
    caption = (
        "Symbol error rate against the operations spent until then, both on logarithmic scales, for models that read "
        "the letters as they are (none), or renamed by frequency or by first appearance (recurrence). "
        "Means over seeds; thin lines are single seeds."
    )
    table = Table(("size", "encoding", "seed", "step", "flops", "ser"), rows)
    return {"error-by-encoding": Figure(drawn, caption, table)}


def _name(comparison: Comparison, encoding: str, among: Sequence[Comparison]) -> str:
    """Return what tells an encoding apart, with its size if there are several."""
    if len(among) == 1:
        return encoding
    model = comparison.model
    return f"{preset_of(model) or f'{model.block_weights / 1e6:.3g}M'}-{encoding}"
