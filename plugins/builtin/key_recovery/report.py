"""The result of the key-recovery analysis: keys by length, margins, collisions, and the key of one text."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from alice.metrics import bin_names, length_bin
from alice.plugins.builtin.answers import OTHER
from alice.plugins.builtin.key_recovery.measure import MARGINS, PAIRS, Keys, Measured, TextKey
from alice.plugins.builtin.options import lens_caveats
from alice.reports import Figure, Metric, Result, Table, model_key
from alice.reports.figures import bars
from alice.reports.figures.maps import Marks, key_matrix
from alice.solving import NO_SYMBOL
from alice.statistics import Estimate, Ints, PairedBootstrap, blank_nan
from alice.text import LETTERS

MOST = 20
"""Collisions in the table, for each model."""
ALL = "all"
MEASURES = {
    "key-accuracy": "key letters right",
    "whole-key-right": "keys entirely right",
    "not-one-to-one": "keys not one-to-one",
}
"""Metrics that are given by length, and their labels."""
SINGLE, COLLIDING, TRUE = "#111111", "#d9601a", "#7d8790"
ANSWERS = (*LETTERS, "not a letter")
CAVEATS = (
    "Only letters that a text contains count: the text does not determine the others, so a model can only guess them. "
    "Short texts may have several solutions, so a wrong key is not always a bad one.",
    "The key of a base or dynamic model is implied by its outputs, pooled by symbol; nothing in the model keeps it "
    "one-to-one. A bijective model should never collide, and each letter that it gets wrong makes another one wrong.",
    "A margin is a difference of the model's own probabilities. Those of the bijective head come from a relaxed "
    "permutation with its own temperature, whose rows sum only roughly to one, so margins of different heads cannot be "
    "compared.",
    "Errors are standard errors from a Bayesian bootstrap over texts; they do not cover other trainings.",
)
Estimates = dict[str, dict[str, dict[str, Estimate]]]
"""Model, length of the texts, and an estimate of each of MEASURES in percent."""


def report(
    measured: Sequence[Measured], *, rng: np.random.Generator, layer: int | None = None, lens: Path | None = None
) -> Result:
    """Build the result from what was measured with each model."""
    estimates = {found.model: _estimates(found, rng) for found in measured}
    colliding = [found for found in measured if found.may_collide]
    arrays: dict[str, Any] = {}
    for found in measured:
        arrays |= {model_key(name, found.model): array for name, array in _text_arrays(found.keys).items()}
        arrays[model_key("probabilities", found.model)] = found.example.probabilities
        if found.may_collide:
            arrays[model_key("collisions", found.model)] = found.collisions
    return Result(
        title="Key recovery",
        summary=" ".join(
            [_read_from(layer, lens), *(_summary(found, estimates[found.model][ALL]) for found in measured)]
        ).strip(),
        caveats=(*filter(None, map(_broken_head, measured)), *lens_caveats(lens), *CAVEATS),
        metrics=_metrics(measured, estimates),
        tables={"by-length": _length_table(estimates), "margins": _margin_table(measured)}
        | _text_tables(measured)
        | ({"collisions": _collision_table(colliding)} if colliding else {}),
        figures={model_key("key", found.model): _key_figure(found) for found in measured}
        | _length_figures(estimates, [found.model for found in colliding])
        | {"margins": _margin_figure(measured)},
        arrays=arrays,
    )


def _read_from(layer: int | None, lens: Path | None) -> str:
    """Say where the key was read, unless it is the model's own answer."""
    if layer is None and lens is None:
        return ""
    after = "the last layer" if layer is None else f"layer {layer}"
    return f"Keys were read after {after}, with {f'the lens in `{lens}`' if lens else 'the plain exit'}."


def _text_arrays(keys: Keys) -> dict[str, Any]:
    """Return what is stored of each text, (text,) each."""
    return {
        "numbers": keys.numbers,
        "lengths": keys.lengths,
        "observed": keys.observed,
        "right": keys.right,
        "right-of-26": keys.right_of_26,
        "key-accuracy": 100 * keys.accuracy,
        "one-to-one": keys.one_to_one,
        "consistent": keys.consistent,
    }


def _broken_head(found: Measured) -> str:
    """Return a warning if a bijective model gives two letters one answer."""
    if not found.bijective or not found.may_collide:
        return ""
    return (
        f"{found.model} is bijective, but gives two letters one answer in {found.texts_collided:,} of {found.texts:,} "
        "texts. This is a bug in its head: its outputs are not always permutations."
    )


def _estimates(found: Measured, rng: np.random.Generator) -> dict[str, dict[str, Estimate]]:
    """Estimate every measure for each of the paper's length bins, and for all texts."""
    keys, bins = found.keys, length_bin(found.keys.lengths)
    parts = {name: bins == number for number, name in enumerate(bin_names())} | {ALL: bins >= 0}
    values = 100.0 * np.column_stack([keys.accuracy, keys.accuracy == 1, ~keys.one_to_one])  # (texts, measures)
    return {
        name: dict(zip(MEASURES, PairedBootstrap(values[part], rng).estimates, strict=True))
        for name, part in parts.items()
    }


