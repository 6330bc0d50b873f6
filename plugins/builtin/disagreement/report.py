"""The result of the disagreement analysis: who is right, what each layer brings, and how reliable confidence is."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from alice.plugins.builtin.disagreement.measure import Answers
from alice.reports import Figure, Metric, Result, Table
from alice.reports.figures import bars, layer_curve
from alice.statistics import Floats, RatioBootstrap, reliability

CASES = {
    "both-right": "both right",
    "network-right": "only the network right",
    "language-right": "only the language model right",
    "same-wrong": "the same wrong letter",
    "both-wrong": "different wrong letters",
}
"""What can happen to a letter, and how it is shown."""
CAVEATS = (
    "A letter counts once in each text, however often it occurs in it, so these error rates are not symbol error rates "
    "and are higher: rare letters count as much as frequent ones.",
    "The language model alone is the same search without a network; other searches over the same n-grams may find "
    "more or less. What a layer brings is measured with weights that were fitted to the last layer of a bundled model.",
    "Standard errors come from a Bayesian bootstrap over texts; they do not cover the variation between trainings.",
)


def report(found: Answers, *, rng: np.random.Generator) -> Result:
    """Return the answers as a result."""
    cases = cases_of(found)
    shares = _rates(found, np.stack(list(cases.values()), axis=1), np.ones((len(found.text), len(cases))), rng)
    settled = _settled(found, cases, rng)
    layers = _layer_rates(found, rng)
    return Result(
        title="Disagreement of network and language model",
        summary=_summary(found, layers, settled),
        caveats=CAVEATS,
        metrics=_metrics(found, layers, shares, settled),
        tables={
            "cases": _cases_table(found, shares, settled),
            "layers": _layers_table(found, layers),
            "reliability": _reliability_table(found),
        },
        figures={
            "layers": _layers_figure(found, layers),
            "cases": _cases_figure(shares),
            "reliability": _reliability_figure(found),
        },
        arrays={"nats": found.nats, "confidence": found.confidence, "text": found.text},
    )


def cases_of(found: Answers) -> dict[str, NDArray[np.bool_]]:
    """Return which letters belong to each case, (letters,)."""
    network, language = found.network[:, -1], found.language
    right, knows = network == found.truth, language == found.truth
    return {
        "both-right": right & knows,
        "network-right": right & ~knows,
        "language-right": ~right & knows,
        "same-wrong": ~right & ~knows & (network == language),
        "both-wrong": ~right & ~knows & (network != language),
    }


Rates = list[tuple[float, float]]
"""Percentages with their standard errors."""


def _rates(found: Answers, part: NDArray[Any], whole: NDArray[Any], rng: np.random.Generator) -> Rates:
    """Return part over whole in percent for each column, with its error over texts."""
    texts, place = np.unique(found.text, return_inverse=True)
    sums = [np.zeros((len(texts), part.shape[1]), dtype=np.int64) for _ in range(2)]
    for total, values in zip(sums, (part, whole), strict=True):
        np.add.at(total, place, values.astype(np.int64))
    rates = RatioBootstrap(rng, part.shape[1])
    rates.add(sums[0], sums[1])
    return [(100 * float(mean), 100 * float(error)) for mean, error in zip(rates.ratio, rates.error, strict=True)]


def _settled(found: Answers, cases: dict[str, NDArray[np.bool_]], rng: np.random.Generator) -> Rates:
    """Return how often the guided search is right in each case; NaN where there is no such letter."""
    whole = np.stack(list(cases.values()), axis=1)
    right = (found.guided[:, -1] == found.truth)[:, None] & whole
    return _rates(found, right, whole, rng)


def _layer_rates(found: Answers, rng: np.random.Generator) -> dict[str, Rates]:
    """Return the letter error of exits, of the search guided by each, of the language model and of the control."""
    columns = {
        "network": found.network,
        "guided": found.guided,
        "language": found.language[:, None],
        "misled": found.misled[:, None],
    }
    return {
        name: _rates(found, values != found.truth[:, None], np.ones(values.shape), rng)
        for name, values in columns.items()
    }


def _summary(found: Answers, layers: dict[str, Rates], settled: Rates) -> str:
    texts = len(np.unique(found.text))
    cases = dict(zip(CASES, settled, strict=True))
    sentences = [
        f"Of the letters of {texts} texts, {found.model} alone misreads {layers['network'][-1][0]:.1f} %, the language "
        f"model alone {layers['language'][0][0]:.1f} %, and both together {layers['guided'][-1][0]:.1f} %; guided by "
        f"the network's answer to another text, the search misreads {layers['misled'][0][0]:.1f} %."
    ]
    for case, whose in (("network-right", "network"), ("language-right", "language model")):
        if np.isfinite(cases[case][0]):
            sentences.append(
                f"Where only the {whose} is right, the search follows it in {cases[case][0]:.0f} % of the letters."
            )
    return " ".join(sentences)


def _metrics(found: Answers, layers: dict[str, Rates], shares: Rates, settled: Rates) -> list[Metric]:
    labels = {
        "network": "letters that the network misreads",
        "language": "letters that the language model misreads",
        "guided": "letters that both together misread",
        "misled": "letters misread with the network's answer to another text",
    }
    metrics = [
        Metric(f"letter-error-{name}", *layers[name][-1], unit="%", model=found.model, label=label)
        for name, label in labels.items()
    ]
    for (case, label), share, right in zip(CASES.items(), shares, settled, strict=True):
        metrics.append(Metric(f"share-{case}", *share, unit="%", model=found.model, label=f"letters: {label}"))
        if np.isfinite(right[0]):
            text = f"of these, right in the end ({label})"
            metrics.append(Metric(f"settled-{case}", *_known(right), unit="%", model=found.model, label=text))
    return [*metrics, Metric("letters", len(found.text)), Metric("texts-learned", found.learned)]


def _known(rate: tuple[float, float]) -> tuple[float, float | None]:
    """Return a rate whose error may be unknown."""
    return rate[0], rate[1] if np.isfinite(rate[1]) else None


def _cell(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _cases_table(found: Answers, shares: Rates, settled: Rates) -> Table:
    counts = [int(chosen.sum()) for chosen in cases_of(found).values()]
    rows = [
        (found.model, case, count, *map(_cell, share), *map(_cell, right))
        for case, count, share, right in zip(CASES, counts, shares, settled, strict=True)
    ]
    caption = (
        "Letters by who reads them rightly, the network alone or the language model alone, as a share of all letters, "
        "and how often the guided search reads them rightly in the end."
    )
    columns = ("model", "case", "letters", "share", "share_error", "right", "right_error")
    return Table(columns, rows, caption, {"share": "share, %", "right": "right in the end, %"})


def _layers_table(found: Answers, layers: dict[str, Rates]) -> Table:
    rows = [(found.model, layer, *layers["network"][layer], *layers["guided"][layer]) for layer in range(found.layers)]
    caption = (
        "Share of letters misread at each layer: by the exit alone, and by the search that the exit guides. Layer 0 is "
        f"the embedding. The language model alone misreads {layers['language'][0][0]:.2f} %."
    )
    columns = ("model", "layer", "network", "network_error", "guided", "guided_error")
    return Table(columns, rows, caption, {"network": "exit alone, %", "guided": "guided search, %"})


def _reliability_table(found: Answers) -> Table:
    right = found.guided[:, -1] == found.truth
    rows = [
        (found.model, low, high, count, 100 * mean, 100 * share)
        for low, high, count, mean, share in reliability(found.confidence, right)
    ]
    caption = "Confidence of the guided search in a letter, and how often such letters are right."
    labels = {"low": "confidence from", "high": "to", "confidence": "mean confidence, %", "right": "right, %"}
    return Table(("model", "low", "high", "letters", "confidence", "right"), rows, caption, labels)


def _layers_figure(found: Answers, layers: dict[str, Rates]) -> Figure:
    """Return the errors of the search; those of the exits alone are far larger, and in the table."""
    means, errors = (np.array(column) for column in zip(*layers["guided"], strict=True))
    values: dict[str, Floats] = {
        "guided by the exit": means,
        "language model alone": np.full(found.layers, layers["language"][0][0]),
        "guided by another text": np.full(found.layers, layers["misled"][0][0]),
    }
    known = bool(np.isfinite(errors).all())  # a gap would make the outline of the band close in the wrong place
    bands = {"guided by the exit": errors} if known else None
    figure = layer_curve(values, errors=bands, y_title="letters misread by the search, %")
    said = "Band: one standard error." if known else "No band: a standard error is unknown; the table has the others."
    return Figure(figure, f"What each layer of the network brings to the search. {said}")


def _cases_figure(shares: Rates) -> Figure:
    means, errors = (np.array(column) for column in zip(*shares, strict=True))
    figure = bars({"letters": means}, labels=list(CASES.values()), errors={"letters": errors}, y_title="letters, %")
    return Figure(figure, "Letters by who reads them rightly when asked alone. Error bars: one standard error.")


def _reliability_figure(found: Answers) -> Figure:
    rows = reliability(found.confidence, found.guided[:, -1] == found.truth)
    labels = [f"{100 * low:g} to {100 * high:g} %" for low, high, *_ in rows]
    series = {
        "mean confidence": np.array([100 * mean for *_, mean, _ in rows]),
        "right": np.array([100 * share for *_, share in rows]),
    }
    figure = bars(series, labels=labels, x_title="confidence of the search", y_title="letters, %")
    return Figure(figure, "Reliability: letters of which the search is 90 % sure should be right in 90 % of the cases.")
