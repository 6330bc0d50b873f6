"""The result of the relabelling analysis: how often answers change, by length, and the answers to one text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.metrics import bin_names, length_bin
from alice.plugins.builtin.relabelling.measure import Changes, Example
from alice.reports import Figure, Metric, Result, Table, model_key
from alice.reports.figures import bars
from alice.solving import NO_SYMBOL, Readings
from alice.statistics import Estimate, Floats, Ints, PairedBootstrap

ALL = "all"
MOST = 10
"""Maximum number of different answers to show."""
METRICS = {
    "letters": ("letters-changed", "letters read differently"),
    "error": ("ser", "symbol error rate"),
    "vote": ("ser-vote", "symbol error rate of a vote"),
    "texts": ("texts-changed", "texts read differently"),
    "spread": ("ser-spread", "standard deviation of the SER over relabellings"),
}
"""Name and label of each metric, by column of the estimates."""
CAVEATS = (
    "Agreement is not truth: a model may misread a text in the same way under every relabelling. Nor is a change "
    "always an error of the model: short texts have several solutions.",
    "The relabellings are a small random sample of 26! (about 4e26). The probability that two disagree does not depend "
    "on their number, but the share of texts that ever change grows with it.",
    "A vote reads every text once per relabelling, so it takes that many times longer.",
    "Standard errors come from a Bayesian bootstrap over texts; they do not cover the variation between trainings.",
)
Part = dict[str, Estimate]
"""Estimates in percent over the texts of one length, by column."""
Parts = dict[str, dict[str, Part]]
"""Estimates by model and length."""


def report(measured: Sequence[Changes], examples: Sequence[Example], *, rng: np.random.Generator) -> Result:
    """Return the changes as a result."""
    parts = {found.model: _by_length(found, rng) for found in measured}
    known = all(found.errors is not None for found in measured)
    tables = {"changes-by-length": _changes_table(parts)}
    figures = {"changes-by-length": _changes_figure(parts)}
    if known:
        tables["error-by-length"] = _error_table(parts)
        figures["error-by-length"] = _error_figure(parts, measured[0].relabellings)
    tables["answers"] = _answers_table({found.model: one for found, one in zip(measured, examples, strict=True)})
    arrays: dict[str, Any] = {}
    for found in measured:
        arrays[model_key("lengths", found.model)] = found.lengths
        arrays[model_key("letters-changed", found.model)] = 100 * found.letters
        if found.errors is not None:
            arrays[model_key("ser", found.model)] = 100 * found.errors
    return Result(
        title="Relabelling",
        summary=_summary(measured, parts),
        caveats=CAVEATS,
        metrics=_metrics(measured, parts),
        tables=tables,
        figures=figures,
        arrays=arrays,
    )


def _by_length(found: Changes, rng: np.random.Generator) -> dict[str, Part]:
    """Return the estimates for each of the paper's bins of length that has texts, and for all texts."""
    bins = length_bin(found.lengths)
    parts = {name: bins == number for number, name in enumerate(bin_names())} | {ALL: np.full(len(bins), True)}
    columns: dict[str, Floats] = {
        "letters": found.letters,
        "texts": found.texts,
        "ever": found.ever.astype(float),
    }
    if found.errors is not None and found.vote_errors is not None:
        columns |= {"error": found.errors.mean(1), "spread": found.errors.std(1, ddof=1), "vote": found.vote_errors}
    values = 100 * np.column_stack(list(columns.values()))  # (texts, columns)
    return {
        name: dict(zip(columns, PairedBootstrap(values[part], rng).estimates, strict=True))
        for name, part in parts.items()
        if part.any()
    }


def _summary(measured: Sequence[Changes], parts: Parts) -> str:
    texts, count = len(measured[0].lengths), measured[0].relabellings
    sentences = [
        f"{f'{texts:,} texts were' if texts != 1 else 'One text was'} read under {count} random relabellings of the "
        "cipher letters, which would not affect a perfect solver."
    ]
    for found in measured:
        whole = parts[found.model][ALL]
        sentence = (
            f"Under two of them {found.model} reads {whole['letters']:.2f} % of the letters differently, and "
            f"{whole['texts'].mean:.0f} % of the texts in at least one position"
        )
        if "error" in whole:
            sentence += f"; its SER is {whole['error']:.2f} %, and {whole['vote']:.2f} % for a vote of all {count}"
        sentences.append(sentence + ".")
    return " ".join(sentences)


def _metrics(measured: Sequence[Changes], parts: Parts) -> list[Metric]:
    metrics = []
    for found in measured:
        whole = parts[found.model][ALL]
        for column, (name, label) in METRICS.items():
            if column in whole:
                mean, error = whole[column].mean, whole[column].error
                metrics.append(Metric(name, mean, error, unit="%", model=found.model, label=label))
    read = Metric("texts", len(measured[0].lengths))
    return [*metrics, read, Metric("relabellings", measured[0].relabellings)]


