"""The result of the probe analysis: verdicts first, then accuracy, code length and effects of erasing by layer."""

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from alice.plugins.builtin.probe.measure import Reading, Readings
from alice.plugins.builtin.probe.use import WAYS
from alice.plugins.builtin.probe.verdict import LEVEL, MOVED, READABLE, Judgement, judge, over_splits
from alice.probes.layers import TOLERANCE
from alice.reports import Figure, Metric, Result, Section, Table, model_key
from alice.reports.figures import layer_curve
from alice.reports.figures.panels import Panel, line_panels
from alice.statistics import Estimate, Floats, blank_nan

KIND_NAMES = {"linear": "linear", "mlp": "MLP"}
VERDICT_NAMES = {"used": "present and used", "unused": "present, unused", "absent": "absent"}
WAY_NAMES = dict(zip(WAYS, ("target erased", "as many random directions"), strict=True))
PANELS = 2
"""Number of targets side by side."""
LONGER_GAIN = 0.02
"""Largest gain of a longer run, in nats, at which a probe counts as converged."""
CAVEATS = (
    "Erasing removes everything in a layer that a linear probe could use to tell the classes of a target apart, also "
    "what belongs to something else that correlates with the target. A used target can therefore stand for a "
    "correlate. Unused means that no use was shown with these texts.",
    "The model may use a target in a way that no linear probe sees, and may recover it from other positions after it "
    "was erased.",
    "A probe sees one position at a time, without the head's pooling over all positions of a symbol: the model knows "
    "more about a letter than any single position shows.",
    "The control task gives every cipher symbol a random label. With 26 symbols, a probe solves it wherever the layer "
    "encodes the symbol itself, so selectivity over symbol identity is negative in early layers whatever else they "
    "encode.",
    "MLP probes are trained for a fixed number of epochs and on the first split only; whether they have converged is "
    "not tested.",
    "Errors are over held-out texts and over splits, each with its own training texts, control task and random model; "
    "they do not cover other trainings of the model.",
)


def report(readings: Readings) -> Result:
    """Return verdicts and accuracies as a result."""
    found = [_Estimates(one) for one in readings.each]
    verdicts = judge(readings)
    read, erased = _reading_figures(found), _use_figures(verdicts, found)
    tables = {"probes": _table(readings.model, found)}
    sections = [Section("reading", "What can be read", figures=_keys(read, readings.model), tables=("probes",))]
    if verdicts:
        tables |= {"verdicts": _verdict_table(readings.model, verdicts)}
        tables |= {"use": _use_table(readings.model, verdicts)}
        sections.append(Section("use", "What the model uses", figures=_keys(erased, readings.model), tables=("use",)))
    return Result(
        title="Probes",
        summary=_summary(readings, found, verdicts),
        caveats=CAVEATS,
        metrics=_metrics(readings, found, verdicts),
        tables=tables,
        figures={model_key(name, readings.model): figure for name, figure in (read | erased).items()},
        arrays=_arrays(readings),
        sections=sections,
    )


class _Estimates:
    """Means over held-out texts and splits with their standard errors, by layer."""

    def __init__(self, reading: Reading) -> None:
        self.reading = reading
        self.target, self.kind = reading.task.name, reading.kind
        self.name = f"{KIND_NAMES[reading.kind]} probe"
        self.title = f"{reading.task.title} ({KIND_NAMES[reading.kind]})"
        self.accuracy, self.characters = over_splits(reading.letters), over_splits(reading.characters)
        self.control, self.untrained = over_splits(reading.control), over_splits(reading.untrained)
        self.selectivity = over_splits(reading.letters - reading.control)
        self.majority = float(np.nanmean(reading.majority))
        self.bits = [_over_draws(column) for column in reading.bits.T]
        near = (reading.gap <= TOLERANCE) & (reading.longer <= LONGER_GAIN)
        self.converged = None if np.isnan(reading.gap).any() else near

    @property
    def best(self) -> int:
        """The layer with the highest accuracy on validation texts; for MLPs, which have none, the last."""
        values = self.reading.validation
        return len(values) - 1 if np.isnan(values).all() else int(np.nanargmax(values))


def _over_draws(values: Floats) -> Estimate:
    error = float(values.std(ddof=1)) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Estimate(float(values.mean()), error, len(values))


