"""The result of the n-gram analysis: two panels for each reader, the null models, the gains, their trend, the end."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from alice.plugins import paper
from alice.plugins.builtin.ngram.measure import MEASURES, READERS, Measure, Reader, Similarities, Similarity
from alice.plugins.builtin.ngram.nulls import NULLS
from alice.plugins.builtin.options import lens_caveats
from alice.reports import Figure, Metric, Result, Table, model_key
from alice.reports.figures import layer_curve, slider
from alice.reports.figures.panels import level_and_change
from alice.statistics import BOOTSTRAP_DRAWS, blank_nan

FIGURES: dict[Reader, str] = {"linear": "linear-probe", "mlp": "mlp-probe", "exit": "early-exit"}
"""Name of the figure of each reader."""
CAVEATS = (
    "A more accurate answer has more n-grams right, whatever made it accurate. Only the excess over null models with "
    "as many wrong letters says something about n-grams; a similarity, a gain or a correlation alone does not.",
    "Counts ignore positions: an answer that is wrong everywhere can contain the right letters. A high similarity at "
    "n = 1 means correct frequencies, not correct letters.",
    "Over the whole corpus, frequent n-grams dominate and errors in single texts cancel. These similarities are higher "
    "than means over texts and not comparable with them. The paper does not say which of the two it used.",
    "Each n has only one layer of largest gain, and neighbouring n share characters, so the points of the correlation "
    "are few and dependent. The interval covers the choice of texts only; other probes or another training of the "
    "model may differ by more.",
    "Probes that are trained longer or on more texts read more. The model's head was trained for the last layer only.",
)


def report(compared: Sequence[Similarities], *, letters_only: bool, lens: Path | None = None) -> Result:
    """Put what was compared into a result."""
    figures: dict[str, Any] = {}
    arrays: dict[str, Any] = {}
    for one in compared:
        model = one.readings.model
        figures |= {model_key(name, model): _figure(one, reader) for reader, name in FIGURES.items()}
        figures |= {model_key(f"{name}-nulls", model): _null_figure(one, reader) for reader, name in FIGURES.items()}
        for (reader, measure), found in one.found.items():
            parts = {"similarity": found.cosine, "error": found.error, "gain": found.layers, "by-text": found.values}
            parts |= {"null-by-text": found.nulls, "excess": found.excess}
            arrays |= {model_key(f"{part}-{reader}-{measure}", model): values for part, values in parts.items()}
    return Result(
        title="N-grams by layer",
        summary=_summary(compared, letters_only=letters_only),
        caveats=(*lens_caveats(lens), *CAVEATS),
        metrics=_metrics(compared),
        tables={
            "trends": _trends(compared),
            "trend-excess": _trend_excess(compared),
            "gains": _gains(compared),
            "last-layer": _last_layer(compared),
            "texts": _texts(compared),
        },
        figures=figures,
        arrays=arrays,
    )


def _summary(compared: Sequence[Similarities], *, letters_only: bool) -> str:
    first = compared[0].readings
    where = "positions where the plaintext has a letter" if letters_only else "all characters, punctuation included"
    lines = []
    for one in compared:
        found = one.found["linear", "texts"]
        lines.append(
            f"Read by linear probes, {one.readings.model} gains most at layers {', '.join(map(str, found.layers))} for "
            f"n = 1 to {len(found.layers)} (mean over texts); Spearman's correlation of n with the layer is "
            f"{found.trend:.2f} ({_interval(found)}); null models with as many wrong letters have "
            f"{found.null_trends.min():.2f} to {found.null_trends.max():.2f}."
        )
    return (
        f"N-grams of each layer's answer are compared with those of the plaintext, over {first.texts} texts and "
        f"{where}. The probes were trained on {first.trained_on} other texts. {' '.join(lines)}\n\n"
        "The paper claims that early layers settle letter frequencies and later ones word-like sequences. If so, the "
        "layer of the largest gain rises with n. But it also rises if letters become right one after another and "
        "n-grams play no part, so the correlation must exceed those of the null models."
    )


def _interval(found: Similarity) -> str:
    if found.trend_interval is None:
        return "a single text has no interval"
    low, high = found.trend_interval
    return f"{low:.2f} to {high:.2f} over texts"


def _metrics(compared: Sequence[Similarities]) -> list[Metric]:
    metrics = []
    for one in compared:
        for reader, title in READERS.items():
            found, label = one.found[reader, "texts"], f"Spearman's correlation of n with the layer, {title}"
            name, model = f"spearman-{reader}", one.readings.model
            metrics.append(Metric(name, found.trend, interval=found.trend_interval, model=model, label=label))
            value, ends = min(found.trend_excess, key=lambda excess: excess[0])
            label = f"smallest excess of that correlation over a null model, {title}"
            metrics.append(Metric(f"spearman-excess-{reader}", value, interval=ends, model=model, label=label))
    first = compared[0].readings
    return [
        *metrics,
        Metric("texts", first.texts),
        Metric("training-texts", first.trained_on, label="texts to train probes on"),
    ]


def _figure(one: Similarities, reader: Reader) -> Figure:
    steps = {
        title: level_and_change(
            {str(n): values for n, values in enumerate(one.found[reader, measure].cosine.T, 1)},
            y_title="cosine similarity",
            legend_title="n",
        )
        for measure, title in MEASURES.items()
    }
    caption = (
        f"{one.readings.model}, {READERS[reader]}: similarity of n-grams between each layer's answer and the "
        "plaintext, and how much each layer adds. The slider switches between the mean over texts and the counts of "
        "all texts together. Layer 0 is the embedding."
    )
    rows = [row for measure in MEASURES for row in _tidy(one, reader, measure)]
    columns = ("model", "reader", "measure", "layer", "n", "similarity", "similarity_error", "change")
    drawn = slider(steps, prefix="")
    drawn.layout.sliders[0].update(len=0.4, x=0.02)  # enough for two steps, and leaves room for the last label
    return Figure(drawn, caption, Table(columns, rows))


def _null_figure(one: Similarities, reader: Reader) -> Figure:
    """Draw the similarity by layer next to those of the null models, with a step for each n."""
    found, name = one.found[reader, "texts"], one.readings.model
    steps = {}
    for n in range(found.cosine.shape[1]):
        drawn = found.null_draws[..., n]  # (null, draw, layer)
        values = {name: found.cosine[:, n]} | dict(zip(NULLS.values(), found.null_cosine[..., n], strict=True))
        widths = {name: np.nan_to_num(found.error[:, n])}
        for title, draws, mean in zip(NULLS.values(), drawn, found.null_cosine[..., n], strict=True):
            widths[title] = np.stack([mean - draws.min(0), draws.max(0) - mean])
        steps[str(n + 1)] = layer_curve(values, errors=widths, y_title="cosine similarity, mean over texts")
    caption = (
        f"{name}, {READERS[reader]}: similarity of n-grams after each layer, and that of null models with as many "
        "wrong letters in each text. Band of the model: one standard error over texts; of a null model: its draws."
    )
    columns = ("model", "reader", "null", "layer", "n", "similarity", "null_similarity", "excess", "low", "high")
    return Figure(slider(steps, prefix="n = "), caption, Table(columns, list(_null_rows(one, reader))))


def _null_rows(one: Similarities, reader: Reader) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each null model, layer and n."""
    found = one.found[reader, "texts"]
    for number, null in enumerate(NULLS):
        for layer, n in np.ndindex(*found.cosine.shape):
            values = found.cosine[layer, n], found.null_cosine[number, layer, n], found.excess[number, layer, n]
            ends = found.excess_interval[:, number, layer, n]
            yield one.readings.model, reader, null, layer, n + 1, *map(float, values), *map(blank_nan, ends)


