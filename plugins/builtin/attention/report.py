"""The result of the attention analysis: kinds of head, statistics against uniform attention, maps of one text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.plugins.builtin.attention.measure import Floats32, Measured, TextMaps
from alice.plugins.builtin.attention.statistics import SHARES, STATISTICS
from alice.reports import Figure, Metric, Result, Table, model_key
from alice.reports.figures import heatmap, slider
from alice.reports.figures.maps import character_map, tiled_maps
from alice.statistics import Estimate, PairedBootstrap

FARTHEST = 4.0
"""Ends of the colour scale, in powers of two: 16 times uniform attention, and a sixteenth of it."""
NUMBERING = "L0H3 is head 3 of block 0 (blocks.0)."
UNITS = {"entropy": "bits", "distance": "characters"}
UNIFORM = "uniform attention"
"""What the tables have in the column `kind` for the baseline."""
SHARE_LABELS = {
    "self": "itself",
    "same symbol": "the same symbol",
    "neighbours": "neighbours",
    "same word": "the same word",
    "word boundaries": "word boundaries",
}
COLUMNS = [name.replace(" ", "_") for name in STATISTICS]
CAVEATS = (
    "Where a head looks says neither what it does with what it finds there nor whether the answer depends on it; the "
    "paper, too, calls attention maps an unreliable indicator of input importance.",
    "Queries are the letters of a text, keys all its characters. The shares overlap: a neighbour is usually in the "
    "same word, so they do not add up to one.",
    "Kinds are clusters of these heads by these statistics alone. A silhouette below 0.5 means that they are not well "
    "separated; another choice of statistics may give other kinds.",
    "Errors are one standard error from a Bayesian bootstrap over texts; they do not cover other trainings.",
)
Estimates = dict[int, list[Estimate]]
"""Each of STATISTICS for every head, sorted by kind."""


def report(heads: Measured, maps: TextMaps, chosen: Sequence[int] | None, *, rng: np.random.Generator) -> Result:
    """Build the result; maps are drawn of the chosen heads, or of one head of each kind."""
    drawn = [kind.representative for kind in heads.kinds] if chosen is None else list(chosen)
    found = PairedBootstrap(heads.values.reshape(len(heads.values), -1).astype(np.float64), rng).estimates
    estimates = {head: found[head * len(STATISTICS) : (head + 1) * len(STATISTICS)] for head in heads.kind_of}
    flat = maps.patterns.reshape(-1, *maps.patterns.shape[2:])  # (head, query, key)
    figures = {
        "heads": _heads_figure(heads, estimates),
        "all-maps": _all_maps_figure(heads, maps),
        "maps": _maps_figure(heads, maps, flat, drawn),
    }
    arrays: dict[str, Any] = {
        "statistics": heads.values,
        "uniform": heads.uniform,
        "maps": flat[drawn],
        "map-heads": np.array([heads.place(head) for head in drawn], dtype=np.int64),
    }
    return Result(
        title="Attention",
        summary=_summary(heads),
        caveats=CAVEATS,
        metrics=_metrics(heads),
        tables={
            "kinds": _kinds_table(heads),
            "extremes": _extremes_table(heads),
            "heads": _heads_table(heads, estimates),
        },
        figures={model_key(name, heads.model): figure for name, figure in figures.items()},
        arrays={model_key(name, heads.model): array for name, array in arrays.items()},
    )


def _summary(heads: Measured) -> str:
    counted = ", ".join(f"{kind.name} ({len(kind.heads)})" for kind in heads.kinds)
    several = "s" if len(heads.kinds) > 1 else ""
    return (
        f"Where each of the {heads.values.shape[1]} heads of {heads.model} looks, over {len(heads.values):,} texts, "
        "compared with uniform attention on the same texts. By these statistics the heads fall into "
        f"{len(heads.kinds)} kind{several}, named after what exceeds uniform attention most: {counted}."
    )


def _metrics(heads: Measured) -> list[Metric]:
    model, means = heads.model, heads.means
    metrics = [
        Metric("kinds", len(heads.kinds), model=model, label="kinds of head"),
        Metric("heads", len(means), model=model),
        Metric("silhouette", heads.silhouette, model=model),
    ]
    for name in SHARES:
        largest, label = float(means[:, STATISTICS.index(name)].max()), f"largest share on {SHARE_LABELS[name]}"
        metrics.append(Metric(f"most-{name.replace(' ', '-')}", largest, model=model, label=label))
    return [*metrics, Metric("texts", len(heads.values))]


def _extremes_table(heads: Measured) -> Table:
    """Return the heads with the smallest and the largest mean of each statistic."""
    rows = [
        (heads.model, name, end, *heads.place(int(place)), float(means[place]), float(uniform))
        for name, means, uniform in zip(STATISTICS, heads.means.T, heads.uniform_means, strict=True)
        for end, place in (("smallest", means.argmin()), ("largest", means.argmax()))
    ]
    caption = (
        "The heads with the smallest and the largest mean of each statistic, next to uniform attention. Entropy is in "
        "bits, distance in characters, the rest are shares of the attention. Blocks and heads count from 0."
    )
    return Table(("model", "statistic", "extreme", "block", "head", "mean", "uniform"), rows, caption)


def _kinds_table(heads: Measured) -> Table:
    means = heads.means
    rows: list[tuple[Any, ...]] = [
        (
            heads.model,
            kind.name,
            len(kind.heads),
            heads.label(kind.representative),
            *means[list(kind.heads)].mean(0).tolist(),
        )
        for kind in heads.kinds
    ]
    rows.append((heads.model, UNIFORM, None, None, *heads.uniform_means.tolist()))
    caption = (
        "The kinds: how many heads each has, its most typical head, and the means of the statistics: entropy in bits, "
        f"distance in characters, the rest shares of the attention. {NUMBERING}"
    )
    return Table(("model", "kind", "heads", "typical", *COLUMNS), rows, caption, labels={"typical": "typical head"})


def _heads_table(heads: Measured, estimates: Estimates) -> Table:
    kind_of = heads.kind_of
    rows: list[tuple[Any, ...]] = [
        (heads.model, *heads.place(head), kind_of[head], *(cell for estimate in found for cell in estimate.cells))
        for head, found in estimates.items()
    ]
    baseline = [cell for value in heads.uniform_means.tolist() for cell in (value, None)]
    rows.append((heads.model, None, None, UNIFORM, *baseline))
    statistics = [column for name in COLUMNS for column in (name, f"{name}_error")]
    caption = f"Every head, sorted by kind: means over {len(heads.values):,} texts. The last row is uniform attention."
    return Table(("model", "block", "head", "kind", *statistics), rows, caption)


def _heads_figure(heads: Measured, estimates: Estimates) -> Figure:
    kind_of, uniform = heads.kind_of, heads.uniform_means
    means = np.array([[estimate.mean for estimate in found] for found in estimates.values()])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log2(means / uniform)  # NaN, which is drawn blank, where both are zero
    drawn = heatmap(
        np.clip(ratios, -FARTHEST, FARTHEST),
        x_labels=STATISTICS,
        y_labels=[f"{kind} · {heads.label(head)}" for head, kind in kind_of.items()],
        value_title="times uniform attention",
        limits=(-FARTHEST, FARTHEST),
        diverging=True,
    )
    bar = {"tickvals": [-4, -2, 0, 2, 4], "ticktext": ["1/16", "1/4", "1", "4", "16"]}
    tip = "%{y}<br>%{x}: <b>%{customdata[0]:.3f}</b><br>uniform: %{customdata[1]:.3f}<extra></extra>"
    both = np.stack([means, np.broadcast_to(uniform, means.shape)], axis=-1)
    drawn.update_traces(colorbar=bar, customdata=both, hovertemplate=tip)
    lines = [name.replace(" ", "<br>") for name in STATISTICS]
    axis = {"side": "top", "tickangle": 0, "tickvals": list(range(len(lines))), "ticktext": lines}
    drawn.update_layout(height=min(1600, 140 + 20 * len(means)), xaxis=axis)
    rows = [
        (*heads.place(head), kind_of[head], name, UNITS.get(name, "share"), *estimate.cells, float(baseline))
        for head, found in estimates.items()
        for name, estimate, baseline in zip(STATISTICS, found, uniform, strict=True)
    ]
    columns = ("block", "head", "kind", "statistic", "unit", "mean", "mean_error", "uniform")
    caption = (
        "Statistics of every head divided by those of uniform attention, heads sorted by kind: blue is more, orange "
        f"less. {NUMBERING}"
    )
    return Figure(drawn, caption, Table(columns, rows))


def _all_maps_figure(heads: Measured, maps: TextMaps) -> Figure:
    # Blocks run across, (head, block, query, key): tall columns would take long to scroll.
    across = maps.patterns.swapaxes(0, 1)
    rows, columns = ([f"{letter}{place}" for place in range(across.shape[axis])] for axis, letter in enumerate("HL"))
    drawn = tiled_maps(across, row_labels=rows, column_labels=columns)
    caption = (
        f"All heads at a glance, {maps.title}: L0 is the first block. In each square queries run down and keys to the "
        "right. Each row is divided by its largest weight, so a head with uniform attention is dark all over."
    )
    kind_of = heads.kind_of
    data = [(*heads.place(head), kind_of[head]) for head in sorted(kind_of)]
    return Figure(drawn, caption, Table(("block", "head", "kind"), data))


def _maps_figure(heads: Measured, maps: TextMaps, flat: Floats32, drawn: Sequence[int]) -> Figure:
    kind_of = heads.kind_of
    steps = {f"{heads.label(head)}, {kind_of[head]}": character_map(flat[head], maps.text) for head in drawn}
    rows = [
        (*heads.place(head), query, maps.text[query], key, maps.text[key], float(flat[head, query, key]))
        for head in drawn
        for query, key in enumerate(flat[head].argmax(-1).tolist())
    ]
    columns = ("block", "head", "query", "query_character", "strongest_key", "key_character", "weight")
    caption = (
        f"Row-normalised maps, {maps.title}: each row, the attention of one character, is divided by its largest "
        "weight. Hover over a cell to see the weight itself. The CSV file has the strongest key of every query, "
        "arrays.npz the maps."
    )
    return Figure(slider(steps, prefix="head "), caption, Table(columns, rows))