def _means(estimates: list[Estimate]) -> Floats:
    return np.array([one.mean for one in estimates])


def _errors(estimates: list[Estimate]) -> Floats:
    return np.array([one.error for one in estimates])


def _keys(figures: dict[str, Figure], model: str) -> tuple[str, ...]:
    return tuple(model_key(name, model) for name in figures)


def _reading_figures(found: list[_Estimates]) -> dict[str, Figure]:
    figures: dict[str, Figure] = {}
    if letters := [one for one in found if one.target == "letter"]:
        figures["letter-by-layer"] = _letter_figure(letters)
    others = [one for one in found if one.target != "letter"]
    for start in range(0, len(others), PANELS):
        figures[f"other-targets-{1 + start // PANELS}"] = _others_figure(others[start : start + PANELS])
    figures["selectivity-by-layer"] = _selectivity_figure(found)
    if linear := [one for one in found if one.kind == "linear"]:
        figures["code-length-by-layer"] = _code_figure(linear)
    return figures


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
            "symbol-identity control": _means(one.control),
            "random weights": _means(one.untrained),
            "most frequent answer": np.full(len(layers), one.majority),
        }
        panels.append(
            Panel({name: (layers, y) for name, y in lines.items()}, "layer", "accuracy", one.title, y_range=(0, 1.02))
        )
    caption = "Accuracy on held-out letters: probe, control task, models with random weights and most frequent answer."
    return Figure(line_panels(*panels), caption)


def _selectivity_figure(found: list[_Estimates]) -> Figure:
    values = {one.title: _means(one.selectivity) for one in found}
    errors = {one.title: _errors(one.selectivity) for one in found}
    caption = (
        "Selectivity over symbol identity: accuracy minus that on the control task, in which every cipher symbol has a "
        "random label. Below 0, the cipher symbol is easier to read from the layer than the target."
    )
    return Figure(layer_curve(values, errors=errors, y_title="selectivity over symbol identity"), caption)


def _code_figure(found: list[_Estimates]) -> Figure:
    values = {one.title: one.reading.uniform / _means(one.bits) for one in found}
    caption = (
        "Compression: length of a uniform code over that of the online code, in which a linear probe learns the labels "
        "as it receives them. 1 is no compression; the frequencies of the labels alone give a little more."
    )
    return Figure(layer_curve(values, y_title="compression"), caption)


def _use_figures(verdicts: list[Judgement], found: list[_Estimates]) -> dict[str, Figure]:
    """Draw a panel with the effects of erasing for each target."""
    targets = list(dict.fromkeys(one.target for one in verdicts))
    titles = {one.target: one.reading.task.title for one in found}
    figures = {}
    for start in range(0, len(targets), PANELS):
        panels = []
        for target in targets[start : start + PANELS]:
            moved = np.array([one.moved_by_way for one in verdicts if one.target == target])  # (layer, way)
            layers = np.arange(len(moved))
            lines = {WAY_NAMES[way]: (layers, column) for way, column in zip(WAYS, moved.T, strict=True)}
            panels.append(Panel(lines, "layer", "probability moved", titles[target]))
        caption = "How much of the probability of the model's answers moves when something is erased from a layer."
        figures[f"erasure-{1 + start // PANELS}"] = Figure(line_panels(*panels), caption)
    return figures


def _summary(readings: Readings, found: list[_Estimates], verdicts: list[Judgement]) -> str:
    splits = len(readings.each[0].letters)
    start = (
        f"Probes on the residual stream of {readings.model} after every layer, without norm or pooling: {splits} "
        f"{'split' if splits == 1 else 'splits'}, {readings.trained_on} training texts each, "
        f"{len(readings.held_out)} held-out texts in all."
    )
    letters = [
        f"After the last layer the {one.name} reads {one.accuracy[-1].mean:.1%} of the plaintext letters correctly; "
        f"the most frequent letter alone is right for {one.majority:.1%}."
        for one in found
        if one.target == "letter"
    ]
    best = [
        f"{one.title} after layer {one.best}, {one.accuracy[one.best].mean:.1%}"
        for one in found
        if one.kind == "linear"
    ]
    chosen = (
        [f"Best layers on validation texts, with the accuracy on held-out texts: {'; '.join(best)}."] if best else []
    )
    return "\n\n".join([" ".join([start, *letters, *chosen]), *_verdict_sentences(verdicts), _convergence(found)])


