"""The result of the evidence analysis: texts with heat, evidence by place, deletion curves, and their checks."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.plugins.builtin.evidence.attribution import FRACTIONS
from alice.plugins.builtin.evidence.case import PLACES
from alice.plugins.builtin.evidence.measure import ORDERS, Measured
from alice.plugins.builtin.evidence.summed import Summed
from alice.plugins.builtin.evidence.tables import FEW, area_table, control_table, curve_table, share_table, word_table
from alice.plugins.builtin.evidence.texts import BASELINES, heat_texts, symbol_table
from alice.reports import Figure, Metric, Result, Section, model_key
from alice.reports.figures import bars, layer_curve

AREAS = {
    "deletion-area": ("random", "evidence", 1.0, "deletion: random order over evidence first"),
    "deletion-area-early": ("random", "evidence", FEW, "the same for the first 20 % of the characters"),
    "deletion-area-words": ("random", "words", 1.0, "deletion: random order over important words first"),
    "deletion-area-random-weights": ("random", "random-weights", 1.0, "deletion: random order over random weights"),
    "deletion-area-least": ("least", "random", 1.0, "deletion: least evidence first over random order"),
}
"""Metrics of areas between deletion curves: the upper order, the lower one, the share deleted, and the label."""
LARGEST_GAP = 20
"""Relative error of completeness above which the report warns, in percent."""
CAVEATS = (
    "An attribution describes one path from a baseline to the text. Another baseline gives other numbers; compare "
    "`--baseline mean`, `zero` and `other-text` before you rely on a share.",
    "Half-deleted texts and points of the path are not texts that a model was trained on. The deletion curve shows "
    "that the ranking matters to the model, not that it is the only good one. Deleting puts the mean embedding in "
    "place, which favours `--baseline mean` and `--removal mean`.",
    "Evidence for a symbol is evidence for all its places: the head pools them, so one occurrence has no answer of its "
    "own.",
    "Intervals are 95 % over texts, with the same weights for everything that is compared; they do not cover other "
    "trainings.",
)
HYPERNETWORK = (
    "The dynamic variant computes its embeddings from the whole text. Its evidence starts behind the hypernetwork: it "
    "says what the embedding at a position contributes, not which characters shaped that embedding."
)


def report(measured: Sequence[Measured], *, rng: np.random.Generator) -> Result:
    """Build the result from what was measured with each model."""
    every = [Summed.of(found, rng) for found in measured]
    texts = {name: text for found in measured for name, text in heat_texts(found).items()}
    figures = {model_key("shares", one.found.model): _share_figure(one) for one in every}
    figures |= {model_key("deletion", one.found.model): _deletion_figure(one) for one in every}
    tables = {
        "symbols": symbol_table(measured),
        "shares": share_table(every),
        "shares-over-controls": control_table(every),
        "deletion": area_table(every),
        "deletion-curves": curve_table(every),
        "words": word_table(every),
    }
    return Result(
        title="Evidence",
        summary=_summary(every),
        caveats=_caveats(every),
        metrics=_metrics(every),
        headline="deletion-area",
        tables=tables,
        figures=figures,
        texts=texts,
        arrays=_arrays(measured),
        sections=_sections(measured, list(texts), list(figures)),
    )


def _caveats(every: Sequence[Summed]) -> list[str]:
    caveats = [
        f"The attributions of {one.found.model} miss the difference that they explain by {one.gap:.0f} %: the score "
        f"changes too steeply between the {one.found.settings.steps} points of the path. Raise `--steps`."
        for one in every
        if one.gap > LARGEST_GAP
    ]
    return [*caveats, *CAVEATS, *([HYPERNETWORK] if any(one.found.dynamic for one in every) else [])]


def _sections(measured: Sequence[Measured], texts: list[str], figures: list[str]) -> list[Section]:
    settings = measured[0].settings
    return [
        Section(
            "one-text",
            "Where a letter comes from",
            "Choose a symbol, or click on it in the text. The colour of a character is what it adds to the "
            "log-probability of that symbol's answer: evidence for it in one colour, against it in the other. The "
            "evidence of characters is in percent of all evidence for the symbol, regardless of sign.",
            texts=texts,
            tables=["symbols"],
        ),
        Section(
            "places",
            "Where evidence lies",
            "The shares of the absolute evidence, beside two controls: the share of the characters that are there, "
            "which evidence spread evenly would have, and the same model with random weights.",
            figures=[name for name in figures if name.startswith("shares")],
            tables=["shares", "shares-over-controls", "words"],
        ),
        Section(
            "deletion-test",
            "Does the ranking mean something?",
            "Characters get the mean embedding, in several orders; the head still pools by the symbols of the text. If "
            "attributions find what the model uses, deleting by them costs more than deleting at random. "
            f"Random orders are the mean of {settings.draws} draws.",
            figures=[name for name in figures if name.startswith("deletion")],
            tables=["deletion", "deletion-curves"],
        ),
    ]


def _summary(every: Sequence[Summed]) -> str:
    settings = every[0].found.settings
    texts = len(every[0].found.numbers.gap)
    sentences = [
        f"Integrated gradients from {BASELINES[settings.baseline]} say what each character adds to the "
        f"log-probability of a symbol's answer, over {texts:,} {'text' if texts == 1 else 'texts'}."
    ]
    for one in every:
        area, low, high = one.area("random", "evidence")
        own, even, random = (one.shares.mean[number * len(PLACES)] for number in range(3))
        verdict = (
            "the ranking is better than chance" if low > 0 else "the ranking is not shown to be better than chance"
        )
        sentences.append(
            f"In {one.found.model}, the symbol's own places hold {own:.0f} % of the evidence; evenly spread they would "
            f"have {even:.0f} %, with random weights {random:.0f} %. When characters are deleted by evidence rather "
            f"than in random order, the score is lower by {area:.0f} % of the whole fall ({_interval(low, high)}): "
            f"{verdict}. The attributions miss the difference that they explain by {one.gap:.0f} %."
        )
    return " ".join(sentences)


def _interval(low: float, high: float) -> str:
    return "interval unknown" if np.isnan(low) else f"{low:.0f} to {high:.0f} %"


def _metrics(every: Sequence[Summed]) -> list[Metric]:
    metrics = []
    for one in every:
        model, ends = one.found.model, one.shares.interval()
        for name, (over, under, until, label) in AREAS.items():
            mean, low, high = one.area(over, under, until=until)
            metrics.append(Metric(name, mean, interval=(low, high), unit="%", model=model, label=label))
        for number, (place, label) in enumerate(PLACES.items()):
            mean, (low, high) = one.shares.mean[number], ends[number]
            text = f"share of the evidence: {label}"
            metrics.append(Metric(f"share-{place}", mean, interval=(low, high), unit="%", model=model, label=text))
        metrics.append(
            Metric("completeness-gap", one.gap, unit="%", model=model, label="sum of attributions, relative error")
        )
        agreement = one.agreement.estimates[0]
        label = "Spearman's correlation of evidence and loss of words"
        metrics.append(Metric("agreement", agreement.mean, agreement.error, model=model, label=label))
    return [metric for metric in metrics if not np.isnan(float(metric))] + [
        Metric("texts", len(every[0].found.numbers.gap))
    ]


def _share_figure(one: Summed) -> Figure:
    names = (one.found.model, "evenly spread", "random weights")
    count = len(PLACES)
    ends = one.shares.interval().T.reshape(2, 3, count)
    means = one.shares.mean.reshape(3, count)
    drawn = bars(
        dict(zip(names, means, strict=True)),
        labels=list(PLACES.values()),
        errors={
            name: np.stack([mean - low, high - mean]) for name, mean, low, high in zip(names, means, *ends, strict=True)
        },
        y_title="share of the evidence, %",
    )
    caption = (
        f"{one.found.model}: share of the absolute evidence for a symbol by place, beside the share of the characters "
        "there and the same model with random weights. Error bars: 95 % over texts."
    )
    return Figure(drawn, caption, title=f"Evidence by place, {one.found.model}")


def _deletion_figure(one: Summed) -> Figure:
    shape = (len(ORDERS), len(FRACTIONS))
    mean, low, high = (100 * values.reshape(shape) for values in (one.curves.share, one.curves.low, one.curves.high))
    series = dict(zip(ORDERS.values(), mean, strict=True))
    # Bands of all orders would hide one another; the table has every interval.
    banded = {name: list(ORDERS).index(name) for name in ("evidence", "random") if not np.isnan(low).any()}
    errors = {ORDERS[name]: np.stack([mean[row] - low[row], high[row] - mean[row]]) for name, row in banded.items()}
    drawn = layer_curve(
        series,
        errors=errors,
        layers=100 * np.array(FRACTIONS),
        x_title="characters deleted, %",
        y_title="score kept, %",
    )
    caption = (
        f"{one.found.model}: log-probability of the right answer while characters are deleted, from the whole text "
        "(100 %) to no text (0 %); below 0 the model is more wrong than without a text. An order below the random one "
        "finds what the model uses. Bands, of two orders: 95 % over texts."
    )
    return Figure(drawn, caption, title=f"Deletion curves, {one.found.model}")


def _arrays(measured: Sequence[Measured]) -> dict[str, Any]:
    arrays: dict[str, Any] = {"fractions": np.array(FRACTIONS)}
    for found in measured:
        for name, values in vars(found.numbers).items():
            arrays[model_key(name, found.model)] = values
        for example in found.examples:
            slug = example.case.title.replace(" ", "-")
            arrays[model_key(f"attributions-{slug}", found.model)] = example.attributions
            arrays[model_key(f"word-losses-{slug}", found.model)] = example.losses
    return arrays
