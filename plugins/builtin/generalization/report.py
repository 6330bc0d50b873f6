"""The result of the generalization analysis: a curve, a row and a bar for each pool of keys."""

import math
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from alice.plugins import paper
from alice.plugins.builtin.generalization.account import Account
from alice.plugins.builtin.generalization.claims import Claim, Control
from alice.plugins.builtin.generalization.measure import Pool, Pools
from alice.plugins.builtin.generalization.phases import (
    account_caveats,
    account_figures,
    account_headline,
    account_metrics,
    account_summary,
    account_tables,
)
from alice.reports import Figure, Metric, Result, Table, model_key
from alice.reports.figures import bars
from alice.reports.figures.panels import Panel, line_panels

CAVEATS = (
    "The gap is the geometric mean of the probability of each correct character in training, exp(-loss), minus the "
    "accuracy on unseen keys. It is not a difference of two accuracies: a training that generalises has a gap near or "
    "below 0, one that memorised its keys a large one.",
    "A pool that fails after few steps may succeed after many; the paper trained an 85M model for 50,000 steps.",
)
ONE_SEED = "There is one training with one seed for each pool, so the threshold is only bracketed by two pools."
NO_MEASURES = (
    "The trainings have no measures of checkpoints along training, so there is no phase diagram and no claim is "
    "tested: train with `--keep-steps` and several `--seeds`, then run `alice-interp sweep measure`."
)
ALL = "all"
"""Marks an unlimited pool in figures."""
UNLIMITED = "Without a number, the pool has all keys."


def report(
    found: Pools,
    threshold: float,
    *,
    window: int,
    account: Account | None = None,
    claims: Sequence[Claim] = (),
    controls: Sequence[Control] = (),
) -> Result:
    """Put the trainings into a result, with the account of their checkpoints if there is one."""
    pools = found.merged
    reached = [pool for pool in pools if (pool.final_accuracy or 0) >= threshold]
    best = max((pool.final_accuracy for pool in pools if pool.final_accuracy is not None), default=None)
    seeds = "" if len(pools) == len(found.pools) else " Means over seeds."
    figures = {"training": _curves(pools, window, seeds, _curve_data(found.pools))}
    if best is not None:
        figures |= {"final-accuracy": _final(pools, seeds)}
    result = Result(
        title="Generalization",
        summary=_summary(pools, reached, threshold),
        caveats=(*found.notes, *CAVEATS, *([] if seeds else [ONE_SEED])),
        metrics=[*_metrics(reached, best, threshold), Metric("trainings", len(found.pools))],
        tables={"pools": _table(found.pools), "paper": _paper_table(pools, threshold)},
        figures=figures,
        arrays=_arrays(found.pools),
    )
    if account is None:
        return replace(result, caveats=(*result.caveats, NO_MEASURES))
    return replace(
        result,
        summary=result.summary + account_summary(account, claims),
        caveats=(*result.caveats, *account_caveats(account)),
        metrics=[*result.metrics, *account_metrics(account, claims)],
        headline=account_headline(claims),
        tables=account_tables(account, claims, controls) | dict(result.tables),
        figures=dict(result.figures) | account_figures(account),
    )


def _metrics(reached: Sequence[Pool], best: float | None, threshold: float) -> list[Metric]:
    """Return what was measured; without a pool of limited size that generalises there is no smallest one."""
    found, wanted = [], f"{100 * threshold:g} % on unseen keys"
    if reached and reached[0].size is not None:
        found.append(Metric("smallest-pool", reached[0].size, unit="keys", label=f"smallest pool with {wanted}"))
    if best is not None:
        found.append(Metric("generalises", bool(reached), label=f"any pool with {wanted}"))
        found.append(Metric("best-accuracy", best, label="best final accuracy on unseen keys"))
    return found


def _labels(pools: Sequence[Pool]) -> list[str]:
    """Return what figures call each pool; the name of the training tells equal pools apart."""
    sizes = [pool.size for pool in pools]
    return [
        (f"{ALL} keys" if pool.size is None else f"{pool.size:,} keys")
        + (f", {pool.training}" if sizes.count(pool.size) > 1 else "")
        for pool in pools
    ]


def _summary(pools: Sequence[Pool], reached: Sequence[Pool], threshold: float) -> str:
    labels = dict(zip(pools, _labels(pools), strict=True))
    measured = [pool for pool in pools if pool.final_accuracy is not None]
    ends = [f"{labels[pool]}: loss {pool.final_loss:.3f}, accuracy {pool.final_accuracy:.3f}" for pool in measured]
    wanted = f"{100 * threshold:g} % of the characters right under keys outside the pool"
    if reached:
        smaller = [pool for pool in measured if (pool.size or math.inf) < (reached[0].size or math.inf)]
        after = f"the next smaller one, {labels[smaller[-1]]}, does not" if smaller else "no smaller one was measured"
        verdict = f"The smallest pool that gets {wanted} has {labels[reached[0]]}; {after}."
    elif measured:
        verdict = f"No training gets {wanted}."
    else:
        verdict = "Accuracy is measured every --eval-every steps of a training."
    return (
        "Each model was trained on a fixed pool of keys and measured on held-out texts under other keys. "
        f"At the end: {'; '.join(ends) or 'nothing was measured yet'}. {verdict}\n\n"
        f"In the paper generalization emerges between {paper.LARGEST_POOL_THAT_FAILS:,} and "
        f"{paper.SMALLEST_POOL_THAT_GENERALIZES:,} keys, for its model of 85M parameters after "
        f"{paper.GENERALIZATION_STEPS:,} steps. Every pool reaches a low training loss, and those that fail reach it "
        "much sooner."
    )


