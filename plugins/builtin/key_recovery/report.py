"""The result of the key-recovery analysis: keys by length, margins, collisions, and the key of one text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.metrics import bin_names, length_bin
from alice.plugins.builtin.key_recovery.example import key_figure, text_table
from alice.plugins.builtin.key_recovery.measure import MARGINS, PAIRS, Keys
from alice.plugins.builtin.key_recovery.shown import ShownKey
from alice.plugins.builtin.suffixes import suffixes
from alice.reports import Figure, Result, Table
from alice.reports.figures import bars
from alice.statistics import Estimate, Floats, bayesian_bootstrap, blank_nan
from alice.text.alphabet import LETTERS

MOST = 20
"""Rows of the table of collisions."""
ALL = "all"
MEASURES = ("key accuracy", "whole key right", "not one-to-one")
CAVEATS = (
    "Only letters that a text contains count: the others are not determined by it, and whatever a model says of them "
    "is a guess. Short texts may have several solutions, so that a wrong key need not be a bad one.",
    "The key of a base or dynamic model is implied by its outputs, pooled by symbol; nothing in the model keeps it "
    "one-to-one. A bijective model should never collide, and a letter that it gets wrong forces another wrong one.",
    "A margin is a difference of the model's own probabilities; for the bijective head these come from a relaxed "
    "permutation with a temperature of its own, whose rows sum to one only roughly, so margins of different heads "
    "do not compare.",
    "Errors are standard errors from a Bayesian bootstrap over texts; they say nothing about other training runs.",
)
Estimates = dict[str, dict[str, tuple[Estimate, ...]]]
"""Model, part of the texts, and an estimate of each of MEASURES in percent."""


def report(measured: Sequence[Keys], shown: Sequence[ShownKey], *, rng: np.random.Generator) -> Result:
    """Put what was measured into a result."""
    estimates = {found.model: _estimates(found, rng) for found in measured}
    free = {found.model: estimates[found.model] for found in measured if found.may_collide}
    tables: dict[str, Table] = {"by-length": _length_table(estimates), "margins": _margin_table(measured)}
    figures: dict[str, Figure] = {}
    arrays: dict[str, Any] = {}
    for suffix, found, one in zip(suffixes([found.model for found in measured]), measured, shown, strict=True):
        figures[f"key{suffix}"] = key_figure(found, one)
        tables[f"text{suffix}"] = text_table(found, one, "")
        arrays |= {f"keys{suffix}": found.columns, f"probabilities{suffix}": one.probabilities}
        if found.may_collide:
            tables[f"collisions{suffix}"] = _collision_table(found)
            arrays[f"collisions{suffix}"] = found.collisions
        if found.collided is not None:
            what = ", of those with a collision the one with most of its key right"
            tables[f"collision-example{suffix}"] = text_table(found, found.collided, what)
    caption = "Share of a text's letters whose meaning is recovered"
    figures |= {"accuracy": _length_figure(estimates, 0, "key letters right, %", caption)}
    figures |= {"margins": _margin_figure(measured)}
    if free:
        caption = "Share of texts in which the implied key is not one-to-one"
        figures["not-one-to-one"] = _length_figure(free, 2, "keys not one-to-one, %", caption)
    summary = " ".join(_summary(found, estimates[found.model][ALL]) for found in measured)
    caveats = (*filter(None, map(_broken_head, measured)), *CAVEATS)
    return Result("Key recovery", summary, caveats, _metrics(measured, estimates), None, tables, figures, arrays)


def _broken_head(found: Keys) -> str:
    """Say so if a bijective model has done what its head is made to rule out."""
    if not found.bijective or not found.may_collide:
        return ""
    return (
        f"{found.model} is bijective, but gives two letters one answer in {found.texts_collided:,} of {found.texts:,} "
        "texts. This is a bug of its head: its outputs are not always valid."
    )


def _estimates(found: Keys, rng: np.random.Generator) -> dict[str, tuple[Estimate, ...]]:
    """Estimate every measure for each of the paper's bins, and for all texts."""
    bins = length_bin(found.lengths)
    parts = {name: bins == number for number, name in enumerate(bin_names())} | {ALL: bins >= 0}
    values: list[Floats] = [
        100 * share.astype(np.float64) for share in (found.accuracy, found.accuracy == 1, ~found.one_to_one)
    ]
    return {name: tuple(bayesian_bootstrap(value[part], rng) for value in values) for name, part in parts.items()}