def _verdict_sentences(verdicts: list[Judgement]) -> Iterator[str]:
    lines = []
    for target in dict.fromkeys(one.target for one in verdicts):
        by_verdict = {
            name: [one.layer for one in verdicts if (one.target, one.verdict) == (target, key)]
            for key, name in VERDICT_NAMES.items()
        }
        parts = [f"{name} in {_layers(layers)}" for name, layers in by_verdict.items() if layers]
        lines.append(f"{target}: {'; '.join(parts)}")
    if lines:
        yield f"Verdicts. {'. '.join(lines)}."


def _layers(numbers: list[int]) -> str:
    """Return "layer 0", or "layers 1 to 3, 5"."""
    starts = [number for number in numbers if number - 1 not in numbers]
    ends = [number for number in numbers if number + 1 not in numbers]
    runs = [str(start) if start == end else f"{start} to {end}" for start, end in zip(starts, ends, strict=True)]
    return f"{'layer' if len(numbers) == 1 else 'layers'} {', '.join(runs)}"


def _convergence(found: list[_Estimates]) -> str:
    missed = [
        f"{one.title} at layer {layer}"
        for one in found
        if one.converged is not None
        for layer in np.flatnonzero(~one.converged)
    ]
    if missed:
        return f"Not converged, so they may read more: {'; '.join(missed)}."
    longer = [one.reading.longer.max() for one in found if one.converged is not None]
    if not longer:
        return "Whether the MLPs have converged is not tested."
    return (
        f"All linear probes converged: by their own estimate they are within {TOLERANCE} nats of the optimum, and a "
        f"longer run on a subsample lowers the loss by at most {max(longer):.3f} nats ({LONGER_GAIN} is the limit)."
    )


def _metrics(readings: Readings, found: list[_Estimates], verdicts: list[Judgement]) -> list[Metric]:
    metrics: list[Metric] = []

    def add(name: str, value: float, label: str, error: float | None = None) -> None:
        metrics.append(Metric(name, value, error, model=readings.model, label=label))

    for one in found:
        name, label, last = f"{one.target}-{one.kind}", one.title, one.accuracy[-1]
        add(f"{name}-accuracy", last.mean, f"last-layer accuracy: {label}", last.error)
        if one.target == "letter":
            whole = one.characters[-1]
            add(f"{name}-accuracy-all-characters", whole.mean, f"{label}, all characters", whole.error)
        if one.kind == "linear":
            best = one.accuracy[one.best]
            add(f"{name}-best-layer", one.best, f"best layer on validation texts: {label}")
            add(f"{name}-best-accuracy", best.mean, f"accuracy at this layer: {label}", best.error)
    for verdict, title in VERDICT_NAMES.items() if verdicts else ():
        add(f"{verdict}-count", sum(one.verdict == verdict for one in verdicts), f"layers and targets: {title}")
    missed = sum(int((~one.converged).sum()) for one in found if one.converged is not None)
    add("unconverged-probes", missed, "linear probes that did not converge")
    trained_on = Metric("training-texts", readings.trained_on, label="training texts of each split")
    return [*metrics, trained_on, Metric("held-out-texts", len(readings.held_out), label="held-out texts")]


def _verdict_table(model: str, verdicts: list[Judgement]) -> Table:
    """Return a row for each target and a column for each layer."""
    layers = sorted({one.layer for one in verdicts})
    rows = [
        (model, target, *(one.verdict for one in verdicts if one.target == target))
        for target in dict.fromkeys(one.target for one in verdicts)
    ]
    caption = (
        "By layer. used: present and used; unused: present, unused. A target is present in a layer if a linear probe "
        f"beats the most frequent answer by more than {READABLE:.0%} of the letters, and used if erasing it there "
        f"moves {MOVED:.0%} more of the probability of the answers than erasing as many random directions. One-sided "
        f"t-tests over texts, p ≤ {LEVEL} after Bonferroni's correction for {len(verdicts)} layers and targets; the "
        "table use has each of them."
    )
    columns = ("model", "target", *(f"layer_{layer}" for layer in layers))
    return Table(columns, rows, caption, {f"layer_{layer}": str(layer) for layer in layers})


