"""What the account adds to the report: claims, the phase diagram, and measures along training."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.plugins.builtin.generalization.account import CARRIED, LEARNED, Account, best_mixture, predicted_threshold
from alice.plugins.builtin.generalization.claims import Claim
from alice.reports import Figure, Metric, Table
from alice.reports.figures import heatmap
from alice.reports.figures.panels import Panel, line_panels
from alice.statistics import Floats, blank_nan

SHOWN_SHARES = ("same symbol", "neighbours", "same word")
"""Kinds of attention that are drawn."""
ALL = "all"
SCALARS = (
    "accuracy_pool", "accuracy_new", "kl_pool_pool", "kl_pool_new", "kl_general_pool", "kl_general_new",
    "label_depth", "weight_norm",
)  # fmt: skip
"""Measures in the table of cells, besides those that are derived."""


def account_summary(account: Account, claims: Sequence[Claim]) -> str:
    """Return the claims in a sentence each."""
    lines = [f"{claim.text}: {claim.outcome} ({_shown(claim)})" for claim in claims]
    return (
        f"\n\nFrom {len(account.pools)} pools, {len(account.seeds)} seeds and {len(account.steps)} checkpoints of each "
        f"training, on {account.texts} texts: {'; '.join(lines)}."
    )


def _shown(claim: Claim) -> str:
    if math.isnan(claim.value):
        return "no statistic"
    interval = "" if math.isnan(claim.low) else f", {claim.low:.3g} to {claim.high:.3g}"
    return f"{claim.value:.3g}{interval}"


def account_caveats(account: Account) -> tuple[str, ...]:
    """Return how the account is to be read."""
    return (
        "The KL divergence to a reference is that from the reference's distribution of each cipher letter to the "
        "network's, weighted by how often the letter occurs. The pool reference is exact, given the n-grams as "
        f"prior on texts; the general one is sampled, with an estimated error of {account.general_error:.3f} in "
        "total variation.",
        "A mixture explains as much of the network as its KL divergence from the network is below that of a "
        "uniform answer. Its weights at a pool and step are those of the neighbouring pools and steps; at least 1 "
        "% is a uniform answer, since the references give some letters almost no probability.",
        f"Intervals are bootstraps over {len(account.seeds)} seeds, which with few seeds are too narrow: with three "
        "they hardly go beyond the lowest and highest seed.",
        "The thresholds are fixed in the code. They were set after two short trials, on pools of 100 and 300 keys. "
        "A claim whose interval includes its threshold, or that has too few trainings, is not decidable.",
    )


def account_metrics(account: Account, claims: Sequence[Claim]) -> list[Metric]:
    """Return each claim's statistic, and the predicted threshold."""
    found = [Metric(f"claim-{claim.name}", claim.outcome, label=claim.text) for claim in claims]
    for claim in claims:
        if math.isfinite(claim.value):
            ends = (claim.low, claim.high) if math.isfinite(claim.low) and math.isfinite(claim.high) else None
            unit = "keys" if claim.name == "threshold" else ""
            found.append(Metric(claim.name, claim.value, interval=ends, unit=unit, label=claim.statistic))
    predicted = predicted_threshold(account)
    if math.isfinite(predicted):
        found.append(Metric("predicted-threshold", predicted, unit="keys", label="threshold predicted by small pools"))
    return found


def account_tables(account: Account, claims: Sequence[Claim]) -> dict[str, Table]:
    """Return the claims, and every cell of the phase diagram by seed."""
    return {"claims": _claims_table(claims), "cells": _cells_table(account)}


def _claims_table(claims: Sequence[Claim]) -> Table:
    rows = [
        (claim.name, claim.text, claim.statistic, *map(_cell, (claim.value, claim.low, claim.high)), claim.side,
         claim.threshold, claim.outcome)
        for claim in claims
    ]  # fmt: skip
    columns = ("name", "claim", "statistic", "value", "low", "high", "side", "threshold", "outcome")
    caption = (
        "Each claim with its statistic, the 95 % interval over seeds and the threshold. It holds if the whole "
        "interval is on its side of the threshold, and does not hold if the whole interval is on the other side."
    )
    return Table(columns, rows, caption, {"side": "claimed to be", "low": "from", "high": "to"})