def _tidy(one: Similarities, reader: Reader, measure: Measure) -> Iterator[tuple[Any, ...]]:
    """Yield a row for each layer and n."""
    found = one.found[reader, measure]
    for layer, (cosines, errors) in enumerate(zip(found.cosine, found.error, strict=True)):
        before = found.cosine[layer - 1] if layer else [None] * len(cosines)
        for n, (cosine, error, last) in enumerate(zip(cosines, errors, before, strict=True), 1):
            change = None if last is None else float(cosine - last)
            yield one.readings.model, reader, measure, layer, n, float(cosine), blank_nan(error), change


def _each(compared: Sequence[Similarities]) -> Iterator[tuple[tuple[str, Reader, Measure], Similarity]]:
    """Yield every similarity with its model, reader and measure."""
    for one in compared:
        for (reader, measure), found in one.found.items():
            yield (one.readings.model, reader, measure), found


def _trends(compared: Sequence[Similarities]) -> Table:
    rows = [(*of, found.trend, *(found.trend_interval or (None, None))) for of, found in _each(compared)]
    caption = (
        "Spearman's correlation of n with the layer at which it gains most: 1 if that layer rises with every n, 0 if "
        f"all n gain most at the same layer. The interval holds 95 % of {BOOTSTRAP_DRAWS} weightings of the texts; it "
        "is empty for a single text."
    )
    labels = {"spearman": "correlation", "low": "interval from", "high": "to"}
    return Table(("model", "reader", "measure", "spearman", "low", "high"), rows, caption, labels)