def _changes_table(parts: Parts) -> Table:
    rows = [
        (model, name, part["letters"].count, *part["letters"].cells, *part["texts"].cells, part["ever"].mean)
        for model, of_model in parts.items()
        for name, part in of_model.items()
    ]
    columns = ("model", "length", "texts", "letters_changed", "letters_changed_error")
    labels = {
        "length": "characters",
        "letters_changed": "letters changed, %",
        "texts_changed": "texts changed, %",
        "ever_changed": "ever changed, %",
    }
    caption = (
        "Probability that two relabellings read a letter differently, and a text in at least one position, by length. "
        "Ever changed: texts that any two of the relabellings read differently."
    )
    return Table((*columns, "texts_changed", "texts_changed_error", "ever_changed"), rows, caption, labels)


def _error_table(parts: Parts) -> Table:
    rows = [
        (model, name, part["error"].count, *part["error"].cells, part["spread"].mean, *part["vote"].cells)
        for model, of_model in parts.items()
        for name, part in of_model.items()
    ]
    columns = ("model", "length", "texts", "ser", "ser_error", "spread", "ser_vote", "ser_vote_error")
    labels = {
        "length": "characters",
        "ser": "SER, %",
        "spread": "SD, %",
        "ser_vote": "SER of a vote, %",
    }
    caption = (
        "Mean symbol error rate by length, its standard deviation (SD) over the relabellings of a text, and the error "
        "rate of a vote of all relabellings."
    )
    return Table(columns, rows, caption, labels)


def _labels(parts: Parts) -> list[str]:
    return [name for name in bin_names() if any(name in of_model for of_model in parts.values())]


def _series(parts: dict[str, Part], column: str, labels: list[str]) -> tuple[list[float], list[float]]:
    """Return the means and standard errors of a column; NaN where a model has no texts."""
    found = [parts[name][column] if name in parts else None for name in labels]
    return [one.mean if one else np.nan for one in found], [one.error if one else np.nan for one in found]


def _changes_figure(parts: Parts) -> Figure:
    labels = _labels(parts)
    series = {model: _series(of_model, "letters", labels) for model, of_model in parts.items()}
    drawn = bars(
        {model: means for model, (means, _) in series.items()},
        labels=labels,
        errors={model: errors for model, (_, errors) in series.items()},
        x_title="characters in the text",
        y_title="letters read differently, %",
    )
    caption = (
        "Probability that two relabellings of the cipher letters make the model read a letter differently, by length "
        "of the text; 0 for a perfect solver. Error bars: one standard error."
    )
    return Figure(drawn, caption)


def _error_figure(parts: Parts, count: int) -> Figure:
    labels, means, errors = _labels(parts), {}, {}
    for model, of_model in parts.items():
        for column, name in (("error", model), ("vote", f"{model}, vote of {count}")):
            means[name], errors[name] = _series(of_model, column, labels)
    drawn = bars(means, labels=labels, errors=errors, x_title="characters in the text", y_title="SER, %")
    caption = (
        f"Symbol error rate by length of the text: mean over the relabellings, and of a vote of all {count}. Error "
        "bars: one standard error."
    )
    return Figure(drawn, caption)


def _answers_table(examples: dict[str, Example]) -> Table:
    """Return the different answers to one text per model, the most frequent first, below the vote and the plaintext."""
    rows = [(model, *row) for model, example in examples.items() for row in _answers(example)]
    counts = [f"{model}, {one.title}: {_different(one.readings)}" for model, one in examples.items()]
    caption = (
        f"Different answers to one text, with the number of relabellings that give each ({'; '.join(counts)}). At most "
        f"{MOST} are shown. CAPITALS differ from the vote."
    )
    labels = {"ser": "SER, %"}
    return Table(("model", "line", "relabellings", "ser", "text"), rows, caption, labels, monospace=("text",))


def _different(found: Readings) -> str:
    count = len(np.unique(found.answers, axis=0))
    return f"{count} different {'answer' if count == 1 else 'answers'} under {len(found.answers)} relabellings"


def _answers(example: Example) -> list[tuple[str, int | None, float | None, str]]:
    found, symbols = example.readings, NO_SYMBOL + example.alphabet.symbols
    answers, counts = np.unique(found.answers, axis=0, return_counts=True)
    order = np.argsort(-counts, kind="stable")
    rows: list[tuple[str, int | None, float | None, str]] = []
    if found.plain_ids is not None:
        rows.append(("plaintext", None, None, _marked(found.plain_ids, found.plain_ids, symbols)))
    vote_error = None if found.vote_error is None else 100 * found.vote_error
    rows.append(("vote", None, vote_error, _marked(found.vote, found.vote, symbols)))
    for place, number in enumerate(order[:MOST], start=1):
        text = _marked(answers[number], found.vote, symbols)
        rows.append((f"answer {place}", int(counts[number]), _error(found, answers[number]), text))
    return rows


def _marked(ids: Ints, other: Ints, symbols: str) -> str:
    """Return a text in lower case, with capitals where it differs from another."""
    pairs = zip(ids.tolist(), other.tolist(), strict=True)
    return "".join(symbols[one] if one != two else symbols[one].lower() for one, two in pairs)


def _error(found: Readings, answer: Ints) -> float | None:
    """Return the error rate of an answer in percent, if the plaintext is known."""
    if found.errors is None:
        return None
    (places,) = np.nonzero((found.answers == answer).all(1))
    return 100 * float(found.errors[places[0]])
