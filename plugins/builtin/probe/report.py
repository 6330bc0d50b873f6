"""The result of the probe analysis: accuracy by layer in figures and in one table, and by text in arrays."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from alice.plugins.builtin.probe.measure import Reading, Readings
from alice.reports import Figure, Metric, Result, Table, model_key
from alice.reports.figures import layer_curve
from alice.reports.figures.panels import Panel, line_panels
from alice.statistics import Estimate, Floats, PairedBootstrap

KIND_NAMES = {"linear": "linear", "mlp": "MLP"}
PANELS = 2
"""Number of targets side by side."""
CAVEATS = (
    "A probe shows that information can be read from a layer, not that the model uses it.",
    "A probe sees one position at a time, without the head's pooling over all positions of a symbol: the model knows "
    "more about a letter than any single position shows.",
    "The control task gives every cipher symbol a random label. A probe can memorize these labels wherever the layer "
    "encodes the cipher symbol itself, so selectivity is negative in early layers whatever else they encode. Where the "
    "control accuracy falls, the layer no longer encodes the symbol. The labels are a single random draw.",
    "Probes with more texts, longer training or more hidden units may read more. Compare layers with each other, not "
    "probes with the model.",
    "Standard errors come from a Bayesian bootstrap over the held-out texts; they do not cover other splits, seeds or "
    "trainings.",
)


def report(readings: Readings, *, rng: np.random.Generator) -> Result:
    """Return the accuracies as a result."""
    found = [_Estimates(one, rng) for one in readings.each]
    figures: dict[str, Figure] = {}
    if letters := [one for one in found if one.target == "letter"]:
        figures["letter-by-layer"] = _letter_figure(letters)
    others = [one for one in found if one.target != "letter"]
    for start in range(0, len(others), PANELS):
        figures[f"other-targets-{1 + start // PANELS}"] = _others_figure(others[start : start + PANELS])
    figures["selectivity-by-layer"] = _selectivity_figure(found)
    return Result(
        title="Probes",
        summary=_summary(readings, found),
        caveats=CAVEATS,
        metrics=_metrics(readings, found),
        tables={"probes": _table(readings.model, found)},
        figures={model_key(name, readings.model): figure for name, figure in figures.items()},
        arrays=_arrays(readings),
    )


class _Estimates:
    """Means over the held-out texts with their standard errors, by layer."""

    def __init__(self, reading: Reading, rng: np.random.Generator) -> None:
        self.reading = reading
        self.target, self.kind = reading.task.name, reading.kind
        self.name = f"{KIND_NAMES[reading.kind]} probe"
        self.title = f"{reading.task.title} ({KIND_NAMES[reading.kind]})"
        letters, control = reading.letters, reading.control
        shares = (letters, reading.characters, control, letters - control, reading.untrained)
        found, layers = _estimates(np.concatenate(shares), rng), len(letters)
        of_each = (found[start : start + layers] for start in range(0, len(found), layers))
        self.accuracy, self.characters, self.control, self.selectivity, self.untrained = of_each
        self.majority = float(np.nanmean(reading.majority))

    @property
    def best(self) -> int:
        """The layer with the highest accuracy."""
        return int(np.argmax(_means(self.accuracy)))


def _estimates(shares: Any, rng: np.random.Generator) -> list[Estimate]:
    """Estimate the mean of each row, (row, text), over the texts that have a label."""
    return PairedBootstrap(shares.T, rng).estimates


def _means(estimates: list[Estimate]) -> Floats:
    return np.array([one.mean for one in estimates])


def _errors(estimates: list[Estimate]) -> Floats:
    return np.array([one.error for one in estimates])


def _letter_figure(found: list[_Estimates]) -> Figure:
    series = {one.name: one.accuracy for one in found}
    series |= {f"{one.name}, random weights": one.untrained for one in found}
    lines = {name: _means(estimates) for name, estimates in series.items()}
    lines["most frequent letter"] = np.full(len(found[0].accuracy), found[0].majority)
    errors = {name: _errors(estimates) for name, estimates in series.items()}
    caption = (
        "Share of held-out letters whose plaintext letter a probe reads correctly at their own position; layer 0 is "
        "the embedding. Band: one standard error."
    )
    return Figure(layer_curve(lines, errors=errors, y_title="accuracy on letters"), caption)


def _others_figure(found: list[_Estimates]) -> Figure:
    """Draw a panel with four lines for each target."""
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
    caption = "Accuracy on held-out letters: probe, control task, model with random weights and most frequent answer."
    return Figure(line_panels(*panels), caption)


def _selectivity_figure(found: list[_Estimates]) -> Figure:
    values = {one.title: _means(one.selectivity) for one in found}
    errors = {one.title: _errors(one.selectivity) for one in found}
    caption = (
        "Selectivity: accuracy minus that on the control task, in which every cipher symbol has a random label. Below "
        "0, the cipher symbol is easier to read from the layer than the target."
    )
    return Figure(layer_curve(values, errors=errors, y_title="selectivity"), caption)


def _summary(readings: Readings, found: list[_Estimates]) -> str:
    start = (
        f"Probes on the residual stream of {readings.model} after every layer, without norm or pooling, were trained "
        f"on {len(readings.trained_on)} texts and tested on {len(readings.held_out)} others."
    )
    letters = [
        f"After the last layer the {one.name} reads {one.accuracy[-1].mean:.1%} of the plaintext letters correctly, "
        f"and {one.untrained[-1].mean:.1%} in a model with random weights."
        for one in found
        if one.target == "letter"
    ]
    others = [
        f"{one.title} after layer {one.best}, {one.accuracy[one.best].mean:.1%}"
        for one in found
        if one.target != "letter"
    ]
    best = [f"The best layers for the other targets are: {'; '.join(others)}."] if others else []
    return " ".join([start, *letters, *best])


def _metrics(readings: Readings, found: list[_Estimates]) -> list[Metric]:
    metrics: list[Metric] = []
    for one in found:
        name, label = f"{one.target}-{one.kind}-accuracy", f"last-layer accuracy: {one.title}"
        last, over_all = one.accuracy[-1], one.characters[-1]
        metrics.append(Metric(name, last.mean, last.error, model=readings.model, label=label))
        if one.target == "letter":
            name, label = f"{name}-all-characters", f"{label}, all characters"
            metrics.append(Metric(name, over_all.mean, over_all.error, model=readings.model, label=label))
    trained_on = Metric("training-texts", len(readings.trained_on))
    return [*metrics, trained_on, Metric("held-out-texts", len(readings.held_out), label="held-out texts")]


def _table(model: str, found: list[_Estimates]) -> Table:
    columns = (
        *("model", "target", "kind", "layer", "accuracy", "accuracy_error", "all_characters", "control"),
        *("selectivity", "selectivity_error", "random_weights", "most_frequent", "letters", "texts"),
    )
    labels = {"control": "control accuracy", "most_frequent": "most frequent answer"}
    caption = "Accuracy over the letters of held-out texts, mean over texts; over all characters if they have labels."
    return Table(columns, [(model, *row) for one in found for row in _rows(one)], caption, labels)


def _rows(one: _Estimates) -> Iterator[tuple[Any, ...]]:
    for layer, accuracy in enumerate(one.accuracy):
        over_all = one.characters[layer].mean if one.target == "letter" else None
        yield (
            *(one.target, one.kind, layer, *accuracy.cells, over_all, one.control[layer].mean),
            *(*one.selectivity[layer].cells, one.untrained[layer].mean, one.majority),
            *(one.reading.tokens, accuracy.count),
        )


def _arrays(readings: Readings) -> dict[str, Any]:
    """Return the accuracies by kind and target, (layer, text), and the numbers of the texts."""
    arrays: dict[str, Any] = {"training-texts": readings.trained_on, "held-out-texts": readings.held_out}
    for one in readings.each:
        shares = {"accuracy": one.letters, "characters": one.characters}
        shares |= {"control": one.control, "random-weights": one.untrained, "most-frequent": one.majority}
        for what, values in shares.items():
            arrays[model_key(f"{what}-{one.kind}-{one.task.name}", readings.model)] = values
    return arrays
