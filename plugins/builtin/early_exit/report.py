"""The result of the early-exit analysis: error by layer, when letters settle, and some texts layer by layer."""

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from alice.plugins.builtin.early_exit.figures import permutation_figure, settling_figure, text_figure
from alice.plugins.builtin.early_exit.measure import Measured
from alice.plugins.builtin.options import lens_caveats
from alice.plugins.builtin.traces import Trace
from alice.reports import Figure, Metric, Result, Table, Trial, model_key
from alice.reports.figures import layer_curve
from alice.solving import NO_SYMBOL
from alice.statistics import Floats, Ints, PairedBootstrap, blank_nan
from alice.text import LETTERS, Key, invert

CAVEATS = (
    "The head was trained to read the last layer only: an earlier layer may hold more than it shows here. Train a "
    "probe on that layer to find out.",
    "SER counts every character, including spaces and punctuation. The texts are the first ones of the source.",
    "The band is one standard error from a Bayesian bootstrap over texts; it does not cover other trainings.",
)


def report(measured: Sequence[Measured], *, rng: np.random.Generator, lens: Path | None = None) -> Result:
    """Build the result from what was measured with each model."""
    rates = {found.model: _error_rates(found.errors, rng) for found in measured}
    figures = {"error-by-layer": _error_figure(rates)}
    arrays: dict[str, Any] = {}
    for found in measured:
        figures[model_key("settling", found.model)] = settling_figure(found)
        arrays[model_key("ser", found.model)] = 100 * found.errors
        arrays[model_key("settled", found.model)] = found.settled
        for trace in found.traces:
            figures[model_key(f"text-{trace.slug}", found.model)] = text_figure(found, trace)
            arrays[model_key(f"answers-{trace.slug}", found.model)] = trace.answers
            if found.bijective:
                figures[model_key(f"permutation-{trace.slug}", found.model)] = permutation_figure(found, trace)
    return Result(
        title="Early exit",
        summary=_summary(len(measured[0].errors), rates, lens),
        caveats=(*lens_caveats(lens), *CAVEATS),
        metrics=_metrics(len(measured[0].errors), rates),
        tables={
            "error-by-layer": _error_table(rates),
            "settling": _settling_table(measured),
            "ciphertexts": _ciphertext_table(measured),
            "texts": _text_table(measured),
        },
        figures=figures,
        arrays=arrays,
        trials=[] if lens is not None else [_trial(found, rates[found.model]) for found in measured if found.traces],
    )


def _trial(found: Measured, rates: Floats) -> Trial:
    """Return the first text at the layer at which the error falls most, to step through in the explorer."""
    trace, layer = found.traces[0], 1 + int(np.argmin(np.diff(rates[0])))
    state: dict[str, Any] = {"text": _written(trace, trace.cipher_ids), "layer": layer}
    if trace.plain_ids is not None and trace.key is not None:
        letters = Key.from_array(invert(trace.key)).letters
        state = {"plain": _written(trace, trace.plain_ids), "key": letters, "layer": layer}
    return Trial(f"Step through the layers of {trace.title}, from layer {layer}", found.model, state)


def _error_rates(errors: Floats, rng: np.random.Generator) -> Floats:
    """Return the mean error in percent after each layer, and its standard error, (2, layer)."""
    found = PairedBootstrap(errors, rng)
    return 100 * np.array([found.mean, found.error])


def _summary(texts: int, rates: Mapping[str, Floats], lens: Path | None) -> str:
    models = [
        f"The symbol error rate of {model} is {means[0]:.1f} % after the embedding and {means[-1]:.2f} % after layer "
        f"{len(means) - 1}; it falls most at layer {1 + int(np.argmin(np.diff(means)))}."
        for model, (means, _) in rates.items()
    ]
    translated = f"translated by the lens in `{lens}` and then " if lens is not None else ""
    checked = " The answer at the last layer was checked to equal the model's own." if lens is None else ""
    return (
        f"The residual stream after every layer is {translated}decoded with the model's own head, over {texts:,} "
        f"texts. {' '.join(models)}{checked}"
    )


