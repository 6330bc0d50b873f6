"""What the account adds to the report: claims, the phase diagram, and measures along training."""

import math
from collections.abc import Sequence

import numpy as np

from alice.plugins.builtin.generalization.account import (
    CARRIED,
    LEARNED,
    READ,
    Account,
    best_mixture,
    predicted_threshold,
)
from alice.plugins.builtin.generalization.claims import Claim, Control
from alice.reports import Figure, Metric, Table
from alice.reports.figures import heatmap
from alice.reports.figures.panels import Panel, line_panels
from alice.statistics import Floats, blank_nan

SHOWN_SHARES = ("same symbol", "neighbours", "same word")
"""Kinds of attention that are drawn."""
ALL = "all"
SCALARS = (
    "accuracy_pool", "accuracy_new", "kl_pool_pool", "kl_pool_new", "kl_general_pool", "kl_general_new",
    "weight_norm",
)  # fmt: skip
"""Measures in the table of cells, besides those that are derived."""


def account_summary(account: Account, claims: Sequence[Claim]) -> str:
    """Return the claims by outcome, a sentence each."""
    sentences = [
        f"\n\nMeasured on {account.texts} texts: {len(account.pools)} pools, {len(account.seeds)} seeds and "
        f"{len(account.steps)} checkpoints of each training."
    ]
    for outcome, title in (("holds", "Hold"), ("does not hold", "Do not hold"), ("not decidable", "Not decidable")):
        if found := [f"{claim.text} ({_shown(claim)})" for claim in claims if claim.outcome == outcome]:
            sentences.append(f"{title}: {'; '.join(found)}.")
    return " ".join(sentences)


def _shown(claim: Claim) -> str:
    if math.isnan(claim.value):
        return "no statistic"
    unit = ""
    if claim.name == "threshold":
        unit = " keys"
        if claim.value in (0, math.inf):
            return "every limited pool reaches it" if claim.value == 0 else "no limited pool reaches it"
    value, low, high = (f"{one:.3g}".replace("inf", "∞") for one in (claim.value, claim.low, claim.high))
    return f"{value}{unit}" if math.isnan(claim.low) else f"{value}{unit}, {low} to {high}"


