"""The result of the probe analysis: curves by layer, one table of everything, arrays by text."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from alice.plugins.builtin.probe.measure import Reading, Readings
from alice.reports import Figure, Result, Table
from alice.reports.figures import layer_curve
from alice.reports.panels import Panel, line_panels
from alice.statistics import Estimate, Floats, bayesian_bootstrap

KIND_NAMES = {"linear": "linear", "mlp": "MLP"}
COLUMNS = (
    *("target", "kind", "layer", "accuracy", "standard error", "all characters", "control accuracy", "selectivity"),
    *("selectivity error", "random weights", "most frequent", "letters", "texts"),
)
PANELS = 2
"""Targets side by side."""
CAVEATS = (
    "A probe shows that something can be read from a layer, not that the model uses it.",
    "A probe sees one position at a time, without the head's pooling over a symbol's positions: the model knows more "
    "of a letter than any one of its positions shows.",
    "The control task gives every cipher symbol a random label. A layer in which the cipher symbol itself can still be "
    "read answers it by heart, so selectivity is negative in early layers whatever they know; where the control falls, "
    "the layer has let go of the symbol. It is one draw of labels.",
    "Probes that see more texts, train longer or have more hidden units may read more. Compare layers, not probes "
    "with the model.",
    "The band is one standard error from a Bayesian bootstrap over the held-out texts; it knows nothing of other "
    "splits, other seeds or other training runs.",
)


def report(readings: Readings, rng: np.random.Generator) -> Result:
    """Put what probes read into a result."""
    found = {(one.kind, one.task.name): _Estimates(one, rng) for one in readings.each}
    figures: dict[str, Figure] = {}
    letters = [estimates for (_, target), estimates in found.items() if target == "letter"]
    if letters:
        figures["letter-by-layer"] = _letter_figure(letters)
    others = [estimates for (_, target), estimates in found.items() if target != "letter"]
    for start in range(0, len(others), PANELS):
        figures[f"other-targets-{1 + start // PANELS}"] = _others_figure(others[start : start + PANELS])
    figures["selectivity-by-layer"] = _selectivity_figure(list(found.values()))
    return Result(
        title="Probes",
        summary=_summary(readings, list(found.values())),
        caveats=CAVEATS,
        metrics=_metrics(readings, list(found.values())),
        tables={"probes": _table(list(found.values()))},
        figures=figures,
        arrays=_arrays(readings),
    )


class _Estimates:
    """Means over the held-out texts with their errors, by layer."""

    def __init__(self, reading: Reading, rng: np.random.Generator) -> None:
        self.reading = reading
        self.name = f"{KIND_NAMES[reading.kind]} probe"
        self.title = f"{reading.task.title} ({KIND_NAMES[reading.kind]})"
        self.accuracy = _estimates(reading.letters, rng)
        self.characters = _estimates(reading.characters, rng)
        self.control = _estimates(reading.control, rng)
        self.selectivity = _estimates(reading.letters - reading.control, rng)
        self.untrained = _estimates(reading.untrained, rng)
        self.majority = float(np.nanmean(reading.majority))

    @property
    def best(self) -> int:
        """The layer at which it reads most."""
        return int(np.argmax(_means(self.accuracy)))


def _estimates(shares: Any, rng: np.random.Generator) -> list[Estimate]:
    """Estimate the mean of each layer, (layer, text), over the texts that have an answer."""
    return [bayesian_bootstrap(row[~np.isnan(row)].astype(np.float64), rng) for row in shares]


def _means(estimates: list[Estimate]) -> Floats:
    return np.array([one.mean for one in estimates])


def _errors(estimates: list[Estimate]) -> Floats:
    return np.array([one.error for one in estimates])


def _letter_figure(found: list[_Estimates]) -> Figure:
    series = {one.name: one.accuracy for one in found}
    series |= {f"{one.name}, random weights": one.untrained for one in found}
    lines = {name: _means(estimates) for name, estimates in series.items()}
    lines["always the most frequent letter"] = np.full(len(found[0].accuracy), found[0].majority)
    errors = {name: _errors(estimates) for name, estimates in series.items()}
    caption = (
        "Share of the held-out letters whose plaintext letter a probe reads at their own position; layer 0 is the "
        "embedding. Band: one standard error."
    )
    return Figure(layer_curve(lines, errors=errors, y_title="accuracy on letters"), caption)


def _others_figure(found: list[_Estimates]) -> Figure:
    """Draw a panel for each target, every one with the same four lines."""
    panels = []
    for one in found:
        layers = np.arange(len(one.accuracy))
        lines = {
            "probe": _means(one.accuracy),
            "control task": _means(one.control),
            "random weights": _means(one.untrained),
            "most frequent answer": np.full(len(layers), one.majority),
        }
        panels.append(
            Panel({name: (layers, y) for name, y in lines.items()}, "layer", "accuracy", one.title, y_range=(0, 1))
        )
    caption = "Accuracy on held-out letters, with the control task, a model of random weights and the commonest answer."
    return Figure(line_panels(*panels), caption)


def _selectivity_figure(found: list[_Estimates]) -> Figure:
    values = {one.title: _means(one.selectivity) for one in found}
    errors = {one.title: _errors(one.selectivity) for one in found}
    caption = (
        "Accuracy less that of the control task, in which every cipher symbol has a random label of its own. Below 0 "
        "the layer shows the cipher symbol better than the target."
    )
    return Figure(layer_curve(values, errors=errors, y_title="selectivity"), caption)


def _summary(readings: Readings, found: list[_Estimates]) -> str:
    start = (
        f"Probes on the residual stream of every layer of {readings.model}, without norm or pooling, were trained on "
        f"{len(readings.trained_on)} texts and tested on {len(readings.held_out)} others."
    )
    letters = [
        f"After the last layer the {one.name} reads the plaintext letter at {one.accuracy[-1].mean:.1%} of the "
        f"letters, and at {one.untrained[-1].mean:.1%} in a model with random weights."
        for one in found
        if one.reading.task.name == "letter"
    ]
    others = [
        f"{one.title} after layer {one.best}, {one.accuracy[one.best].mean:.1%}"
        for one in found
        if one.reading.task.name != "letter"
    ]
    best = [f"Other targets are read best as follows: {'; '.join(others)}."] if others else []
    return " ".join([start, *letters, *best])


def _metrics(readings: Readings, found: list[_Estimates]) -> dict[str, float | int]:
    metrics: dict[str, float | int] = {}
    for one in found:
        what = f"{one.reading.task.title}, {one.name}"
        metrics[f"{what}: accuracy at the last layer"] = one.accuracy[-1].mean
        if one.reading.task.name == "letter":
            metrics[f"{what}: over all characters"] = one.characters[-1].mean
    return metrics | {"texts to train on": len(readings.trained_on), "held-out texts": len(readings.held_out)}


def _table(found: list[_Estimates]) -> Table:
    caption = (
        "Accuracy over the letters of held-out texts, mean over texts; over all characters where the target has them."
    )
    return Table(COLUMNS, [row for one in found for row in _rows(one)], caption)


def _rows(one: _Estimates) -> Iterator[tuple[Any, ...]]:
    task = one.reading.task
    for layer, accuracy in enumerate(one.accuracy):
        over_all = one.characters[layer].mean if task.name == "letter" else None
        yield (
            *(task.name, one.reading.kind, layer, accuracy.mean, accuracy.error, over_all, one.control[layer].mean),
            *(one.selectivity[layer].mean, one.selectivity[layer].error, one.untrained[layer].mean, one.majority),
            *(one.reading.tokens, accuracy.count),
        )


def _arrays(readings: Readings) -> dict[str, Any]:
    """Return the shares of right answers by kind and target, (layer, text), and the numbers of the texts."""
    arrays: dict[str, Any] = {"trained-on": readings.trained_on, "held-out": readings.held_out}
    for one in readings.each:
        shares = {"accuracy": one.letters, "characters": one.characters}
        shares |= {"control": one.control, "random-weights": one.untrained, "most-frequent": one.majority}
        arrays |= {f"{what}-{one.kind}-{one.task.name}": values for what, values in shares.items()}
    return arrays
