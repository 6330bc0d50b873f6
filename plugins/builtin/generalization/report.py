"""The result of the generalization analysis: a curve, a row and a bar for each pool of keys."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from alice.plugins.builtin.training_curves import smooth
from alice.plugins.reproduce import paper
from alice.reports import Figure, Result, Table
from alice.reports.figures import bars
from alice.reports.panels import Panel, line_panels
from alice.statistics import Floats
from alice.training.records import Found, RunRecord, differences

CAVEATS = (
    "The gap is the geometric mean of the probability of each right character in training, exp(-loss), less the "
    "accuracy on unseen keys. It is no difference of two accuracies: a run that generalises has a gap near or below 0, "
    "a run that knows its keys by heart a large one.",
    "One run for each pool, one seed: where the step between two pools lies is known no better than they are apart.",
    "A pool that fails after few steps may not fail after many; the paper trained an 85M model for 50,000 steps.",
)


@dataclass(frozen=True, eq=False)
class Pool:
    """One run, as the report tells it."""

    label: str
    """What figures call it."""
    size: int | None
    """Keys in its pool; None for all."""
    run: RunRecord
    loss: Floats
    """Smoothed training loss, (points,)."""
    accuracy: Floats
    """Share of right characters under unseen keys, (points,)."""

    @property
    def final_loss(self) -> float:
        """The last smoothed loss."""
        return float(self.loss[-1])

    @property
    def final_accuracy(self) -> float | None:
        """The last accuracy, if any was measured."""
        return float(self.accuracy[-1]) if len(self.accuracy) else None

    @property
    def gap(self) -> float | None:
        """How much better it does on what it is trained on."""
        return None if self.final_accuracy is None else math.exp(-self.final_loss) - self.final_accuracy


def report(found: Found, *, window: int, threshold: float) -> Result:
    """Put the runs into a result."""
    pools = _pools(found.runs, window)
    reached = [pool for pool in pools if (pool.final_accuracy or 0) >= threshold]
    drawn = {"training": _curves(pools, window)}
    best = max((pool.final_accuracy for pool in pools if pool.final_accuracy is not None), default=None)
    smallest = _words(reached[0].size) if reached else "none" if best is not None else "not measured"
    return Result(
        title="Generalization",
        summary=_summary(pools, reached, threshold),
        caveats=(*differences(found.runs, besides=["cipher_pool"]), *found.notes, *CAVEATS),
        metrics={
            f"smallest pool with {100 * threshold:g} % on unseen keys": smallest,
            **({"best accuracy on unseen keys": best} if best is not None else {}),
            "runs": len(pools),
        },
        tables={"pools": _table(pools), "paper": _paper_table(pools, threshold)},
        figures=drawn if best is None else drawn | {"final-accuracy": _final(pools)},
        arrays=_arrays(pools),
    )


def _pools(runs: Sequence[RunRecord], window: int) -> list[Pool]:
    ordered = sorted(runs, key=lambda run: run.recipe.cipher_pool or math.inf)
    sizes = [run.recipe.cipher_pool for run in ordered]
    return [
        Pool(
            f"{_words(size)} keys" + (f", {run.name}" if sizes.count(size) > 1 else ""),
            size,
            run,
            smooth(run.loss.values, window),
            1 - run.error.values,
        )
        for size, run in zip(sizes, ordered, strict=True)
    ]


def _words(size: int | None) -> str:
    return "all" if size is None else f"{size:,}"


def _summary(pools: Sequence[Pool], reached: Sequence[Pool], threshold: float) -> str:
    lines = [
        f"{pool.label}: loss {pool.final_loss:.3f}, accuracy {pool.final_accuracy:.3f}"
        for pool in pools
        if pool.final_accuracy is not None
    ]
    wanted = f"{100 * threshold:g} % of the characters right under keys that they were not trained on"
    if reached:
        failing = [
            pool
            for pool in pools
            if pool.final_accuracy is not None and (pool.size or math.inf) < (reached[0].size or math.inf)
        ]
        after = (
            f"the next smaller one here, {failing[-1].label}, does not" if failing else "no smaller one was measured"
        )
        verdict = f"The smallest pool whose run gets {wanted} has {reached[0].label}; {after}."
    elif not lines:
        verdict = "Accuracy is measured every --eval-every steps of a training."
    else:
        verdict = f"No run gets {wanted}."
    return (
        f"Each run was trained on a fixed pool of keys and measured on held-out texts under other keys. "
        f"At the end: {'; '.join(lines) or 'nothing was measured yet'}. {verdict}\n\n"
        f"In the paper generalization emerges between {paper.LARGEST_POOL_THAT_FAILS:,} and "
        f"{paper.SMALLEST_POOL_THAT_GENERALIZES:,} keys, for its model of 85M parameters after "
        f"{paper.GENERALIZATION_STEPS:,} steps: every pool reaches a low training loss, those that fail much sooner."
    )


def _curves(pools: Sequence[Pool], window: int) -> Figure:
    losses = {pool.label: (pool.run.loss.steps, pool.loss) for pool in pools}
    accuracies = {pool.label: (pool.run.error.steps, pool.accuracy) for pool in pools}
    drawn = line_panels(
        Panel(losses, "step", "training loss", title="Training: keys of the pool"),
        Panel(accuracies, "step", "accuracy", title="Validation: keys never seen", y_range=(0, 1)),
    )
    caption = (
        "Left: training loss (nats a character), smoothed with a Savitzky-Golay filter over at most "
        f"{window} logged values. Right: accuracy on held-out texts under keys outside the pool."
    )
    return Figure(drawn, caption, _curve_data(pools))


def _final(pools: Sequence[Pool]) -> Figure:
    measured = [pool for pool in pools if pool.final_accuracy is not None]
    values = {
        "exp(-training loss)": [math.exp(-pool.final_loss) for pool in measured],
        "accuracy on unseen keys": [pool.final_accuracy or 0.0 for pool in measured],
    }
    drawn = bars(values, labels=[pool.label for pool in measured], x_title="pool", y_title="")
    drawn.update_yaxes(range=[0, 1])
    return Figure(drawn, "The last value of each run: how sure it is in training, and how often it is right elsewhere.")


def _table(pools: Sequence[Pool]) -> Table:
    columns = ("pool", "run", "steps", "training loss", "accuracy", "best accuracy", "at step", "gap", "texts")
    rows = []
    for pool in pools:
        best = int(np.argmax(pool.accuracy)) if len(pool.accuracy) else None
        at_best = (None, None) if best is None else (float(pool.accuracy[best]), int(pool.run.error.steps[best]))
        final = (int(pool.run.loss.steps[-1]), pool.final_loss, pool.final_accuracy)
        rows.append((_words(pool.size), pool.run.name, *final, *at_best, pool.gap, pool.run.recipe.eval_texts))
    caption = (
        "Smoothed training loss, and accuracy on unseen keys, at the end; the best accuracy on the way; and the gap, "
        "exp(-training loss) less the accuracy, which is large where the pool is known by heart. Last, the number of "
        "held-out texts that accuracy is measured on."
    )
    return Table(columns, rows, caption=caption)


def _paper_table(pools: Sequence[Pool], threshold: float) -> Table:
    """Put what the paper says of its pools beside what we found for ours."""
    sizes = sorted({*paper.GENERALIZATION_POOLS, *(pool.size or math.inf for pool in pools)})
    rows = []
    for size in sizes:
        theirs = None
        if size in paper.GENERALIZATION_POOLS:
            theirs = "yes" if size >= paper.SMALLEST_POOL_THAT_GENERALIZES else "no"
        ours = [pool.final_accuracy for pool in pools if (pool.size or math.inf) == size]
        best = max((value for value in ours if value is not None), default=None)
        verdict = None if best is None else "yes" if best >= threshold else "no"
        rows.append((_words(None if size == math.inf else int(size)), theirs, verdict, best))
    caption = (
        f"The paper: its {paper.GENERALIZATION_PRESET.upper()} model, {paper.GENERALIZATION_STEPS:,} steps, as its "
        f"text says. Ours: {100 * threshold:g} % of the characters right under unseen keys."
    )
    return Table(("pool", "generalises in the paper", "generalises here", "our accuracy"), rows, caption=caption)


def _curve_data(pools: Sequence[Pool]) -> Table:
    rows: list[tuple[str, int, float | None, float | None, float | None]] = []
    for pool in pools:
        losses = zip(pool.run.loss.steps, pool.run.loss.values, pool.loss, strict=True)
        rows += [(pool.label, int(step), float(raw), float(smoothed), None) for step, raw, smoothed in losses]
        measured = zip(pool.run.error.steps, pool.accuracy, strict=True)
        rows += [(pool.label, int(step), None, None, float(accuracy)) for step, accuracy in measured]
    return Table(("pool", "step", "training loss", "smoothed", "accuracy on unseen keys"), rows)


def _arrays(pools: Sequence[Pool]) -> dict[str, Floats]:
    arrays: dict[str, Floats] = {}
    for number, pool in enumerate(pools, start=1):
        arrays[f"loss-{number}"] = np.stack([pool.run.loss.steps, pool.run.loss.values, pool.loss])
        arrays[f"accuracy-{number}"] = np.stack([pool.run.error.steps, pool.accuracy])
    return arrays
