"""The evidence in single texts: characters and words with heat, and a table of their symbols."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.plugins.builtin.evidence.measure import Example, Measured
from alice.reports import HeatText, Table, model_key
from alice.solving import NO_SYMBOL
from alice.statistics import Floats

FULL_COLOUR = 98
"""Percentile of the absolute weights that has the full colour, so that one extreme character does not pale the rest."""
DECIMALS = 4
"""Decimals of a score in nats; the arrays have all."""
BASELINES = {
    "mean": "the mean embedding",
    "zero": "embeddings of zero",
    "other-text": "the embeddings of another text with the same word lengths",
}
REMOVALS = {
    "mean": "its letters get the mean embedding",
    "mask": "no position attends to it and the head does not pool it",
    "word": "other words of its length take its place, under the same key",
}


def symbol_table(measured: Sequence[Measured]) -> Table:
    """Return a row for each symbol of the texts shown: its answer, what it is worth, and its most important word."""
    rows = [
        (found.model, example.case.title, *row)
        for found in measured
        for example in found.examples
        for row in _symbols(example)
    ]
    return Table(
        ("model", "text", "symbol", "answer", "right", "score", "baseline_score", "gap", "word", "loss"),
        rows,
        "The symbols of the texts above: the model's answer, the log-probability of the explained answer for the text "
        "and for the baseline in nats, how far the attributions are from their difference, and the word whose loss "
        "costs most.",
        labels={
            "right": "right answer",
            "score": "log-probability",
            "baseline_score": "at the baseline",
            "loss": "loss without it",
        },
        monospace=("symbol", "answer", "right", "word"),
        title="Symbols of the texts",
    )


def _symbols(example: Example) -> list[tuple[Any, ...]]:
    case, names = example.case, NO_SYMBOL + example.case.alphabet.symbols
    answer = dict(zip(case.ids.tolist(), example.output.tolist(), strict=True))
    right = case.answers.cpu().numpy()
    rows = []
    for number, symbol in enumerate(case.letters.tolist()):
        losses = example.losses[:, number]
        best = int(np.nanargmax(losses)) if not np.isnan(losses).all() else None
        word = None if best is None else "".join(names[one] for one in example.output[case.word_members[best]])
        difference = example.score[number] - example.start[number]
        gap = float(example.attributions[number].sum() - difference)
        cells = [round(float(value), DECIMALS) for value in (example.score[number], example.start[number], gap)]
        known = names[right[symbol]] if case.known else None
        loss = None if best is None else round(float(losses[best]), DECIMALS)
        rows.append((names[symbol], names[answer[symbol]], known, *cells, word, loss))
    return rows


def heat_texts(found: Measured) -> dict[str, HeatText]:
    """Return two texts with heat for each example: the evidence of its characters, and the loss without its words."""
    baseline, removal = BASELINES[found.settings.baseline], REMOVALS[found.settings.removal]
    texts = {}
    for example in found.examples:
        case, slug = example.case, example.case.title.replace(" ", "-")
        explained = "right answer" if case.known else "model's answer"
        whole = np.abs(example.attributions).sum(1, keepdims=True)
        shares = 100 * np.divide(example.attributions, whole, out=np.zeros_like(example.attributions), where=whole > 0)
        texts[model_key(f"evidence-{slug}", found.model)] = _heat_text(
            found.model,
            example,
            shares,
            f"what each character adds to the log-probability of the {explained}, by integrated gradients from "
            f"{baseline}",
            title="Evidence of characters",
            unit="%",
        )
        between = np.full((1, len(case.letters)), np.nan)
        texts[model_key(f"words-{slug}", found.model)] = _heat_text(
            found.model,
            example,
            np.vstack([example.losses, between])[case.words].T,  # word -1, between words, is the last row
            f"how much the log-probability of the {explained} falls without a word: {removal}",
            title="Loss without each word",
            unit="nats",
        )
    return texts


def _heat_text(model: str, example: Example, weights: Floats, what: str, *, title: str, unit: str) -> HeatText:
    """Return a text with weights by symbol, (letters, pos), above the model's answer."""
    case, symbols = example.case, NO_SYMBOL + example.case.alphabet.symbols
    by_symbol = {symbols[symbol]: row for symbol, row in zip(case.letters, weights, strict=True)}
    sizes = np.abs(weights[~np.isnan(weights)])
    return HeatText(
        case.alphabet.decode(case.ids),
        by_symbol or {"": np.full(len(case.ids), np.nan)},
        below="".join(symbols[one] for one in example.output),
        caption=f"{model}, {case.title}: {what}. The second line is the model's answer.",
        title=f"{title}, {model}, {case.title}",
        unit=unit,
        limit=float(np.percentile(sizes, FULL_COLOUR)) or None if len(sizes) else None,
    )