def _use_table(model: str, verdicts: list[Judgement]) -> Table:
    columns = (
        *("model", "target", "layer", "verdict", "readable", "readable_error", "present_p"),
        *("moved", "moved_random", "beyond", "beyond_error", "used_p"),
        *("lost", "lost_random", "ser_rise", "ser_rise_random", "rank", "variance"),
    )
    labels = {
        "readable": "accuracy beyond most frequent answer",
        "present_p": "p (present)",
        "moved": "probability moved, target erased",
        "moved_random": "probability moved, as many random directions",
        "beyond": "probability moved beyond random directions",
        "lost": "nats lost, target erased",
        "lost_random": "nats lost, random directions",
        "used_p": "p (used)",
        "ser_rise": "SER rise, target erased",
        "ser_rise_random": "SER rise, random directions",
        "rank": "directions",
        "variance": "share of variance",
    }
    rows = [
        (
            *(model, one.target, one.layer, one.verdict, *one.readable.cells, one.present_p, *one.moved_by_way),
            *(*one.beyond.cells, one.used_p, *one.lost_by_way, *one.errors_by_way, one.rank, one.variance),
        )
        for one in verdicts
    ]
    caption = (
        f"Tests of the verdicts. p (present): that the accuracy beyond the most frequent answer exceeds {READABLE}; "
        f"p (used): that the probability moved beyond random directions exceeds {MOVED}. Both are corrected for "
        f"{len(rows)} tests. Moved is the total variation distance between the answers of the whole model and those "
        "after erasing, nats are of the mean log-probability of the right letter, on texts that the first split holds "
        "out. Nats and SER can fall when something is erased, if the model is often wrong and sure of it."
    )
    return Table(columns, rows, caption, labels)


def _table(model: str, found: list[_Estimates]) -> Table:
    columns = (
        *(
            "model",
            "target",
            "kind",
            "layer",
            "accuracy",
            "accuracy_error",
            "most_frequent",
            "all_characters",
            "control",
        ),
        *(
            "selectivity_over_symbol_identity",
            "selectivity_over_symbol_identity_error",
            "random_weights",
            "random_weights_error",
        ),
        *("bits", "bits_error", "compression", "converged", "loss_gap", "longer_run_gap", "letters", "texts"),
    )
    labels = {
        "control": "symbol-identity control",
        "most_frequent": "most frequent answer",
        "bits": "online code, bits per label",
        "compression": "compression against uniform code",
        "loss_gap": "estimated distance from optimum (nats)",
        "longer_run_gap": "gain of a longer run on a subsample (nats)",
    }
    caption = (
        "Accuracy over the letters of held-out texts, mean over texts; over all characters if they have labels. Errors "
        "include the spread over splits, control tasks and random models."
    )
    return Table(columns, [(model, *row) for one in found for row in _rows(one)], caption, labels)


def _rows(one: _Estimates) -> Iterator[Sequence[Any]]:
    for layer, accuracy in enumerate(one.accuracy):
        over_all = one.characters[layer].mean if one.target == "letter" else None
        bits = one.bits[layer]
        yield (
            *(one.target, one.kind, layer, *accuracy.cells, one.majority, over_all, one.control[layer].mean),
            *(*one.selectivity[layer].cells, *one.untrained[layer].cells, *bits.cells),
            *(
                blank_nan(one.reading.uniform / bits.mean),
                None if one.converged is None else bool(one.converged[layer]),
            ),
            *(blank_nan(one.reading.gap[layer]), blank_nan(one.reading.longer[layer])),
            *(one.reading.tokens, accuracy.count),
        )


def _arrays(readings: Readings) -> dict[str, Any]:
    """Return what was measured by kind and target, (split, layer, text), and the numbers of the texts."""
    arrays: dict[str, Any] = {"held-out-texts": readings.held_out}
    for one in readings.each:
        values = {"accuracy": one.letters, "characters": one.characters, "control": one.control, "bits": one.bits}
        values |= {"random-weights": one.untrained, "most-frequent": one.majority}
        for what, value in values.items():
            arrays[model_key(f"{what}-{one.kind}-{one.task.name}", readings.model)] = value
    for task, without in zip(readings.use.tasks, readings.use.without, strict=True):
        arrays[model_key(f"without-{task.name}", readings.model)] = without
    return arrays | {model_key("clean", readings.model): readings.use.clean}