def _metrics(texts: int, rates: Mapping[str, Floats]) -> list[Metric]:
    metrics = []
    for model, (means, errors) in rates.items():
        metrics += [
            Metric("ser", means[-1], errors[-1], unit="%", model=model, label="symbol error rate"),
            Metric("ser-embedding", means[0], errors[0], unit="%", model=model, label="symbol error rate at layer 0"),
            Metric("layers", len(means) - 1, model=model),
        ]
    return [*metrics, Metric("texts", texts)]


def _error_figure(rates: Mapping[str, Floats]) -> Figure:
    means = {model: mean for model, (mean, _) in rates.items()}
    errors = {model: error for model, (_, error) in rates.items()}
    caption = (
        "Mean symbol error rate of the answer after each layer. Layer 0 is the embedding, layer 1 comes after the "
        "first block (blocks.0). Band: one standard error."
    )
    return Figure(layer_curve(means, errors=errors, y_title="SER, %"), caption)


def _error_table(rates: Mapping[str, Floats]) -> Table:
    rows = [
        (model, layer, float(mean), blank_nan(error))
        for model, estimates in rates.items()
        for layer, (mean, error) in enumerate(estimates.T)
    ]
    columns = ("model", "layer", "ser", "ser_error")
    return Table(columns, rows, "Symbol error rate of the answer after each layer.", labels={"ser": "SER, %"})


def _settling_table(measured: Sequence[Measured]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for found in measured:
        for letter, counts in zip(LETTERS, found.settled, strict=True):
            texts, reached = int(counts.sum()), np.cumsum(counts[:-1])
            median = int(np.searchsorted(reached, reached[-1] / 2)) if reached[-1] else None
            rows.append((found.model, letter, texts, median, float(counts[-1] / texts) if texts else None))
    return Table(
        ("model", "letter", "texts", "median_layer", "wrong_at_end"),
        rows,
        "The layer from which each plain letter stays right: the median over the texts in which it ends right, and the "
        "share of texts in which it ends wrong.",
        labels={"median_layer": "median layer", "wrong_at_end": "share wrong at the end"},
    )


def _ciphertext_table(measured: Sequence[Measured]) -> Table:
    rows = [
        (found.model, trace.title, _written(trace, trace.cipher_ids), _written(trace, trace.plain_ids))
        for found in measured
        for trace in found.traces
    ]
    caption = "The texts that are followed through the layers, with their plaintext if it is known."
    columns = ("model", "text", "ciphertext", "plaintext")
    return Table(columns, rows, caption, monospace=("ciphertext", "plaintext"))


def _text_table(measured: Sequence[Measured]) -> Table:
    rows = [(found.model, trace.title, *row) for found in measured for trace in found.traces for row in _layers(trace)]
    return Table(
        ("model", "text", "layer", "ser", "changed", "answer"),
        rows,
        "The answer after each layer, and the number of characters that changed at this layer; at layer 0, that differ "
        "from the ciphertext. The figures of the texts show which ones.",
        labels={"ser": "SER, %", "changed": "characters changed"},
        monospace=("answer",),
    )


def _layers(trace: Trace) -> list[tuple[int, float | None, int, str | None]]:
    """Return layer, SER in percent, number of changed characters, and answer for every layer of one text."""
    rows = []
    for layer, (before, now) in enumerate(pairwise([trace.cipher_ids, *trace.texts])):
        ser = None if trace.plain_ids is None else 100 * float((now != trace.plain_ids).mean())
        rows.append((layer, ser, int((now != before).sum()), _written(trace, now)))
    return rows


def _written(trace: Trace, ids: Ints | None) -> str | None:
    symbols = NO_SYMBOL + trace.alphabet.symbols
    return None if ids is None else "".join(symbols[number] for number in ids)