def _summary(found: Measured, overall: dict[str, Estimate]) -> str:
    accuracy, whole, broken = overall.values()
    start = (
        f"{found.model} recovers {accuracy:.1f} % of the key letters in a text, "
        f"and all of them in {whole.mean:.1f} % of {accuracy.count:,} texts."
    )
    if not found.may_collide:
        return f"{start} None of its keys gives two letters one meaning; this was checked."
    return f"{start} The key that its answers imply is not one-to-one in {broken:.1f} % of them."


def _metrics(measured: Sequence[Measured], estimates: Estimates) -> list[Metric]:
    metrics = []
    for found in measured:
        model = found.model
        for name, value in estimates[model][ALL].items():
            metrics.append(Metric(name, value.mean, value.error, unit="%", model=model, label=MEASURES[name]))
        if found.bijective:
            of_all, label = 100 * float(found.keys.accuracy_of_all.mean()), "key letters right, of all 26"
            metrics.append(Metric("key-accuracy-of-26", of_all, unit="%", model=model, label=label))
        for kind, margin in zip(("wrong", "right"), found.mean_margins, strict=True):
            if margin is not None:
                metrics.append(Metric(f"margin-{kind}", margin, model=model, label=f"mean margin of {kind} letters"))
    return [*metrics, Metric("texts", measured[0].texts)]


def _length_table(estimates: Estimates) -> Table:
    names = [name.replace("-", "_") for name in MEASURES]
    rows: list[tuple[Any, ...]] = [
        (model, length, values["key-accuracy"].count, *(cell for value in values.values() for cell in value.cells))
        for model, lengths in estimates.items()
        for length, values in lengths.items()
        if values["key-accuracy"].count
    ]
    caption = (
        "Recovered keys by length of the text: the share of the letters in a text that are recovered, averaged over "
        "texts; texts in which all are; texts in which two letters are taken for the same one, or a letter for a space "
        "or a punctuation mark."
    )
    columns = ("model", "length", "texts", *(column for name in names for column in (name, f"{name}_error")))
    labels = {name: f"{label}, %" for name, label in zip(names, MEASURES.values(), strict=True)}
    return Table(columns, rows, caption, labels={"length": "characters", **labels})


def _length_figures(estimates: Estimates, colliding: Sequence[str]) -> dict[str, Figure]:
    """Draw key accuracy by length, and collisions where there may be any."""
    caption = "Share of a text's letters that are recovered"
    figures = {"accuracy": _length_figure(estimates, "key-accuracy", caption)}
    if colliding:
        caption = "Share of texts in which the implied key is not one-to-one"
        free = {model: estimates[model] for model in colliding}
        figures["not-one-to-one"] = _length_figure(free, "not-one-to-one", caption)
    return figures


def _length_figure(estimates: Estimates, measure: str, caption: str) -> Figure:
    names = [name for name in (*bin_names(), ALL) if any(parts[name][measure].count for parts in estimates.values())]
    means = {model: [parts[name][measure].mean for name in names] for model, parts in estimates.items()}
    errors = {model: [parts[name][measure].error for name in names] for model, parts in estimates.items()}
    y_title = f"{MEASURES[measure]}, %"
    drawn = bars(means, labels=names, errors=errors, x_title="characters in the text", y_title=y_title)
    drawn.update_yaxes(rangemode="tozero")
    return Figure(drawn, f"{caption}, by length of the text. Bars: one standard error.")


def _margin_names() -> list[str]:
    width = float(MARGINS[1] - MARGINS[0])
    return ["below 0", *(f"{low:.1f}-{low + width:.1f}" for low in MARGINS.tolist())]


