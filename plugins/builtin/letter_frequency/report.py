"""The result of the letter-frequency analysis: the paper's figure twice, and what letters are mistaken for."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from alice.plugins.builtin.letter_frequency.frequencies import Line, fit_line
from alice.plugins.builtin.letter_frequency.measure import Measured
from alice.reports import Figure, Metric, Result, Table, model_key
from alice.reports.figures import heatmap, scatter_with_fit
from alice.statistics import Floats, blank_nan
from alice.text import LETTERS, lewand

ANSWERS = (*LETTERS, "none")
MOST = 20
"""Mistakes in the table, for each model."""
SIDES = ("middle left", "top center", "middle right", "bottom center")
SOURCES = {"lewand": "English (Lewand 2000)", "corpus": "these texts"}
"""Where frequencies come from, and what readers see."""
CAVEATS = (
    "All occurrences of a cipher letter get the same answer, so a text has all of a letter's characters wrong or none; "
    "errors are therefore standard errors from a Bayesian bootstrap over texts. A letter that few texts contain has an "
    "unreliable place in the figure.",
    "With Lewand's frequencies the figure assumes, as the paper does, that the texts have the letter frequencies of "
    "English. With the texts' own frequencies a letter's share is simply its share of all wrong letters.",
    "The error of the slope is over texts, and the letters are given. The p value treats letters as independent "
    "instead, which they are not: the shares of the errors add up to one.",
)
Lines = dict[tuple[str, str], Line | None]
"""Best-fit lines by model and source of the frequencies."""


def report(measured: Sequence[Measured]) -> Result:
    """Build the result from what was measured with each model."""
    lines = {(found.model, source): _line(found, source) for found in measured for source in SOURCES}
    figures: dict[str, Figure] = {}
    arrays: dict[str, Any] = {}
    for found in measured:
        for source in SOURCES:
            figures[model_key(f"excess-{source}", found.model)] = _excess_figure(found, source)
        figures[model_key("confusion", found.model)] = _confusion_figure(found)
        arrays[model_key("confusion", found.model)] = found.confusion
        arrays[model_key("error-rates", found.model)] = found.wrong.ratio
        arrays[model_key("error-rate-draws", found.model)] = found.wrong.ratio_draws
    return Result(
        title="Letter frequency",
        summary=" ".join(map(_summary, measured)),
        caveats=CAVEATS,
        metrics=_metrics(measured, lines),
        tables={
            "best-fit": _fit_table(lines),
            "letters": _letter_table(measured),
            "mistakes": _mistake_table(measured),
        },
        figures=figures,
        arrays=arrays,
    )


def _points(found: Measured, source: str) -> tuple[Floats, Floats, Floats]:
    """Return the frequency of each letter, its excess of errors and the standard error of that, (26,) each."""
    if source == "lewand":
        return lewand(), *found.excess(lewand())
    return found.frequencies, *found.excess()


def _line(found: Measured, source: str) -> Line | None:
    frequencies, more, _ = _points(found, source)
    line = fit_line(frequencies, more)
    error = found.slope_error(lewand() if source == "lewand" else None)
    return None if line is None else replace(line, slope_error=error)


def _summary(found: Measured) -> str:
    wrong, letters = int(found.mistakes.sum()), int(found.characters.sum())
    start = f"{found.model} has {wrong:,} of {letters:,} letters wrong, in {found.texts:,} texts."
    if not wrong:
        return f"{start} Without errors there is nothing to compare."
    more, _ = found.excess(lewand())
    names = np.array(list(LETTERS))
    order = np.argsort(np.nan_to_num(more))
    return (
        f"{start} Compared with the frequencies of English, {', '.join(names[order[:-4:-1]])} exceed their share of "
        f"the errors most, and {', '.join(names[order[:3]])} stay farthest below it."
    )


def _metrics(measured: Sequence[Measured], lines: Lines) -> list[Metric]:
    metrics = []
    for found in measured:
        model, wrong, letters = found.model, int(found.mistakes.sum()), int(found.characters.sum())
        if (line := lines[model, "lewand"]) is not None:
            metrics.append(Metric("slope", line.slope, line.slope_error, model=model, label="slope against English"))
        share = 100 * wrong / max(letters, 1)
        metrics.append(Metric("letters-wrong-share", share, unit="%", model=model, label="letters wrong"))
        metrics.append(Metric("letters-wrong", wrong, model=model, label="number of letters wrong"))
    return [*metrics, Metric("texts", measured[0].texts)]


def _fit_table(lines: Lines) -> Table:
    rows: list[tuple[Any, ...]] = []
    for (model, source), line in lines.items():
        values = (None,) * 5 if line is None else tuple(map(blank_nan, vars(line).values()))
        rows.append((model, source, *values))
    columns = ("model", "frequencies", "slope", "slope_error", "intercept", "correlation", "p_value")
    caption = (
        "Best-fit line of a letter's excess share of the errors over its frequency: in English (lewand) or in these "
        "texts (corpus). A slope below zero means that frequent letters have fewer errors than their frequency alone "
        "would give them; its error is over texts."
    )
    return Table(columns, rows, caption, labels={"correlation": "r", "p_value": "p"})


def _excess_figure(found: Measured, source: str) -> Figure:
    frequencies, more, error = (100 * values for values in _points(found, source))
    shown = np.isfinite(more)
    drawn = scatter_with_fit(
        frequencies[shown],
        more[shown],
        labels=[letter for letter, finite in zip(LETTERS, shown, strict=True) if finite],
        x_title=f"frequency in {SOURCES[source]}, %",
        y_title="share of errors minus frequency, points",
    )
    # Neighbours are labelled on different sides, since many letters have nearly the same frequency.
    places = np.argsort(np.argsort(frequencies[shown])) % len(SIDES)
    drawn.data[0].textposition = [SIDES[place] for place in places]
    drawn.data[0].error_y = {"array": error[shown], "thickness": 1, "width": 2}
    if len(drawn.data) > 1:
        drawn.data[1].line.dash = "dash"
    drawn.add_hline(y=0, line={"dash": "dash", "width": 1.5, "color": "#7d8790"})
    drawn.update_layout(height=520)
    caption = (
        f"{found.model}: each letter's share of the errors minus its frequency in {SOURCES[source]}. On the grey line "
        "a letter has the same share of the errors as of the text, above it a larger one. Bars: one standard error."
    )
    return Figure(drawn, caption)


def _confusion_figure(found: Measured) -> Figure:
    share = 100 * found.mistakes / np.maximum(found.characters, 1)[:, None]
    np.fill_diagonal(share, np.nan)
    share[found.characters == 0] = np.nan
    drawn = heatmap(
        share,
        x_labels=ANSWERS,
        y_labels=list(LETTERS),
        x_title="taken for",
        y_title="true letter",
        value_title="% of the letter",
    )
    caption = f"{found.model}: what wrong letters are taken for, in percent of all characters of the true letter."
    drawn.update_layout(height=660).update_xaxes(tickangle=0)
    return Figure(drawn, f"{caption} None: not a letter.")


def _letter_table(measured: Sequence[Measured]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for found in measured:
        values = (found.wrong.ratio, found.wrong.error, *_points(found, "lewand"), *_points(found, "corpus"))
        for number, letter in enumerate(LETTERS):
            counts = (int(found.characters[number]), int(found.mistakes[number].sum()))
            rows.append((found.model, letter, *counts, *(blank_nan(100 * value[number]) for value in values)))
    errors = ("model", "letter", "characters", "wrong", "ser", "ser_error")
    english, corpus = ("english", "excess", "excess_error"), ("corpus", "corpus_excess", "corpus_excess_error")
    labels = {"ser": "SER, %", "english": "English, %", "corpus": "these texts, %"}
    caption = (
        "Errors of each letter. Excess: its share of the errors minus its frequency, in percentage points, with the "
        "frequencies of English, and (corpus) with those of these texts."
    )
    return Table((*errors, *english, *corpus), rows, caption, labels=labels)


def _mistake_table(measured: Sequence[Measured]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for found in measured:
        mistakes, characters = found.mistakes, found.characters
        order = np.argsort(-mistakes, axis=None, kind="stable")[:MOST]
        for true, taken in zip(*np.unravel_index(order, mistakes.shape), strict=True):
            if count := int(mistakes[true, taken]):
                shares = (100 * count / characters[true], 100 * count / mistakes.sum())
                rows.append((found.model, LETTERS[true], ANSWERS[taken], count, *shares))
    labels = {
        "letter": "true letter",
        "share_of_letter": "% of the letter",
        "share_of_wrong": "% of all wrong letters",
    }
    columns = ("model", "letter", "taken_for", "characters", "share_of_letter", "share_of_wrong")
    return Table(columns, rows, "The most frequent mistakes.", labels=labels)
