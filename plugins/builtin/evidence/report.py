"""The result of the evidence analysis: texts with heat, evidence by place, deletion curves, and their checks."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from alice.causal import Recovered, recovered
from alice.plugins.builtin.evidence.attribution import FRACTIONS
from alice.plugins.builtin.evidence.case import PLACES
from alice.plugins.builtin.evidence.measure import ORDERS, Measured
from alice.plugins.builtin.evidence.texts import BASELINES, REMOVALS, heat_texts, symbol_table
from alice.reports import Figure, Metric, Result, Section, Table, model_key
from alice.reports.figures import bars, layer_curve
from alice.statistics import PairedBootstrap, blank_nan

DRAWS = 2000
"""Weightings of the texts from which intervals are taken."""
FEW = 0.2
"""Share of the characters up to which the early area is taken: with more deleted, every order has spoilt the text."""
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


@dataclass(frozen=True, eq=False)
class _Summed:
    """The numbers of one model over texts, with intervals."""

    found: Measured
    shares: PairedBootstrap
    """In percent; columns are places of the model, of even evidence and of random weights, one after the other."""
    nats: PairedBootstrap
    losses: PairedBootstrap
    agreement: PairedBootstrap
    curves: Recovered
    """Columns are order by fraction."""

    @classmethod
    def of(cls, found: Measured, rng: np.random.Generator) -> "_Summed":
        numbers = found.numbers
        shares = 100 * np.concatenate([numbers.shares, numbers.uniform, numbers.untrained], axis=1)
        clean, deleted = numbers.curves[:, 0, 0], numbers.curves[:, 0, -1]
        columns = numbers.curves.reshape(len(clean), -1)
        return cls(
            found,
            PairedBootstrap(shares, rng, draws=DRAWS),
            PairedBootstrap(numbers.nats, rng, draws=DRAWS),
            PairedBootstrap(numbers.losses, rng, draws=DRAWS),
            PairedBootstrap(numbers.agreement[:, None], rng, draws=DRAWS),
            recovered(columns, clean, deleted, rng),
        )

    @property
    def gap(self) -> float:
        """Sum of the errors of completeness over the sum of the differences to be explained, in percent."""
        whole = float(self.found.numbers.difference.sum())
        return 100 * float(self.found.numbers.gap.sum()) / whole if whole else float("nan")

    def area(self, order: str, other: str, *, until: float = 1.0) -> tuple[float, float, float]:
        """Return the area between the curves of two orders, the first above, with its interval, in percent.

        It is the mean over the shares of deleted characters up to `until`.
        """
        over, under = (list(ORDERS).index(name) for name in (order, other))
        shape = (-1, len(ORDERS), len(FRACTIONS))
        shares = np.concatenate([self.curves.share[None], self.curves.draws]).reshape(shape)
        few = [place for place, fraction in enumerate(FRACTIONS) if fraction <= until]
        between = (shares[:, over] - shares[:, under])[:, few]
        areas = 100 / until * np.trapezoid(between, np.array(FRACTIONS)[few], axis=1)
        low, high = np.percentile(areas[1:], [2.5, 97.5]) if len(self.found.numbers.gap) > 1 else (np.nan, np.nan)
        return float(areas[0]), float(low), float(high)


def report(measured: Sequence[Measured], *, rng: np.random.Generator) -> Result:
    """Build the result from what was measured with each model."""
    every = [_Summed.of(found, rng) for found in measured]
    texts = {name: text for found in measured for name, text in heat_texts(found).items()}
    figures = {model_key("shares", one.found.model): _share_figure(one) for one in every}
    figures |= {model_key("deletion", one.found.model): _deletion_figure(one) for one in every}
    tables = {
        "symbols": symbol_table(measured),
        "shares": _share_table(every),
        "shares-over-controls": _control_table(every),
        "deletion": _area_table(every),
        "deletion-curves": _curve_table(every),
        "words": _word_table(every),
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


def _caveats(every: Sequence[_Summed]) -> list[str]:
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


def _summary(every: Sequence[_Summed]) -> str:
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


def _metrics(every: Sequence[_Summed]) -> list[Metric]:
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


def _share_figure(one: _Summed) -> Figure:
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


def _deletion_figure(one: _Summed) -> Figure:
    shape = (len(ORDERS), len(FRACTIONS))
    mean, low, high = (100 * values.reshape(shape) for values in (one.curves.share, one.curves.low, one.curves.high))
    series = dict(zip(ORDERS.values(), mean, strict=True))
    known = not np.isnan(low).any()
    errors = {name: np.stack([mean[row] - low[row], high[row] - mean[row]]) for row, name in enumerate(series)}
    drawn = layer_curve(
        series,
        errors=errors if known else None,
        layers=100 * np.array(FRACTIONS),
        x_title="characters deleted, %",
        y_title="score kept, %",
    )
    caption = (
        f"{one.found.model}: log-probability of the right answer while characters are deleted, from the whole text "
        "(100 %) to no text (0 %); below 0 the model is more wrong than without a text. An order below the random one "
        "finds what the model uses. Bands: 95 % over texts."
    )
    return Figure(drawn, caption, title=f"Deletion curves, {one.found.model}")


def _share_table(every: Sequence[_Summed]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for one in every:
        even, random = (one.shares.mean[shift * len(PLACES) :] for shift in (1, 2))
        ends = one.shares.interval()
        for number, place in enumerate(PLACES.values()):
            cells = (one.shares.mean[number], *ends[number], even[number], random[number])
            nats = (one.nats.mean[number], one.nats.error[number])
            rows.append((one.found.model, place, *(blank_nan(float(cell)) for cell in (*cells, *nats))))
    return Table(
        ("model", "place", "share", "low", "high", "even", "random_weights", "nats", "nats_error"),
        rows,
        "Share of the absolute evidence by place with its 95 % interval, the share of the characters there, and the "
        "share with random weights, in percent. Nats: evidence with its sign; the column adds up to the score of the "
        "text minus that of the baseline, but for the error of completeness.",
        labels={
            "share": "share, %",
            "low": "from",
            "high": "to",
            "even": "evenly spread, %",
            "random_weights": "random weights, %",
        },
        title="Evidence by place",
    )


def _control_table(every: Sequence[_Summed]) -> Table:
    rows: list[tuple[Any, ...]] = []
    places = np.arange(len(PLACES))
    for one in every:
        for control, shift in (("evenly spread", 1), ("random weights", 2)):
            over = one.shares.difference(places, places + shift * len(PLACES))
            for place, mean, (low, high) in zip(PLACES.values(), over.mean, over.interval(), strict=True):
                rows.append((one.found.model, control, place, *(blank_nan(float(cell)) for cell in (mean, low, high))))
    return Table(
        ("model", "control", "place", "difference", "low", "high"),
        rows,
        "Share of the absolute evidence by place minus that of a control, in percentage points with the 95 % interval "
        "of a paired comparison.",
        labels={"low": "from", "high": "to"},
        title="Evidence by place, over the controls",
    )


def _area_table(every: Sequence[_Summed]) -> Table:
    compared = (
        ("random", "evidence"),
        ("random", "words"),
        ("random", "random-weights"),
        ("least", "random"),
        ("random-weights", "evidence"),
    )
    rows = [
        (
            *(one.found.model, ORDERS[over], ORDERS[under]),
            *map(blank_nan, (*one.area(over, under, until=FEW), *one.area(over, under))),
        )
        for one in every
        for over, under in compared
    ]
    return Table(
        ("model", "above", "below", "early", "early_low", "early_high", "area", "low", "high"),
        rows,
        "Mean distance between two deletion curves in percent of the whole fall, with its 95 % interval: over the "
        f"first {100 * FEW:.0f} % of the characters, and over all. 0: the orders are equally good. The last row "
        "compares with a model that knows only the architecture.",
        labels={
            "above": "upper curve",
            "below": "lower curve",
            "early": "early, %",
            "early_low": "from",
            "early_high": "to",
            "area": "all, %",
            "low": "from",
            "high": "to",
        },
        title="Areas between deletion curves",
    )


def _curve_table(every: Sequence[_Summed]) -> Table:
    rows = []
    for one in every:
        right = 100 * one.found.numbers.right.mean(0)
        parts = (100 * part.reshape(right.shape) for part in (one.curves.share, one.curves.low, one.curves.high))
        score, low, high = parts
        rows += [
            (
                one.found.model,
                label,
                100 * fraction,
                *(blank_nan(float(part[order, place])) for part in (score, low, high)),
                float(right[order, place]),
            )
            for order, label in enumerate(ORDERS.values())
            for place, fraction in enumerate(FRACTIONS)
        ]
    return Table(
        ("model", "order", "deleted", "score", "low", "high", "right"),
        rows,
        "Score that is kept after deleting a share of the characters, and the share of the symbols that are then read "
        "right.",
        labels={"deleted": "deleted, %", "score": "score kept, %", "low": "from", "high": "to", "right": "right, %"},
        title="Deletion curves in numbers",
    )


def _word_table(every: Sequence[_Summed]) -> Table:
    rows = []
    for one in every:
        (own, other), difference = one.losses.estimates, one.losses.difference(0, 1)
        low, high = difference.interval()[0]
        cells = (*own.cells, *other.cells, *(blank_nan(float(v)) for v in (difference.mean[0], low, high)))
        rows.append((one.found.model, *cells, *one.agreement.estimates[0].cells))
    removal = every[0].found.settings.removal
    return Table(
        (
            *("model", "with_symbol", "with_symbol_error", "without_symbol", "without_symbol_error"),
            *("difference", "low", "high", "agreement", "agreement_error"),
        ),
        rows,
        f"How much the score of a symbol falls, in nats, if one word is left out: {REMOVALS[removal]}. Mean over words "
        "with and without the symbol, their paired difference, and Spearman's correlation over words of the loss with "
        "the sum of the attributions of the word's letters.",
        labels={
            "with_symbol": "word with the symbol",
            "without_symbol": "word without it",
            "low": "from",
            "high": "to",
            "agreement": "correlation with evidence",
        },
        title="Words left out",
    )


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