def account_caveats(account: Account) -> tuple[str, ...]:
    """Return how the account is to be read."""
    return (
        "The KL divergence from a reference to the network is the sum over plain letters of p log(p / q), where p is "
        "the reference and q the network, a mean over the letters of a text; that from the network to a mixture has p "
        "and q the other way round. The pool reference is exact, given the n-grams as prior on texts; the general one "
        f"is sampled, with an estimated error of {account.general_error:.3f} in total variation.",
        "A mixture explains as much of the network as its KL divergence from the network is below that of a "
        "uniform answer. Its weights at a pool and step are those of the neighbouring pools and steps; at least 1 "
        "% is a uniform answer, since the references give some letters almost no probability.",
        f"Intervals are bootstraps over {len(account.seeds)} seeds, which with few seeds are too narrow: with three "
        "they hardly go beyond the lowest and highest seed, and cover the true value in about three cases of four.",
        "Rise and decay are those after the first measurement of a training: what a network learns at first, such as "
        "spaces and the most frequent letter, needs no key.",
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


def account_headline(claims: Sequence[Claim]) -> str | None:
    """Return the metric to show first: the threshold, if there is one."""
    found = any(claim.name == "threshold" and math.isfinite(claim.value) for claim in claims)
    return "threshold" if found else None


def account_tables(account: Account, claims: Sequence[Claim], controls: Sequence[Control]) -> dict[str, Table]:
    """Return the claims, what other mixtures explain, and every cell of the phase diagram by seed."""
    return {"claims": _claims_table(claims), "mixtures": _mixtures_table(controls), "cells": _cells_table(account)}


def _claims_table(claims: Sequence[Claim]) -> Table:
    rows = [
        (claim.name, claim.text, claim.outcome, *map(_cell, (claim.value, claim.low, claim.high)), claim.side,
         _cell(claim.threshold), claim.statistic)
        for claim in claims
    ]  # fmt: skip
    columns = ("name", "claim", "outcome", "value", "low", "high", "side", "threshold", "statistic")
    caption = (
        "Each claim with its statistic, the 95 % interval over seeds and the threshold. It holds if the whole "
        "interval is on its side of the threshold, and does not hold if the whole interval is on the other side. "
        "Without a number, a threshold of pools is beyond them all, or the claim names its limits."
    )
    return Table(columns, rows, caption, {"side": "claimed to be", "low": "from", "high": "to"})


def _mixtures_table(controls: Sequence[Control]) -> Table:
    rows = [(one.name, one.text, *map(_cell, (one.value, one.low, one.high))) for one in controls]
    caption = (
        "Share of the KL divergence that mixtures explain on held-out pools and steps, with its 95 % interval over "
        "seeds: one reference instead of both, and both with the weights of each pool and step instead of its "
        "neighbours'."
    )
    return Table(("name", "mixture", "explained", "low", "high"), rows, caption, {"low": "from", "high": "to"})


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
    ignorance = best_mixture(account.mixtures)[..., 0]
    scalars |= {"label_depth": account.label_depth, "ignorance": ignorance, "pool_weight": _pool_weights(account)}
    rows = [
        (pool, seed, int(step), *(blank_nan(float(values[p, s, t])) for values in scalars.values()))
        for p, pool in enumerate(account.pools)
        for s, seed in enumerate(account.seeds)
        for t, step in enumerate(account.steps)
    ]
    caption = (
        "Measures of every checkpoint. Without a number, the pool has all keys. `kl_A_B` is the KL divergence from "
        "the reference A to the network under keys of kind B, in nats per letter; symmetry and same answers are "
        "those of the last layer; ignorance and pool weight belong to the nearest mixture of the references. There is "
        f"no label depth where fewer than {100 * READ:.0f} % of the letters are right under new keys."
    )
    return Table(("pool", "seed", "step", *scalars), rows, caption, {"pool": "keys in the pool"})


def _pool_weights(account: Account) -> Floats:
    """Return the weight of the pool reference in the nearest mixture, (pool, seed, step).

    NaN where it means nothing: the references are the same for a pool of all keys, and a mixture that is all ignorance
    contains neither.
    """
    limited = np.array([pool is not None for pool in account.pools])[:, None, None]
    lapses, weights = np.moveaxis(best_mixture(account.mixtures), -1, 0)
    return np.where(limited & (lapses < 1), weights, np.nan)


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
            "Inside the network. Symmetry: the share of the last layer's variance that two namings of a text have in "
            "common. Label depth: the layer at which the name of a cipher letter has become its meaning, where at "
            f"least {100 * READ:.0f} % of the letters are right under new keys. Weight norm: of all weights together.",
            ("symmetry", account.values("symmetry")[..., -1]),
            ("label depth", account.label_depth),
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
    known, new = account.letters_pool.mean(1), account.letters_new.mean(1)
    return np.where(known < LEARNED, "L", np.where(new >= CARRIED * known, "G", "M")).tolist()


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
        f"{100 * LEARNED:.0f} % of the letters are right even under keys of the pool. M, memorising: more, but fewer "
        f"than {100 * CARRIED:.0f} % of these carry over to new keys. G, generalising: the rest."
    )
    return Figure(drawn, caption)


def _weights(account: Account) -> Figure:
    drawn = heatmap(
        _mean(_pool_weights(account))[: len(account.sizes)],
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
        "behaves like one that knows the pool, 0 where it behaves like one that knows no key. A mean over seeds; empty "
        "where the nearest mixture is a uniform answer."
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
    drawn = line_panels(*panels)
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
        ("early exit", "exits_new"),
        ("symmetry", "symmetry"),
        ("same answers", "same_answers"),
    ):
        means = account.values(name)[:, :, -1].mean(1)
        lines = {f"{label} keys": (layers, means[place]) for place, label in enumerate(_labels(account))}
        panels.append(Panel(lines, "layer", "", title=title, y_range=(0, 1)))
    caption = (
        "The last checkpoint, layer by layer; layer 0 is the embedding. Early exit: the share of letters that are "
        "right under new keys if the network stops there. Symmetry: the share of the variance that two namings of a "
        "text have in common. Same answers: the share of letters that it reads alike under both."
    )
    return Figure(line_panels(*panels), caption)