def _trend_excess(compared: Sequence[Similarities]) -> Table:
    rows = [
        (*of, null, found.trend, float(of_null), excess, *(ends or (None, None)))
        for of, found in _each(compared)
        for null, of_null, (excess, ends) in zip(NULLS, found.null_trends, found.trend_excess, strict=True)
    ]
    listed = "; ".join(f"{null}: {title}" for null, title in NULLS.items())
    caption = (
        "The same correlation minus that of null models, which have as many wrong letters in each text as the answer "
        f"of that layer ({listed}). The interval is over weightings of the texts."
    )
    columns = ("model", "reader", "measure", "null", "spearman", "null_spearman", "excess", "low", "high")
    labels = {"spearman": "correlation", "null_spearman": "of the null", "low": "interval from", "high": "to"}
    return Table(columns, rows, caption, labels)


def _gains(compared: Sequence[Similarities]) -> Table:
    rows = [(*of, n, int(layer)) for of, found in _each(compared) for n, layer in enumerate(found.layers, 1)]
    return Table(("model", "reader", "measure", "n", "layer"), rows, "The layer at which each n gains most.")


def _last_layer(compared: Sequence[Similarities]) -> Table:
    variants = {one.readings.model: one.readings.variant for one in compared}
    rows: list[tuple[Any, ...]] = []
    for (model, reader, measure), found in _each(compared):
        printed = dict(enumerate(paper.FINAL_SIMILARITY.get((variants[model], reader), ()), 1))
        for n, (cosine, error) in enumerate(zip(found.cosine[-1], found.error[-1], strict=True), 1):
            rows.append((model, reader, measure, n, float(cosine), blank_nan(error), printed.get(n)))
    caption = (
        "Similarity at the last layer: the mean over texts, or of the whole corpus together. The paper does not say "
        "which of the two it printed; its models have 12 layers and 85M parameters, and its texts are others."
    )
    columns = ("model", "reader", "measure", "n", "similarity", "similarity_error", "paper")
    return Table(columns, rows, caption, {"paper": "paper, same variant"})


def _texts(compared: Sequence[Similarities]) -> Table:
    rows = [
        (one.readings.model, n, texts, one.readings.texts - texts)
        for one in compared
        for n, texts in enumerate(one.texts, 1)
    ]
    return Table(("model", "n", "texts", "too_short"), rows, "Texts shorter than n have no n-grams.")