def _summary(found: Keys, overall: tuple[Estimate, ...]) -> str:
    accuracy, whole, broken = overall
    start = (
        f"{found.model} recovers {accuracy:.1f} % of the key letters that a text has, "
        f"and all of them in {whole.mean:.1f} % of {accuracy.count:,} texts."
    )
    if not found.may_collide:
        return f"{start} None of its keys gives two letters one meaning; this was checked."
    return f"{start} The key that its answers imply is not one-to-one in {broken:.1f} % of them."


def _metrics(measured: Sequence[Keys], estimates: Estimates) -> dict[str, float | int]:
    metrics: dict[str, float | int] = {}
    for found in measured:
        of = f" of {found.model}" if len(measured) > 1 else ""
        for name, value in zip(MEASURES, estimates[found.model][ALL], strict=True):
            metrics[f"{name}{of}, %"] = value.mean
        if found.bijective:
            metrics[f"key accuracy over all 26 letters{of}, %"] = 100 * float(found.accuracy_of_all.mean())
        for name, margin in zip(("wrong", "right"), found.mean_margins, strict=True):
            if margin is not None:
                metrics[f"mean margin of {name} letters{of}"] = margin
    return metrics | {"texts": measured[0].texts}


def _length_table(estimates: Estimates) -> Table:
    columns = [
        column for name in ("letters right", "keys right", "not 1-to-1") for column in (f"{name}, %", f"± {name}")
    ]
    rows: list[tuple[Any, ...]] = [
        (model, part, values[0].count, *(cell for value in values for cell in value.cells))
        for model, parts in estimates.items()
        for part, values in parts.items()
        if values[0].count
    ]
    caption = (
        "Recovered keys by length of the text, each with its standard error: the share of the letters in a text that "
        "are recovered, averaged over texts (key accuracy); texts in which all are; texts in which two letters are "
        "taken for the same one, or a letter for a space or a mark."
    )
    return Table(("model", "characters", "texts", *columns), rows, caption=caption)


def _length_figure(estimates: Estimates, measure: int, y_title: str, caption: str) -> Figure:
    names = [name for name in (*bin_names(), ALL) if any(parts[name][0].count for parts in estimates.values())]
    means = {model: [parts[name][measure].mean for name in names] for model, parts in estimates.items()}
    spreads = {model: [parts[name][measure].error for name in names] for model, parts in estimates.items()}
    drawn = bars(means, labels=names, errors=spreads, x_title="characters in the text", y_title=y_title)
    return Figure(
        drawn.update_yaxes(rangemode="tozero"), f"{caption}, by length of the text. Bars: one standard error."
    )


def _margin_names() -> list[str]:
    width = float(MARGINS[1] - MARGINS[0])
    return ["below 0", *(f"{low:.1f}-{low + width:.1f}" for low in MARGINS.tolist())]


def _margin_table(measured: Sequence[Keys]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for found in measured:
        margins = found.margins
        for place, name in enumerate(_margin_names()):
            if count := int(margins.whole[place]):
                share = 100 * count / float(margins.whole.sum())
                right, error = (blank_nan(100 * values[place]) for values in (margins.ratio, margins.error))
                rows.append((found.model, name, count, share, right, error))
    caption = (
        "Margin: probability of the answer less that of the best other one, for every letter in every text. Below zero "
        "a bijective head had to take less than its best."
    )
    return Table(("model", "margin", "letters", "% of letters", "right, %", "± right"), rows, caption=caption)


def _margin_figure(measured: Sequence[Keys]) -> Figure:
    used = np.any([found.margins.whole > 0 for found in measured], axis=0)
    names = [name for name, wanted in zip(_margin_names(), used, strict=True) if wanted]
    right = {found.model: 100 * found.margins.ratio[used] for found in measured}
    spreads = {found.model: 100 * found.margins.error[used] for found in measured}
    drawn = bars(right, labels=names, errors=spreads, x_title="margin of the answer", y_title="letters right, %")
    return Figure(drawn, "How often letters are right by how sure the model is of them. Bars: one standard error.")


def _collision_table(found: Keys) -> Table:
    order = np.argsort(-found.collisions, axis=None, kind="stable")[:MOST]
    collided = int((~found.one_to_one).sum())
    rows = [
        (LETTERS[claimed], f"{LETTERS[PAIRS[0, pair]]} and {LETTERS[PAIRS[1, pair]]}", count, 100 * count / collided)
        for claimed, pair in zip(*np.unravel_index(order, found.collisions.shape), strict=True)
        if (count := int(found.collisions[claimed, pair]))
    ]
    caption = f"{found.model}: which two true letters are most often taken for the same one."
    return Table(("taken for", "true letters", "texts", "% of keys not one-to-one"), rows, caption=caption)
