"""The figures of the features analysis over all layers: what features keep, what they name, and their stability."""

from collections.abc import Mapping

import numpy as np

from alice.plugins.builtin.features.concepts import KINDS
from alice.plugins.builtin.features.stability import SAME, Stability
from alice.plugins.builtin.features.summed import COVERED, Shares, Summed
from alice.reports import Figure
from alice.reports.figures import layer_curve
from alice.reports.figures.panels import Panel, line_panels


def summed_figures(one: Summed) -> dict[str, Figure]:
    """Return the figures by name; that of the stability only if there are several seeds."""
    figures = {
        "reconstruction": _curves(
            {"loss recovered": one.recovered, "explained variance": one.explained},
            "%",
            "Loss recovered and explained variance of the reconstruction of each layer, on held-out texts. Layer 0 is "
            "the embedding. Bands: 95 % over texts.",
            title="Loss recovered and explained variance",
        ),
        "coverage": _curves(
            {"one feature": one.coverage, "linear probe": one.probe_coverage},
            "concepts covered, %",
            "Share of the concepts that the best feature of a layer, or a linear probe, detects with an F1 of at "
            f"least {COVERED}. Bands: 95 % over texts.",
            title="Coverage of concepts",
        ),
        "f1-by-kind": _f1_figure(one),
    }
    if one.found.stability is not None:
        figures["stability"] = _stability_figure(one.found.stability)
    return figures


def _curves(parts: Mapping[str, Shares], y_title: str, caption: str, *, title: str) -> Figure:
    """Return a figure of shares over the layers, in percent, with bands where the intervals are known."""
    shares = {name: 100 * part.share for name, part in parts.items()}
    bands = {name: 100 * part.halves for name, part in parts.items() if not np.isnan(part.low).any()}
    return Figure(layer_curve(shares, errors=bands, y_title=y_title), caption, title=title)


def _f1_figure(one: Summed) -> Figure:
    naming, layers = one.found.naming, np.arange(len(one.found.shown))
    kinds = {label: columns for kind, label in KINDS.items() if (columns := one.of_kind(kind))}
    panels = [
        Panel(
            {label: (layers, values[:, columns].mean(1)) for label, columns in kinds.items()},
            x_title="layer",
            y_title="mean F1",
            title=title,
            y_range=(0, 1),
        )
        for title, values in (("best feature", naming.f1), ("linear probe", naming.probe_f1))
    ]
    caption = (
        "Mean F1 over the concepts of a kind, by layer: of the best feature for each concept, and of a linear probe."
    )
    return Figure(line_panels(*panels, height=400), caption, title="F1 by kind of concept")


def _stability_figure(found: Stability) -> Figure:
    series = {"another seed": found.cosine, "random directions": found.random, f"share with ≥ {SAME}": found.found}
    caption = (
        "Mean over living features of the largest cosine with a feature of another seed, the same for random "
        f"directions with the covariance of the features, and the share of features with a cosine of at least {SAME}."
    )
    return Figure(layer_curve(series, y_title="cosine; share"), caption, title="Stability over seeds")
