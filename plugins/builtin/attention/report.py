"""The result of the attention analysis: kinds of head, statistics beside uniform attention, maps of one text."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from alice.plugins.builtin.attention.kinds import Kind, find_kinds
from alice.plugins.builtin.attention.measure import Heads, TextMaps
from alice.plugins.builtin.attention.statistics import SHARES, STATISTICS
from alice.reports import Figure, Result, Table
from alice.reports.figures import heatmap, slider
from alice.reports.maps import character_map, tiled_maps
from alice.statistics import Estimate, bayesian_bootstrap

FARTHEST = 4.0
"""Where the colours end: 16 times uniform attention, or a sixteenth of it."""
COUNTING = "L0H3 is head 3 of block 0, the first (early-exit calls the stream after this block layer 1)."
UNITS = {"entropy": "bits", "distance": "characters"}
CAVEATS = (
    "Where a head looks is not what it does with what it finds there, nor whether the answer depends on it; the paper, "
    "too, calls attention maps an unreliable indicator of input importance.",
    "Queries are the letters of a text, keys all its characters. The shares overlap: a neighbour is mostly of the same "
    "word, so they do not add up to one.",
    "Kinds are clusters of these heads by these statistics alone. A silhouette below 0.5 says that they run into each "
    "other; another choice of statistics may sort them otherwise.",
    "Errors are one standard error from a Bayesian bootstrap over texts; they say nothing about other training runs.",
)


def report(heads: Heads, maps: TextMaps, chosen: Sequence[int] | None, *, rng: np.random.Generator) -> Result:
    """Put what was measured into a result; maps are drawn of the chosen heads, or of one head of each kind."""
    means, uniform = heads.values.mean(0, dtype=np.float64), heads.uniform.mean(0, dtype=np.float64)
    kinds, silhouette = find_kinds(means, uniform)
    kind_of = {head: kind.name for kind in kinds for head in kind.heads}
    drawn = [kind.representative for kind in kinds] if chosen is None else list(chosen)
    estimates = {
        (head, place): bayesian_bootstrap(heads.values[:, head, place].astype(np.float64), rng)
        for head in kind_of
        for place in range(len(STATISTICS))
    }
    flat = maps.patterns.reshape(-1, *maps.patterns.shape[2:])  # (head, query, key)
    return Result(
        title="Attention",
        summary=_summary(heads, kinds),
        caveats=CAVEATS,
        metrics={
            "kinds of head": len(kinds),
            "heads": len(kind_of),
            "silhouette": silhouette,
            **_records(heads, means),
            "texts": len(heads.values),
        },
        tables={
            "kinds": _kinds_table(heads, kinds, means, uniform),
            "heads": _heads_table(heads, kind_of, estimates, uniform),
        },
        figures={
            "heads": _heads_figure(heads, kind_of, estimates, uniform),
            "all-maps": _glance(heads, maps, kind_of),
            "maps": _maps_figure(heads, maps, flat, drawn, kind_of),
        },
        arrays={
            "statistics": heads.values,
            "uniform": heads.uniform,
            "maps": flat[drawn],
            "map_heads": np.array([divmod(head, heads.in_layer) for head in drawn], dtype=np.int64),
        },
    )


def _summary(heads: Heads, kinds: Sequence[Kind]) -> str:
    counted = ", ".join(f"{kind.name} ({len(kind.heads)})" for kind in kinds)
    several = "s" if len(kinds) > 1 else ""
    return (
        f"Where each of the {heads.values.shape[1]} heads of {heads.model} looks, over {len(heads.values)} texts, "
        "beside what a head would score that looks at every character of the same texts alike. By these statistics the "
        f"heads fall into {len(kinds)} kind{several}, named after what exceeds uniform attention most: {counted}."
    )


def _records(heads: Heads, means: Any) -> dict[str, str]:
    """Say which head has the largest share of each sort."""
    best = {name: int(np.argmax(means[:, STATISTICS.index(name)])) for name in SHARES}
    return {
        f"most {name}": f"{heads.label(head)}: {means[head, STATISTICS.index(name)]:.2f}" for name, head in best.items()
    }


def _kinds_table(heads: Heads, kinds: Sequence[Kind], means: Any, uniform: Any) -> Table:
    rows = [
        (
            kind.name,
            len(kind.heads),
            heads.label(kind.representative),
            *means[list(kind.heads)].mean(0).tolist(),
        )
        for kind in kinds
    ]
    rows.append(("uniform attention", None, None, *uniform.tolist()))
    caption = (
        "The kinds: how many heads each has, its most typical head, and the means of the statistics: entropy in bits, "
        f"distance in characters, the rest shares of the attention. {COUNTING}"
    )
    return Table(("kind", "heads", "typical", *STATISTICS), rows, caption=caption)


def _heads_table(
    heads: Heads, kind_of: dict[int, str], estimates: dict[tuple[int, int], Estimate], uniform: Any
) -> Table:
    columns = [column for name in STATISTICS for column in (name, f"± {name}")]
    rows: list[tuple[Any, ...]] = [
        (
            heads.label(head),
            kind,
            *(number for place in range(len(STATISTICS)) for number in estimates[head, place].cells),
        )
        for head, kind in kind_of.items()
    ]
    baseline = [cell for value in uniform.tolist() for cell in (value, None)]
    rows.append(("uniform", "uniform attention", *baseline))
    caption = (
        f"Every head, sorted by kind: means over {len(heads.values)} texts with their errors; last, uniform attention."
    )
    return Table(("head", "kind", *columns), rows, caption=caption)


def _heads_figure(
    heads: Heads, kind_of: dict[int, str], estimates: dict[tuple[int, int], Estimate], uniform: Any
) -> Figure:
    means = np.array([[estimates[head, place].mean for place in range(len(STATISTICS))] for head in kind_of])
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios = np.log2(means / uniform)  # NaN where neither has any, which is drawn as nothing
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
    beside = np.stack([means, np.broadcast_to(uniform, means.shape)], axis=-1)
    drawn.update_traces(colorbar=bar, customdata=beside, hovertemplate=tip)
    lines = [name.replace(" ", "<br>") for name in STATISTICS]
    axis = {"side": "top", "tickangle": 0, "tickvals": list(range(len(lines))), "ticktext": lines}
    drawn.update_layout(height=min(1600, 140 + 20 * len(means)), xaxis=axis)
    rows = [
        (*divmod(head, heads.in_layer), kind, name, UNITS.get(name, "share"), *found.cells, float(baseline))
        for head, kind in kind_of.items()
        for place, (name, baseline) in enumerate(zip(STATISTICS, uniform, strict=True))
        for found in (estimates[head, place],)
    ]
    columns = ("layer", "head", "kind", "statistic", "unit", "mean", "error", "uniform")
    caption = (
        "Statistics of every head by those of uniform attention, heads sorted by kind: blue is more, orange less. "
        f"{COUNTING}"
    )
    return Figure(drawn, caption, Table(columns, rows))


def _glance(heads: Heads, maps: TextMaps, kind_of: dict[int, str]) -> Figure:
    # Layers run across, (head, layer, query, key), since a page of tall columns would take long to scroll.
    across = maps.patterns.swapaxes(0, 1)
    rows, columns = ([f"{letter}{place}" for place in range(across.shape[axis])] for axis, letter in enumerate("HL"))
    drawn = tiled_maps(across, row_labels=rows, column_labels=columns)
    caption = (
        f"All heads at a glance, {maps.title}: L0 is the first block; in each square queries run down and keys to the "
        "right. Each row is "
        "divided by its largest weight, so a head that looks everywhere alike is dark all over."
    )
    data = [(*divmod(head, heads.in_layer), kind_of[head]) for head in sorted(kind_of)]
    return Figure(drawn, caption, Table(("layer", "head", "kind"), data))


def _maps_figure(heads: Heads, maps: TextMaps, flat: Any, drawn: Sequence[int], kind_of: dict[int, str]) -> Figure:
    steps = {f"{heads.label(head)}, {kind_of[head]}": character_map(flat[head], maps.text) for head in drawn}
    strongest = {head: flat[head].argmax(-1) for head in drawn}
    rows = [
        (*divmod(head, heads.in_layer), query, maps.text[query], key, maps.text[key], float(flat[head, query, key]))
        for head, keys in strongest.items()
        for query, key in enumerate(keys.tolist())
    ]
    columns = ("layer", "head", "query", "query character", "strongest key", "key character", "weight")
    caption = (
        f"Row-normalised maps, {maps.title}: each row, the attention of one character, is divided by its largest "
        "weight. The tip over a cell gives the weight itself. The CSV has the strongest key of every query, arrays.npz "
        "the maps."
    )
    return Figure(slider(steps, prefix="head "), caption, Table(columns, rows))
