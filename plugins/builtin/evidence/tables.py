"""The tables of the evidence analysis over texts: shares by place, deletion curves, and words left out."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.plugins.builtin.evidence.attribution import FRACTIONS
from alice.plugins.builtin.evidence.case import PLACES
from alice.plugins.builtin.evidence.measure import ORDERS
from alice.plugins.builtin.evidence.summed import Summed
from alice.plugins.builtin.evidence.texts import REMOVALS
from alice.reports import Table
from alice.statistics import blank_nan

FEW = 0.2
"""Share of the characters up to which the early area is taken: with more deleted, every order has spoilt the text."""


def share_table(every: Sequence[Summed]) -> Table:
    """Return the share of the evidence at each place, beside its controls."""
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


def control_table(every: Sequence[Summed]) -> Table:
    """Return how much the shares differ from those of the controls."""
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


def area_table(every: Sequence[Summed]) -> Table:
    """Return the areas between pairs of deletion curves."""
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


def curve_table(every: Sequence[Summed]) -> Table:
    """Return the deletion curves in numbers."""
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


def word_table(every: Sequence[Summed]) -> Table:
    """Return what leaving out a word costs, and how far that agrees with the evidence."""
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