def _margin_table(measured: Sequence[Measured]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for found in measured:
        margins = found.margins
        for place, name in enumerate(_margin_names()):
            if count := int(margins.whole[place]):
                share = 100 * count / float(margins.whole.sum())
                right, error = (blank_nan(100 * values[place]) for values in (margins.ratio, margins.error))
                rows.append((found.model, name, count, share, right, error))
    caption = (
        "Margin: probability of the answer minus that of the best other one, for every letter in every text. Below "
        "zero, a bijective head had to take less than its best."
    )
    labels = {"share": "% of letters", "right": "right, %"}
    return Table(("model", "margin", "letters", "share", "right", "right_error"), rows, caption, labels=labels)


def _margin_figure(measured: Sequence[Measured]) -> Figure:
    used = np.any([found.margins.whole > 0 for found in measured], axis=0)
    names = [name for name, wanted in zip(_margin_names(), used, strict=True) if wanted]
    right = {found.model: 100 * found.margins.ratio[used] for found in measured}
    errors = {found.model: 100 * found.margins.error[used] for found in measured}
    drawn = bars(right, labels=names, errors=errors, x_title="margin of the answer", y_title="letters right, %")
    return Figure(drawn, "How often letters are right, by how sure the model is of them. Bars: one standard error.")


def _collision_table(measured: Sequence[Measured]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for found in measured:
        order = np.argsort(-found.collisions, axis=None, kind="stable")[:MOST]
        broken = int((~found.keys.one_to_one).sum())
        for claimed, pair in zip(*np.unravel_index(order, found.collisions.shape), strict=True):
            if count := int(found.collisions[claimed, pair]):
                letters = (LETTERS[PAIRS[0, pair]], LETTERS[PAIRS[1, pair]])
                rows.append((found.model, LETTERS[claimed], *letters, count, 100 * count / broken))
    caption = "The pairs of true letters that are most often taken for the same letter."
    labels = {"first_letter": "true letter", "second_letter": "and true letter", "share": "% of keys not one-to-one"}
    columns = ("model", "taken_for", "first_letter", "second_letter", "texts", "share")
    return Table(columns, rows, caption, labels=labels)


def _text_tables(measured: Sequence[Measured]) -> dict[str, Table]:
    """Return the lines of the text that is drawn and, if there is any, of a text with a collision."""
    caption = "The text whose key is drawn. CAPITALS are letters that share their answer with another."
    tables = {"example": _text_table([(found.model, found.example) for found in measured], caption)}
    if collided := [(found.model, found.collided) for found in measured if found.collided is not None]:
        caption = "Of the texts with a collision, the one with the most of its key right. CAPITALS collide."
        tables["collision-example"] = _text_table(collided, caption)
    return tables


def _text_table(shown: Sequence[tuple[str, TextKey]], caption: str) -> Table:
    rows: list[tuple[Any, ...]] = []
    for model, text in shown:
        trace = text.trace
        lines = {"plaintext": trace.plain_ids, "ciphertext": trace.cipher_ids, "answer": trace.texts[-1]}
        rows += [(model, trace.title, line, _marked(text, ids)) for line, ids in lines.items() if ids is not None]
        rows.append((model, trace.title, "collisions", _collisions(text)))
    return Table(("model", "text", "line", "content"), rows, caption, monospace=("content",))


def _marked(text: TextKey, ids: Ints) -> str:
    trace = text.trace
    marked = np.isin(trace.cipher_ids, trace.alphabet.letter_ids[text.colliding])
    written = NO_SYMBOL + trace.alphabet.symbols
    symbols = (written[number] for number in ids)
    return "".join(symbol if mark else symbol.lower() for symbol, mark in zip(symbols, marked, strict=True))


def _collisions(text: TextKey) -> str:
    """List the cipher letters that claim the same plain letter, with what they really stand for."""
    key = text.trace.key
    listed = []
    for plain, ciphers in text.collisions.items():
        truth = "" if key is None else f" (really {' and '.join(LETTERS[key[cipher]] for cipher in ciphers)})"
        listed.append(f"{' and '.join(LETTERS[cipher] for cipher in ciphers)}{truth} are read as {LETTERS[plain]}")
    return "; ".join(listed) or "none"


def _key_figure(found: Measured) -> Figure:
    """Draw the key that was found over the true one and the model's probabilities."""
    text, trace, key = found.example, found.example.trace, found.example.key
    # What a linear head answers for an absent letter is its bias, which is not part of a key.
    drawn = (trace.seen | found.bijective) & (key != OTHER)
    collides = np.isin(np.arange(len(LETTERS)), text.colliding)
    marks = []
    if trace.key is not None:
        rows = np.flatnonzero(trace.seen)
        marks.append(Marks("true key", rows, trace.key[rows], "square-open", TRUE, 17))
    for kind, symbol in (("right", "square"), ("wrong", "circle"), ("found", "diamond")):
        for colliding, color in ((False, SINGLE), (True, COLLIDING)):
            rows = np.flatnonzero(drawn & (_verdicts(text) == kind) & (collides == colliding))
            marks.append(Marks(f"{kind}, colliding" if colliding else kind, rows, key[rows], symbol, color))
    figure = key_matrix(marks, LETTERS, shaded=np.flatnonzero(~trace.seen), weights=text.probabilities)
    truth = "Open squares are the true key" if trace.key is not None else "The true key is not known"
    orange = "" if not found.may_collide else " Orange: two letters of the text claim this plain letter."
    caption = (
        f"{found.model}, {trace.title}: the key that the model finds, over its probabilities (blue). {truth}."
        f"{orange} Shaded rows are letters that the text does not contain."
    )
    return Figure(figure, caption, _key_data(text))


def _verdicts(text: TextKey) -> Any:
    if text.trace.key is None:
        return np.full(len(LETTERS), "found")
    return np.where(text.key == text.trace.key, "right", "wrong")


def _key_data(text: TextKey) -> Table:
    trace = text.trace
    counts = [int((trace.cipher_ids == number).sum()) for number in trace.alphabet.letter_ids]
    rows = [
        (
            LETTERS[cipher],
            counts[cipher],
            ANSWERS[answer],
            None if trace.key is None else LETTERS[trace.key[cipher]],
            float(text.probabilities[cipher, answer]) if answer != OTHER else None,
            cipher in text.colliding,
        )
        for cipher, answer in enumerate(text.key.tolist())
    ]
    return Table(("cipher", "characters", "answer", "plain", "probability", "collides"), rows)
