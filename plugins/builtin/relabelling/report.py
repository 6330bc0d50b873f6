"""The result of the relabelling analysis: how often answers change, by length, and one text under its relabellings."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.metrics import bin_names, length_bin
from alice.plugins.builtin.relabelling.measure import Changes, Shown
from alice.plugins.builtin.relabelling.shown import answers_table
from alice.plugins.builtin.suffixes import suffixes
from alice.reports import Figure, Result, Table
from alice.reports.figures import bars
from alice.statistics import Estimate, Floats, bayesian_bootstrap

ALL = "all"
CAVEATS = (
    "Agreement is not truth: a model may read a text wrong in the same way under every relabelling. Nor is change a "
    "fault of its own where a text has several solutions, as short ones do.",
    "Relabellings are a few random ones of 26! (about 4e26). The chance that two disagree does not depend on how "
    "many there are, but the share of texts that ever change grows with them.",
    "A vote reads every text as often as there are relabellings, so it takes that many times longer.",
    "± is one standard error from a Bayesian bootstrap over texts; it says nothing about other training runs.",
)


def report(measured: Sequence[Changes], shown: Sequence[Shown], *, rng: np.random.Generator) -> Result:
    """Put the changes into a result."""
    rows = {found.model: _by_length(found, rng) for found in measured}
    known = all(found.errors is not None for found in measured)
    tables = {"changes": _changes_table(rows)}
    if known:
        tables["errors"] = _error_table(rows)
    arrays: dict[str, Any] = {}
    for suffix, found, one in zip(suffixes([found.model for found in measured]), measured, shown, strict=True):
        tables[f"answers{suffix}"] = answers_table(found.model, one)
        arrays |= {f"lengths{suffix}": found.lengths, f"letters-changed{suffix}": found.letters}
        if found.errors is not None:
            arrays[f"errors{suffix}"] = found.errors
    figures = {"changes-by-length": _changes_figure(rows)}
    if known:
        figures["error-by-length"] = _error_figure(rows, measured[0].relabellings)
    return Result(
        title="Relabelling",
        summary=_summary(measured, rows),
        caveats=CAVEATS,
        metrics=_metrics(measured, rows),
        tables=tables,
        figures=figures,
        arrays=arrays,
    )


Part = dict[str, Estimate]
"""Estimates in percent over the texts of one length."""


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
    return {
        name: {column: bayesian_bootstrap(100 * values[part], rng) for column, values in columns.items()}
        for name, part in parts.items()
        if part.any()
    }


def _summary(measured: Sequence[Changes], rows: dict[str, dict[str, Part]]) -> str:
    texts, count = len(measured[0].lengths), measured[0].relabellings
    said = [
        f"{f'{texts:,} texts were' if texts != 1 else 'One text was'} read under {count} random relabellings of the "
        "cipher letters, which a perfect solver would not mind."
    ]
    for found in measured:
        whole = rows[found.model][ALL]
        line = (
            f"Two of them make {found.model} read {whole['letters']:.2f} % of the letters differently, and "
            f"{whole['texts'].mean:.0f} % of the texts in some place"
        )
        if "error" in whole:
            line += f"; its SER is {whole['error']:.2f} %, and {whole['vote']:.2f} % if all {count} vote"
        said.append(line + ".")
    return " ".join(said)


def _metrics(measured: Sequence[Changes], rows: dict[str, dict[str, Part]]) -> dict[str, float | int]:
    metrics: dict[str, float | int] = {}
    names = {"letters": "letters read differently", "error": "SER", "vote": "SER of a vote"}
    if len(measured) == 1:
        names |= {"texts": "texts read differently", "spread": "spread of the SER over relabellings"}
    for found in measured:
        by = f" by {found.model}" if len(measured) > 1 else ""
        whole = rows[found.model][ALL]
        metrics |= {f"{said}{by}, %": whole[column].mean for column, said in names.items() if column in whole}
    return metrics | {"texts": len(measured[0].lengths), "relabellings": measured[0].relabellings}


def _changes_table(rows: dict[str, dict[str, Part]]) -> Table:
    body = [
        (model, name, part["letters"].count, *part["letters"].cells, *part["texts"].cells, part["ever"].mean)
        for model, parts in rows.items()
        for name, part in parts.items()
    ]
    columns = ("model", "length", "texts", "letters changed", "± letters", "texts changed", "± texts", "ever changed")
    caption = (
        "In percent, by length of the text: chance that two relabellings read a letter differently, and a text in some "
        "place; last, texts that any two relabellings read differently."
    )
    return Table(columns, body, caption=caption)


def _error_table(rows: dict[str, dict[str, Part]]) -> Table:
    body = [
        (model, name, part["error"].count, *part["error"].cells, part["spread"].mean, *part["vote"].cells)
        for model, parts in rows.items()
        for name, part in parts.items()
    ]
    caption = (
        "In percent, by length of the text: mean SER, its standard deviation over the relabellings of a text, and the "
        "SER of a vote of all relabellings."
    )
    return Table(
        ("model", "length", "texts", "SER", "± SER", "spread", "SER of a vote", "± vote"), body, caption=caption
    )


def _labels(rows: dict[str, dict[str, Part]]) -> list[str]:
    return [name for name in bin_names() if any(name in parts for parts in rows.values())]


def _series(parts: dict[str, Part], column: str, labels: list[str]) -> tuple[list[float], list[float]]:
    """Return the means and the errors of a column, with gaps where a model has no texts."""
    found = [parts[name][column] if name in parts else None for name in labels]
    return [one.mean if one else np.nan for one in found], [one.error if one else np.nan for one in found]


def _changes_figure(rows: dict[str, dict[str, Part]]) -> Figure:
    labels = _labels(rows)
    series = {model: _series(parts, "letters", labels) for model, parts in rows.items()}
    drawn = bars(
        {model: means for model, (means, _) in series.items()},
        labels=labels,
        errors={model: errors for model, (_, errors) in series.items()},
        x_title="characters in the text",
        y_title="letters read differently, %",
    )
    caption = (
        "Chance that two relabellings of the cipher letters make the model read a letter differently, by length of the "
        "text; a perfect solver has 0. Bars: one standard error."
    )
    return Figure(drawn, caption)


def _error_figure(rows: dict[str, dict[str, Part]], count: int) -> Figure:
    labels, means, errors = _labels(rows), {}, {}
    for model, parts in rows.items():
        for column, name in (("error", model), ("vote", f"{model}, vote of {count}")):
            means[name], errors[name] = _series(parts, column, labels)
    drawn = bars(means, labels=labels, errors=errors, x_title="characters in the text", y_title="SER, %")
    caption = (
        f"Symbol error rate by length of the text: mean over the relabellings, and of the answer that most of {count} "
        "relabellings give. Bars: one standard error."
    )
    return Figure(drawn, caption)