def _cell(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _cells_table(account: Account) -> Table:
    scalars = {name: account.values(name) for name in SCALARS}
    scalars |= {
        "letters_pool": account.letters_pool,
        "letters_new": account.letters_new,
        "symmetry": account.values("symmetry")[..., -1],
        "same_answers": account.values("same_answers")[..., -1],
    }
    mixture = best_mixture(account.mixtures)
    scalars |= {"ignorance": mixture[..., 0], "pool_weight": np.where(_limited(account), mixture[..., 1], np.nan)}
    rows = [
        (pool, seed, int(step), *(blank_nan(float(values[p, s, t])) for values in scalars.values()))
        for p, pool in enumerate(account.pools)
        for s, seed in enumerate(account.seeds)
        for t, step in enumerate(account.steps)
    ]
    caption = (
        "Measures of every checkpoint. Without a number, the pool has all keys. `kl_A_B` is the KL divergence from "
        "the reference A to the network under keys of kind B, in nats per letter; symmetry and same answers are "
        "those of the last layer; ignorance and pool weight belong to the nearest mixture of the references."
    )
    return Table(("pool", "seed", "step", *scalars), rows, caption, {"pool": "keys in the pool"})


def _limited(account: Account) -> Any:
    """Return which pools are limited, (pool, 1, 1); the references are the same for a pool of all keys."""
    return np.array([pool is not None for pool in account.pools])[:, None, None]


def account_figures(account: Account) -> dict[str, Figure]:
    """Return the phase diagrams and the measures along training."""
    return {
        "phase-diagram": _phase_diagram(account),
        **({"pool-weight": _weights(account)} if len(account.sizes) else {}),
        "references": _along(
            account,
            "KL divergence from each reference to the network on new keys, nats per letter, a mean over seeds.",
            ("general reference", account.values("kl_general_new")),
            ("pool reference", account.values("kl_pool_new")),
        ),
        "inside": _along(
            account,
            "Inside the network: the share of the last layer's variance that two namings of a text have in common; the "
            "layer at which the name of a cipher letter has become its meaning; the norm of all weights.",
            ("shared by two namings", account.values("symmetry")[..., -1]),
            ("label depth, layers", account.values("label_depth")),
            ("weight norm", account.values("weight_norm")),
        ),
        "attention": _along(
            account,
            "How kinds of attention come about: by how much the foremost head looks at each more than uniform "
            "attention.",
            *((share, account.attention(share)) for share in SHOWN_SHARES),
        ),
        "layers": _layers(account),
    }


def phases(account: Account) -> list[list[str]]:
    """Return the letter of each cell's phase, a mean over seeds, by pool and step."""
    known, carried = account.letters_pool.mean(1), account.carried.mean(1)
    learning = known < LEARNED
    return np.where(learning, "L", np.where(carried >= CARRIED, "G", "M")).tolist()


def _labels(account: Account) -> list[str]:
    return [ALL if pool is None else f"{pool:,}" for pool in account.pools]


def _phase_diagram(account: Account) -> Figure:
    drawn = heatmap(
        account.letters_new.mean(1),
        x_labels=[f"{step:,}" for step in account.steps],
        y_labels=_labels(account),
        x_title="step",
        y_title="keys in the pool",
        value_title="accuracy on new keys",
        limits=(0, 1),
    )
    drawn.update_traces(text=phases(account), texttemplate="%{text}")
    drawn.update_yaxes(autorange=True)
    caption = (
        "Accuracy on letters under new keys, by pool and step, a mean over seeds. L, still learning: fewer than "
        f"{LEARNED:.0%} of the letters are right even under keys of the pool. M, memorising: more, but fewer than "
        f"{CARRIED:.0%} of these carry over to new keys. G, generalising: the rest."
    )
    return Figure(drawn, caption)


def _weights(account: Account) -> Figure:
    weights = np.where(_limited(account), best_mixture(account.mixtures)[..., 1], np.nan).mean(1)
    drawn = heatmap(
        weights[: len(account.sizes)],
        x_labels=[f"{step:,}" for step in account.steps],
        y_labels=_labels(account)[: len(account.sizes)],
        x_title="step",
        y_title="keys in the pool",
        value_title="weight of the pool reference",
        limits=(0, 1),
    )
    drawn.update_yaxes(autorange=True)
    caption = (
        "The weight of the pool reference in the mixture of both that is nearest to the network: 1 where it "
        "behaves like one that knows the pool, 0 where it behaves like one that knows no key. A mean over seeds."
    )
    return Figure(drawn, caption)


def _along(account: Account, caption: str, *measures: tuple[str, Floats]) -> Figure:
    """Draw measures, (pool, seed, step) each, against the step on a logarithmic scale, a line per pool."""
    later = account.steps > 0
    panels = []
    for title, values in measures:
        means = _mean(values)
        lines = {
            f"{label} keys": (account.steps[later], means[place][later]) for place, label in enumerate(_labels(account))
        }
        panels.append(Panel(lines, "step", "", title=title))
    drawn = line_panels(*panels, ordered=True)
    drawn.update_xaxes(type="log", dtick=1)  # at powers of ten
    return Figure(drawn, caption)


def _mean(values: Floats) -> Floats:
    """Return the mean over seeds that have a value, (pool, seed, ...) -> (pool, ...); NaN where none has."""
    present = ~np.isnan(values)
    sums = np.where(present, values, 0).sum(1)
    return np.divide(sums, present.sum(1), out=np.full(sums.shape, np.nan), where=present.any(1))


def _layers(account: Account) -> Figure:
    layers = np.arange(account.values("symmetry").shape[-1])
    panels = []
    for title, name in (
        ("early exit, new keys", "exits_new"),
        ("shared by two namings", "symmetry"),
        ("same answers", "same_answers"),
    ):
        means = account.values(name)[:, :, -1].mean(1)
        lines = {f"{label} keys": (layers, means[place]) for place, label in enumerate(_labels(account))}
        panels.append(Panel(lines, "layer", "", title=title, y_range=(0, 1)))
    caption = (
        "The last checkpoint, layer by layer; layer 0 is the embedding. Share of letters that are right if the network "
        "stops there; share of the variance that two namings of a text have in common; share of letters that it reads "
        "alike under both."
    )
    return Figure(line_panels(*panels, ordered=True), caption)
