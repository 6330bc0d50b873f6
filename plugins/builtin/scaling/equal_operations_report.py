"""The part of the scaling report about sizes of model at equal operations."""

import math

import numpy as np

from alice.plugins import paper
from alice.plugins.builtin.scaling.equal_operations import (
    CHARACTERS,
    SPAN,
    EqualOperations,
    paper_flops,
    paper_model,
)
from alice.reports import Figure, Metric, Table
from alice.reports.figures import DERIVED
from alice.reports.figures.panels import Panel, line_panels
from alice.statistics import Floats, blank_nan

GREY = "#7d8790"


def size_summary(found: EqualOperations | None) -> str:
    """Return a paragraph: which size is better at equal operations, the law, and its prediction."""
    if found is None:
        return ""
    size, compute = found.exponents()
    weights, flops = paper_model().block_weights, paper_flops()
    return (
        f"\n\nAt {found.flops[-1]:.2e} operations each, over {len(found.seeds)} seeds: {_verdict(found)}. From "
        f"{found.flops[0]:.1e} operations on, the error goes as the weights to the power {_shown(-size)} and the "
        f"operations to the power {_shown(-compute)}. {_control(found)} Extrapolated to the paper's "
        f"{paper.BEST_SCALING_PRESET.upper()} model after {paper.SCALING_STEPS:,} steps, that is "
        f"{_times(weights / found.weights[-1])} times the weights and {_times(flops / found.flops[-1])} times the "
        f"operations, this law gives a SER of {_shown(100 * found.prediction())} %."
    )


def _control(found: EqualOperations) -> str:
    """Say how far the law is from what was measured, and what it would have predicted for the largest size."""
    said = f"At the most operations this law misses the error of a size by up to a factor of {found.misfit():.2f}"
    held_out = 100 * found.held_out()
    if np.isnan(held_out[0]):
        return f"{said}."
    measured = 100 * float(found.last()[-1, 0])
    return f"{said}; fitted without {found.names[-1]}, it predicts {_shown(held_out)} % for it, not {measured:.3g} %."


def _verdict(found: EqualOperations) -> str:
    """Say whether the largest size is better than the smallest."""
    lead = 100 * found.lead()
    said = f"{found.names[-1]} minus {found.names[0]} {lead[0]:+.2f} percentage points"
    if np.isnan(lead[1]):
        return f"{said}, without an interval, which needs a second seed"
    if lead[1] <= 0 <= lead[2]:
        verdict = "these seeds do not decide which is better"
    else:
        verdict = "the larger model wins" if lead[2] < 0 else "the larger model does not win"
    return f"{said} (95 % interval {lead[1]:+.2f} to {lead[2]:+.2f}): {verdict}"


def _shown(values: Floats) -> str:
    value, low, high = float(values[0]), min(values[1:]), max(values[1:])
    return f"{value:.3g}" + ("" if math.isnan(low) else f" ({low:.3g} to {high:.3g})")


def _times(factor: float) -> str:
    """Return a factor with two significant digits, such as 80,000."""
    return f"{float(f'{factor:.2g}'):,g}" if factor < 100 else f"{float(f'{factor:.2g}'):,.0f}"


def size_caveats(found: EqualOperations | None) -> tuple[str, ...]:
    """Return what to keep in mind about the comparison."""
    if found is None:
        return ()
    return (
        "Sizes are compared at equal operations, up to the most that all have spent; the law is fitted to the last "
        f"factor of {SPAN:g} of these. Intervals are bootstraps over {len(found.seeds)} seeds, which are too narrow "
        "with few of them, and cover no error of the law itself.",
        f"The prediction for the paper's model is an extrapolation far beyond the fitted points. Its operations are "
        f"estimated with {CHARACTERS} characters per text; its recipe, its texts and the lengths differ from ours.",
    )


def size_metrics(found: EqualOperations | None) -> list[Metric]:
    """Return the exponents, the lead of the largest size and the prediction."""
    if found is None:
        return []
    size, compute = found.exponents()
    named = [
        ("size-exponent", -size, "", "exponent of the weights at equal operations"),
        ("operations-exponent", -compute, "", "exponent of the operations at equal weights"),
        ("larger-minus-smaller", 100 * found.lead(), "%", "SER of the largest size minus the smallest, in points"),
        ("predicted-ser", 100 * found.prediction(), "%", f"SER extrapolated to {paper.BEST_SCALING_PRESET.upper()}"),
    ]
    held_out = 100 * found.held_out()
    if not np.isnan(held_out[0]):
        named.append(("held-out-ser", held_out, "%", f"SER of {found.names[-1]} by the law of the other sizes"))
    return [
        Metric("law-misfit", found.misfit(), label="factor by which the law misses an error at the most operations"),
    ] + [
        Metric(name, float(values[0]), interval=(min(values[1:]), max(values[1:])), unit=unit, label=label)
        for name, values, unit, label in named
    ]


def size_tables(found: EqualOperations | None) -> dict[str, Table]:
    """Return the error of each size at the most operations."""
    if found is None:
        return {}
    rows = [
        (name, int(weights), float(found.flops[-1]), len(found.seeds), *(blank_nan(100 * float(one)) for one in ends))
        for name, weights, ends in zip(found.names, found.weights, found.last(), strict=True)
    ]
    labels = {"weights": "weights in blocks", "flops": "FLOPs", "ser": "SER, %", "low": "from", "high": "to"}
    caption = "Symbol error rate at equal operations, interpolated between measurements; 95 % intervals over seeds."
    return {
        "equal-operations": Table(("model", "weights", "flops", "seeds", "ser", "low", "high"), rows, caption, labels)
    }


def size_figures(found: EqualOperations | None) -> dict[str, Figure]:
    """Draw the errors at equal operations against the weights, with the law."""
    if found is None:
        return {}
    ends = found.last()
    drawn = line_panels(
        Panel({"mean over seeds": (found.weights, 100 * ends[:, 0])}, "weights in blocks", "SER, %", log=True),
        height=420,
    )
    if not np.isnan(ends).any():
        drawn.data[0].error_y = {
            "type": "data",
            "array": 100 * (ends[:, 2] - ends[:, 0]),
            "arrayminus": 100 * (ends[:, 0] - ends[:, 1]),
        }
    fitted = 100 * found.law(found.weights, found.flops[-1])
    dotted = {"color": GREY, "width": 2, "dash": "dot"}
    drawn.add_scatter(x=found.weights, y=fitted, mode="lines", line=dotted, name="law", meta=DERIVED)
    caption = (
        f"Symbol error rate of each size after {found.flops[-1]:.2e} operations, and the law fitted to all points."
    )
    return {"error-by-size": Figure(drawn, caption)}