def _curves(pools: Sequence[Pool], window: int, seeds: str, data: Table) -> Figure:
    labels = _labels(pools)
    losses = {label: (pool.loss_steps, pool.loss) for label, pool in zip(labels, pools, strict=True)}
    accuracies = {label: (pool.accuracy_steps, pool.accuracy) for label, pool in zip(labels, pools, strict=True)}
    drawn = line_panels(
        Panel(losses, "step", "training loss", title="keys of the pool"),
        Panel(accuracies, "step", "accuracy", title="unseen keys", y_range=(0, 1)),
    )
    caption = (
        "Left: training loss (nats per character), smoothed with a Savitzky-Golay filter over at most "
        f"{window} logged values. Right: accuracy on held-out texts under keys outside the pool.{seeds}"
    )
    return Figure(drawn, caption, data)


def _curve_data(pools: Sequence[Pool]) -> Table:
    rows: list[tuple[Any, ...]] = []
    for pool in pools:
        of = (pool.training, pool.size)
        losses = zip(pool.loss_steps, pool.raw_loss, pool.loss, strict=True)
        rows += [(*of, int(step), float(raw), float(smoothed), None) for step, raw, smoothed in losses]
        measured = zip(pool.accuracy_steps, pool.accuracy, strict=True)
        rows += [(*of, int(step), None, None, float(accuracy)) for step, accuracy in measured]
    return Table(("model", "pool", "step", "training_loss", "smoothed_loss", "accuracy"), rows)


def _final(pools: Sequence[Pool], seeds: str) -> Figure:
    measured = [pool for pool in pools if pool.final_accuracy is not None]
    values = {
        "exp(-training loss)": [pool.confidence for pool in measured],
        "accuracy on unseen keys": [pool.final_accuracy or 0.0 for pool in measured],
    }
    drawn = bars(values, labels=_labels(measured), x_title="pool", y_title="")
    drawn.update_yaxes(range=[0, 1])
    caption = f"The end of each training: its confidence on training keys, its accuracy on unseen ones.{seeds}"
    return Figure(drawn, caption)


def _table(pools: Sequence[Pool]) -> Table:
    columns = (
        "model", "pool", "steps", "training_loss", "accuracy", "best_accuracy", "best_step", "gap", "texts",
    )  # fmt: skip
    rows = [
        (
            pool.training,
            pool.size,
            int(pool.loss_steps[-1]),
            pool.final_loss,
            pool.final_accuracy,
            *(pool.best or (None, None)),
            pool.gap,
            pool.eval_texts,
        )
        for pool in pools
    ]
    caption = (
        "The end of each training: smoothed loss and accuracy on unseen keys; the best accuracy on the way; the gap, "
        "exp(-training loss) minus accuracy, which is large where the pool was memorised; and the number of held-out "
        f"texts that accuracy is measured on. {UNLIMITED}"
    )
    return Table(columns, rows, caption, {"model": "training", "pool": "keys in the pool", "best_step": "at step"})


def _paper_table(pools: Sequence[Pool], threshold: float) -> Table:
    """Compare the pools of the paper with ours."""
    sizes = sorted({*paper.GENERALIZATION_POOLS, *(pool.size or math.inf for pool in pools)})
    rows = []
    for size in sizes:
        theirs = size >= paper.SMALLEST_POOL_THAT_GENERALIZES if size in paper.GENERALIZATION_POOLS else None
        ours = [pool.final_accuracy for pool in pools if (pool.size or math.inf) == size]
        best = max((value for value in ours if value is not None), default=None)
        rows.append(
            (None if size == math.inf else int(size), theirs, None if best is None else best >= threshold, best)
        )
    caption = (
        f"The paper: its {paper.GENERALIZATION_PRESET.upper()} model after {paper.GENERALIZATION_STEPS:,} steps. Ours: "
        f"{100 * threshold:g} % of the characters right under unseen keys. {UNLIMITED}"
    )
    labels = {
        "pool": "keys in the pool",
        "generalises_in_paper": "generalises in the paper",
        "generalises": "generalises here",
        "accuracy": "our accuracy",
    }
    return Table(tuple(labels), rows, caption, labels)


def _arrays(pools: Sequence[Pool]) -> dict[str, Any]:
    arrays: dict[str, Any] = {}
    for pool in pools:
        arrays[model_key("loss-steps", pool.training)] = pool.loss_steps
        arrays[model_key("loss", pool.training)] = pool.raw_loss
        arrays[model_key("smoothed-loss", pool.training)] = pool.loss
        arrays[model_key("accuracy-steps", pool.training)] = pool.accuracy_steps
        arrays[model_key("accuracy", pool.training)] = pool.accuracy
    return arrays
