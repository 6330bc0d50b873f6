"""The result of the letter-frequency analysis: the paper's figure twice, and who is taken for whom."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.plugins.builtin.letter_frequency.frequencies import Line, fit_line, lewand
from alice.plugins.builtin.letter_frequency.measure import Tally
from alice.plugins.builtin.suffixes import suffixes
from alice.reports import Figure, Result, Table
from alice.reports.figures import heatmap, scatter_with_fit
from alice.statistics import Floats, blank_nan
from alice.text.alphabet import LETTERS

NAMES = (*LETTERS, "none")
MOST = 20
"""Rows of the table of mistakes."""
SIDES = ("middle left", "top center", "middle right", "bottom center")
SOURCES = {"lewand": "English (Lewand 2000)", "corpus": "these texts"}
CAVEATS = (
    "All occurrences of a cipher letter get one answer, so errors come a text at a time; the errors given are standard "
    "errors from a Bayesian bootstrap over texts. Where a letter has few texts, its place in the figure is chance.",
    "With Lewand's frequencies the figure assumes, as the paper does, that the texts have the letters of English; with "
    "the texts' own frequencies the share of a letter is simply the share of all wrong letters that are this one.",
    "The best-fit line guides the eye. Its p value takes letters for independent, which they are not: the shares of "
    "the errors add up to one.",
)


def report(tallies: Sequence[Tally]) -> Result:
    """Put what was counted into a result."""
    lines = {(found.model, source): _line(found, source) for found in tallies for source in SOURCES}
    tables = {"best-fit": _fit_table(lines)}
    figures: dict[str, Figure] = {}
    arrays: dict[str, Any] = {}
    for suffix, found in zip(suffixes([found.model for found in tallies]), tallies, strict=True):
        for source in SOURCES:
            figures[f"excess-{source}{suffix}"] = _excess_figure(found, source)
        figures[f"confusion{suffix}"] = _confusion_figure(found)
        tables |= {f"letters{suffix}": _letter_table(found), f"mistakes{suffix}": _mistake_table(found)}
        arrays |= {f"confusion{suffix}": found.confusion, f"error-rates{suffix}": found.wrong.ratio}
        arrays |= {f"error-rate-draws{suffix}": found.wrong.ratio_draws}
    return Result(
        title="Letter frequency",
        summary=" ".join(map(_summary, tallies)),
        caveats=CAVEATS,
        metrics=_metrics(tallies, lines),
        tables=tables,
        figures=figures,
        arrays=arrays,
    )


def _points(found: Tally, source: str) -> tuple[Floats, Floats, Floats]:
    """Return the frequency of each letter, its excess of errors and the standard error of that, (26,) each."""
    if source == "lewand":
        return lewand(), *found.excess(lewand())
    return found.frequencies, *found.excess()


def _line(found: Tally, source: str) -> Line | None:
    frequencies, more, _ = _points(found, source)
    return fit_line(frequencies, more)


def _summary(found: Tally) -> str:
    wrong, letters = int(found.mistakes.sum()), int(found.characters.sum())
    start = f"{found.model} has {wrong:,} of {letters:,} letters wrong, in {found.texts:,} texts."
    if not wrong:
        return f"{start} Without an error there is nothing to compare."
    more, _ = found.excess(lewand())
    names = np.array(list(LETTERS))
    order = np.argsort(np.nan_to_num(more))
    return (
        f"{start} Beside the frequencies of English, {', '.join(names[order[:-4:-1]])} have most of the errors beyond "
        f"their share, and {', '.join(names[order[:3]])} stay farthest below it."
    )


def _metrics(tallies: Sequence[Tally], lines: dict[tuple[str, str], Line | None]) -> dict[str, float | int]:
    metrics: dict[str, float | int] = {}
    for found in tallies:
        of = f" of {found.model}" if len(tallies) > 1 else ""
        wrong, letters = int(found.mistakes.sum()), int(found.characters.sum())
        line = lines[found.model, "lewand"]
        if line is not None:
            metrics |= {f"slope against English{of}": line.slope, f"standard error of the slope{of}": line.slope_error}
        metrics |= {f"letters wrong{of}, %": 100 * wrong / max(letters, 1), f"letters wrong{of}": wrong}
    return metrics | {"texts": tallies[0].texts}


def _fit_table(lines: dict[tuple[str, str], Line | None]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for (model, source), line in lines.items():
        values = (None,) * 5 if line is None else tuple(vars(line).values())
        rows.append((model, SOURCES[source], *values))
    columns = ("model", "frequencies", "slope", "standard error", "intercept", "r", "p")
    caption = (
        "Best-fit line of a letter's excess share of the errors over its frequency. A slope below zero: frequent "
        "letters have fewer errors than their frequency alone would give them."
    )
    return Table(columns, rows, caption=caption)


def _excess_figure(found: Tally, source: str) -> Figure:
    frequencies, more, spread = (100 * values for values in _points(found, source))
    shown = np.isfinite(more)
    drawn = scatter_with_fit(
        frequencies[shown],
        more[shown],
        labels=[letter for letter, finite in zip(LETTERS, shown, strict=True) if finite],
        x_title=f"frequency in {SOURCES[source]}, %",
        y_title="share of errors less frequency, points",
    )
    # Neighbours have their names on different sides, since many letters are about as rare as each other.
    places = np.argsort(np.argsort(frequencies[shown])) % len(SIDES)
    drawn.data[0].textposition = [SIDES[place] for place in places]
    drawn.data[0].error_y = {"array": spread[shown], "thickness": 1, "width": 2}
    if len(drawn.data) > 1:
        drawn.data[1].line.dash = "dash"
    drawn.add_hline(y=0, line={"dash": "dash", "width": 1.5, "color": "#7d8790"})
    drawn.update_layout(height=520)
    caption = (
        f"{found.model}: each letter's share of the errors, less its frequency in {SOURCES[source]}. On the grey line "
        "a letter has as large a share of the errors as of the text; above it a larger one. Bars: one standard error."
    )
    return Figure(drawn, caption)


def _confusion_figure(found: Tally) -> Figure:
    share = 100 * found.mistakes / np.maximum(found.characters, 1)[:, None]
    np.fill_diagonal(share, np.nan)
    share[found.characters == 0] = np.nan
    drawn = heatmap(
        share,
        x_labels=NAMES,
        y_labels=list(LETTERS),
        x_title="taken for",
        y_title="true letter",
        value_title="% of the letter",
    )
    caption = f"{found.model}: what wrong letters are taken for, in percent of all characters of the true letter."
    drawn.update_layout(height=660).update_xaxes(tickangle=0)
    return Figure(drawn, f"{caption} None: no letter.")


def _letter_table(found: Tally) -> Table:
    english, own = _points(found, "lewand"), _points(found, "corpus")
    rows = [
        (
            letter,
            int(found.characters[number]),
            int(found.mistakes[number].sum()),
            *(blank_nan(100 * values[number]) for values in (found.wrong.ratio, found.wrong.error, *english, *own)),
        )
        for number, letter in enumerate(LETTERS)
    ]
    columns = ("letter", "number", "wrong", "SER, %", "± SER", "English, %", "excess", "± excess")
    caption = (
        f"{found.model}: errors of each letter, each with its standard error. Excess: its share of the errors less its "
        "frequency, in points, with the frequencies of English, and (own) with those of these texts."
    )
    return Table((*columns, "texts, %", "own excess", "± own"), rows, caption=caption)


def _mistake_table(found: Tally) -> Table:
    mistakes = found.mistakes
    order = np.argsort(-mistakes, axis=None, kind="stable")[:MOST]
    rows = [
        (LETTERS[true], NAMES[taken], count, 100 * count / found.characters[true], 100 * count / mistakes.sum())
        for true, taken in zip(*np.unravel_index(order, mistakes.shape), strict=True)
        if (count := int(mistakes[true, taken]))
    ]
    caption = f"{found.model}: the most frequent mistakes."
    columns = ("true letter", "taken for", "characters", "% of the letter", "% of all wrong letters")
    return Table(columns, rows, caption=caption)
