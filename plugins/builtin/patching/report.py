"""The result of the patching analysis: label depth, maps by layer and place and by part, and attribution patching."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any

import numpy as np

from alice.causal import parts_of
from alice.model import ModelConfig
from alice.plugins.builtin.patching.depth import RELABELLED, Depth
from alice.plugins.builtin.patching.measure import Map
from alice.plugins.builtin.patching.places import PLACES
from alice.plugins.builtin.patching.shares import DepthShares, MapShares
from alice.plugins.builtin.trials import State, part_entry
from alice.plugins.findings import Findings
from alice.plugins.verdicts import OWN, Verdicts
from alice.reports import Figure, Metric, Result, Table, Trial, model_key
from alice.reports.figures import heatmap, layer_curve, scatter_with_fit, slider
from alice.statistics import Floats, blank_nan

NUMBERING = "L0H3 is head 3 of block 0 (blocks.0); layer 1 is the stream after block 0."
BACK = "The slider changes the counterfactual: clean activations into the corrupted run, and back."
"""What the steps of a slider are."""
DEPTH_INTO = {"clean": "relabelled into original", "corrupted": "original into relabelled"}
CAVEATS = (
    "A patch shows that what it moves suffices to carry the answer, in that run and with everything else as it is; it "
    "does not show that the model computes the answer there. Parts that hold the same hide each other.",
    "After relabelling, a patch moves the mean of a symbol's places to its mean in the other run. What a symbol's "
    "places do not have in common stays as it is, and the patched stream is one that the model never makes itself.",
    "Shares below the control are damage, not transport: a shift of the same length in a wrong direction moves the "
    "answer, too.",
    "Shares of different parts need not add up to 100 %: the network is not linear.",
    "Attribution patching takes the network to be linear between the two runs. It ranks parts well and predicts "
    "magnitudes badly; exact patches are what counts.",
    "Intervals are 95 % of a Bayesian bootstrap over texts, not corrected for the number of cells; they do not cover "
    "other trainings.",
)


def report(
    model: str,
    config: ModelConfig,
    maps: Sequence[Map],
    depths: Sequence[Depth],
    *,
    rng: np.random.Generator,
    example: State,
) -> Result:
    """Build the result from the maps of each kind and direction and the label depth in both directions.

    `example` is a text with its relabelled counterfactual, to try in the explorer.
    """
    drawn = [MapShares.of(found, rng) for found in maps]
    depth: dict[str, DepthShares] = {found.into: DepthShares.of(found, rng) for found in depths}
    labels = [part.label for part in parts_of(config)]
    figures = {"label-depth": _depth_figure(depth)}
    if drawn:
        figures |= {
            "stream": _stream_figure(model, drawn),
            "parts": _parts_figure(model, config, drawn, labels),
            "attribution": _attribution_figure(drawn, labels),
        }
    arrays: dict[str, Any] = {}
    for one in drawn:
        name = f"{one.found.kind}-into-{one.found.into}"
        arrays[f"stream-{name}"], arrays[f"parts-{name}"] = one.found.stream, one.found.parts
    for into, found in depth.items():
        arrays[f"label-depth-into-{into}"] = found.found.scores
    return Result(
        title="Patching",
        summary=_summary(model, drawn, depth, labels),
        caveats=CAVEATS,
        metrics=_metrics(model, drawn, depth, labels),
        tables={
            "label-depth": _depth_table(model, depth),
            "strongest": _strongest_table(model, drawn, labels),
            "attribution": _attribution_table(model, drawn),
            "stream": _stream_table(model, drawn),
            "parts": _parts_table(model, drawn, labels),
        },
        figures={model_key(name, model): figure for name, figure in figures.items()},
        arrays={model_key(name, model): array for name, array in arrays.items()},
        trials=_trials(model, config, drawn, depth["clean"], example) if example else [],
    )


def _trials(
    model: str, config: ModelConfig, drawn: Sequence[MapShares], depth: DepthShares, example: State
) -> list[Trial]:
    """Return patches to try in the explorer: the layer at which names have become meanings, and the strongest part."""
    layer = int(np.ceil(depth.depth[0])) if np.isfinite(depth.depth[0]) else config.n_layers
    state = {**example, "by": "symbol"}
    label = f"Patch layer {layer} from the same text with two letters relabelled"
    trials = [Trial(label, model, {**state, "patch": [["resid", layer]]})]
    if one := _relabelled(drawn):
        part = parts_of(config)[int(np.argmax(one.parts.value))]
        trials.append(Trial(f"Patch only {part.label} from it", model, {**state, "patch": [part_entry(part)]}))
    return trials


def _relabelled(drawn: Sequence[MapShares]) -> MapShares | None:
    return next((one for one in drawn if one.found.kind == RELABELLED), None)


def _elsewhere(one: MapShares) -> Floats:
    """Return the shares at places that the counterfactual leaves alone, (layer, place)."""
    return one.stream.value[:, 1:]


def _summary(model: str, drawn: Sequence[MapShares], depth: dict[str, DepthShares], labels: list[str]) -> str:
    found = depth["clean"]
    value, low, high = found.depth
    shares = ", ".join(f"{share:.0f}" for share in found.moved.value.round() + 0.0)  # no minus zero
    beyond = [layer for layer, end in enumerate(found.beyond.ends[0]) if end > 0]
    first = f"from layer {beyond[0]} on" if beyond else "at no layer"
    sentences = [
        f"Two cipher symbols change names, and the residual stream of the relabelled text goes into {model}'s reading "
        f"of the original, symbol by symbol, over {len(found.found.clean):,} texts. By layer, {shares} % of the answer "
        f"goes with it: {first} more than a shift of the same length in a wrong direction carries."
    ]
    if np.isfinite(value):
        between = f" ({low:.1f} to {high:.1f})" if np.isfinite([low, high]).all() else ""
        sentences.append(
            f"Half of the way is reached at layer {value:.1f}{between}: before it, a symbol's stream mostly holds its "
            "name, after it, its meaning."
        )
    if one := _relabelled(drawn):
        order = np.argsort(-one.parts.value)[:4]
        writers = ", ".join(f"{labels[number]} ({one.parts.value[number]:.0f} %)" for number in order)
        sentences.append(
            f"The parts that carry most are {writers}; other places of the text carry at most "
            f"{np.abs(_elsewhere(one)).max():.1f} %."
        )
    return " ".join(sentences)


def _metrics(model: str, drawn: Sequence[MapShares], depth: dict[str, DepthShares], labels: list[str]) -> list[Metric]:
    metrics = []
    for name, into, label in (
        ("label-depth", "clean", "label depth, layers"),
        ("label-depth-back", "corrupted", "label depth, original into relabelled"),
    ):
        metrics += _metric(name, depth[into].depth, model, label)
    metrics += _metric("label-depth-90", depth["clean"].complete, model, "first layer that carries 90 %")
    wrong = depth["clean"].wrong
    most = int(np.argmax(np.abs(wrong.value)))
    control = wrong.cells[:, most]
    metrics += _metric("control-most", control, model, "most that a wrong direction carries", unit="%")
    if one := _relabelled(drawn):
        number = int(np.argmax(one.parts.value))
        metrics += [
            Metric("strongest-part", labels[number], model=model, label="part that carries most"),
            *_metric("strongest-part-share", one.parts.cells[:, number], model, "its share", unit="%"),
            *_metric("elsewhere-most", [np.abs(_elsewhere(one)).max()], model, "most at other places", unit="%"),
            *_metric("attribution-r", one.correlation("parts"), model, "attribution against exact, r"),
        ]
    counts = [Metric("texts", len(depth["clean"].found.clean))]
    return [*metrics, *counts, *([Metric("map-texts", len(drawn[0].found.clean))] if drawn else [])]


def _metric(name: str, cells: Sequence[float] | Floats, model: str, label: str, unit: str = "") -> list[Metric]:
    """Return a metric with its interval, or none if there is no value."""
    value, *ends = map(float, cells)
    interval = (ends[0], ends[1]) if ends else None
    return [Metric(name, value, interval=interval, unit=unit, model=model, label=label)] if np.isfinite(value) else []


def _depth_figure(depth: dict[str, DepthShares]) -> Figure:
    lines = {name: depth[into].moved for into, name in DEPTH_INTO.items()} | {"wrong direction": depth["clean"].wrong}
    values = {name: shares.value for name, shares in lines.items()}
    errors = {name: np.abs(shares.ends - shares.value) for name, shares in lines.items()}
    drawn = layer_curve(values, errors=errors, y_title="carried, % of the way").update_xaxes(dtick=1)
    drawn.update_layout(height=460)
    caption = (
        "Label depth: the stream of a text in which two cipher symbols have changed names goes into the run of the "
        "other version, at these symbols' places and symbol by symbol. 0 %: the answer is still that of the patched "
        "run; 100 %: that of the other. Layer 0 is the embedding. The control has shifts of the same length in the "
        "direction of another text's. Bands: 95 % intervals."
    )
    return Figure(drawn, caption)


def _title(one: MapShares) -> str:
    return one.found.kind if one.found.into == "corrupted" else f"{one.found.kind}, back"


def _map(values: Floats, cells: Floats, estimates: Floats, **options: Any) -> Any:
    """Draw a heatmap of shares, (row, column), with numbers in the cells and intervals on hovering."""
    drawn = heatmap(np.clip(values, -100, 100), value_title="carried, %", limits=(-100, 100), diverging=True, **options)
    drawn.update_traces(
        customdata=np.concatenate([np.moveaxis(cells, 0, -1), estimates[..., None]], axis=-1),
        text=[["" if np.isnan(cell) else f"{cell:.0f}" for cell in row] for row in values.round() + 0.0],
        texttemplate="%{text}",
        hovertemplate="%{y}, %{x}<br><b>%{customdata[0]:.1f} %</b> (%{customdata[1]:.1f} to %{customdata[2]:.1f})"
        "<br>attribution %{customdata[3]:.1f} %<extra></extra>",
    )
    return drawn


def _stream_figure(model: str, drawn: Sequence[MapShares]) -> Figure:
    places = [place for place in PLACES if any(place in one.found.places for one in drawn)]
    steps = {}
    for one in drawn:
        columns = [one.found.places.index(place) if place in one.found.places else None for place in places]
        # All steps have the rows of all kinds: a row that a kind lacks stays blank.
        cells = np.stack([_blank(one.stream.cells, column) for column in columns], axis=1)  # (3, place, layer)
        estimates = np.stack([_blank(one.stream_estimates.value, column) for column in columns])
        steps[_title(one)] = _map(cells[0], cells, estimates, y_labels=places, x_title="layer").update_layout(
            height=330
        )
    caption = (
        "Residual stream patched at one kind of place at one layer: percent of the way that the answer goes to the "
        "other run. Changed: characters that differ, after relabelling all places of the two symbols; neighbours: next "
        "to one; same word and same symbol: the others in its word, and with its symbol; elsewhere: the rest. "
        f"{BACK}"
    )
    start = next((number for number, one in enumerate(drawn) if one.found.kind == RELABELLED), 0)
    return Figure(slider(steps, prefix="", start=start), caption, _stream_table(model, drawn))


def _blank(values: Floats, column: int | None) -> Floats:
    return np.full(values.shape[:-1], np.nan) if column is None else values[..., column]


def _parts_figure(model: str, config: ModelConfig, drawn: Sequence[MapShares], labels: list[str]) -> Figure:
    names = [*(f"H{head}" for head in range(config.n_heads)), "all heads", "MLP"]
    steps = {}
    for one in drawn:
        parts = one.parts.cells.reshape(3, config.n_layers, -1)
        whole = one.attention.cells[..., None]
        cells = np.concatenate([parts[..., :-1], whole, parts[..., -1:]], axis=-1)
        guessed = one.part_estimates.value.reshape(config.n_layers, -1)
        summed = guessed[:, :-1].sum(1, keepdims=True)  # to first order, heads add up
        estimates = np.concatenate([guessed[:, :-1], summed, guessed[:, -1:]], axis=-1)
        rows = [f"L{block}" for block in range(config.n_layers)]
        steps[_title(one)] = _map(cells[0], cells, estimates, y_labels=rows, x_labels=names).update_layout(height=360)
    caption = (
        "Output of one head, of all heads of a block or of a feed-forward layer (MLP) patched everywhere in the text: "
        f"percent of the way that the answer goes to the other run. {BACK}"
    )
    start = next((number for number, one in enumerate(drawn) if one.found.kind == RELABELLED), 0)
    return Figure(slider(steps, prefix="", start=start), caption, _parts_table(model, drawn, labels))


def _attribution_figure(drawn: Sequence[MapShares], labels: list[str]) -> Figure:
    steps, rows = {}, []
    for one in drawn:
        exact, estimate = one.parts.value, one.part_estimates.value
        figure = scatter_with_fit(exact, estimate, x_title="exact patch, % carried", y_title="attribution, % carried")
        figure.update_traces(
            selector={"name": "data"}, text=labels, hovertemplate="%{text}: %{x:.1f}, %{y:.1f}<extra></extra>"
        )
        steps[_title(one)] = figure
        rows += [
            (one.found.kind, one.found.into, label, float(x), float(y))
            for label, x, y in zip(labels, exact, estimate, strict=True)
        ]
    caption = (
        "Attribution patching against exact patching, a point for each head and feed-forward layer. Attribution needs "
        "one backward pass for all parts; the least-squares line shows how far its scale is off. "
        f"{BACK}"
    )
    start = next((number for number, one in enumerate(drawn) if one.found.kind == RELABELLED), 0)
    columns = ("counterfactual", "into", "part", "exact", "attribution")
    return Figure(slider(steps, prefix="", start=start), caption, Table(columns, rows))


def _cell(value: float) -> float | None:
    """Return a number for a table, without the rounding errors of the network."""
    return blank_nan(round(float(value), 4) + 0.0)


def _depth_table(model: str, depth: dict[str, DepthShares]) -> Table:
    rows = []
    for into, one in depth.items():
        for layer in range(len(one.moved.value)):
            numbers = (
                *one.moved.cells[:, layer],
                one.wrong.value[layer],
                *one.beyond.cells[:, layer],
                one.plain.value[layer],
                100 * one.found.letters[:, layer].mean(),
            )
            rows.append((model, into, layer, *map(_cell, numbers)))
    columns = ("carried", "low", "high", "control", "beyond", "beyond_low", "beyond_high", "log_probability", "letters")
    labels = {
        "into": "patched run",
        "carried": "carried, %",
        "low": "from",
        "high": "to",
        "control": "wrong direction, %",
        "beyond": "beyond it, %",
        "beyond_low": "from ",
        "beyond_high": "to ",
        "log_probability": "by log-probability, %",
        "letters": "letters as in the original, %",
    }
    caption = (
        "Label depth by layer, with 95 % intervals; clean is the original text, corrupted the relabelled one. Carried "
        "is measured by the log-odds of the two answers. The log-probability of the original answer alone is shown for "
        "comparison: it has a ceiling, so that the two directions disagree. Letters: how many of the two symbols are "
        "read as in the original."
    )
    return Table(("model", "into", "layer", *columns), rows, caption, labels)


def _strongest_table(model: str, drawn: Sequence[MapShares], labels: list[str], count: int = 5) -> Table:
    rows = []
    for one in drawn:
        for number in np.argsort(-one.parts.value)[:count].tolist():
            cells = (*one.parts.cells[:, number], one.part_estimates.value[number])
            rows.append((model, one.found.kind, one.found.into, labels[number], *map(_cell, cells)))
    caption = f"The parts that carry most under each counterfactual and in each direction. {NUMBERING}"
    columns = ("model", "counterfactual", "into", "part", "carried", "low", "high", "attribution")
    return Table(columns, rows, caption, _LABELS)


def _attribution_table(model: str, drawn: Sequence[MapShares]) -> Table:
    rows = [
        (model, one.found.kind, one.found.into, what, *map(_cell, one.correlation(what)))
        for one in drawn
        for what in ("parts", "stream")
    ]
    caption = "Pearson correlation of attribution patching with exact patching, over parts and over layers and places."
    columns = ("model", "counterfactual", "into", "over", "r", "low", "high")
    return Table(columns, rows, caption, {"into": "patched run", "low": "from", "high": "to"})


def _stream_table(model: str, drawn: Sequence[MapShares]) -> Table:
    rows = []
    for one in drawn:
        for layer, place in np.ndindex(one.stream.value.shape):
            cells = (*one.stream.cells[:, layer, place], one.stream_estimates.value[layer, place])
            where = (one.found.places[place], float(100 * one.found.sizes[place]))
            rows.append((model, one.found.kind, one.found.into, layer, *where, *map(_cell, cells)))
    columns = ("counterfactual", "into", "layer", "place", "size", "carried", "low", "high", "attribution")
    caption = (
        "Residual stream patched at one kind of place, which has this share of the characters, with 95 % intervals."
    )
    return Table(("model", *columns), rows, caption, _LABELS | {"size": "characters, %"})


def _parts_table(model: str, drawn: Sequence[MapShares], labels: list[str]) -> Table:
    rows = []
    for one in drawn:
        everything = [
            *zip(labels, one.parts.cells.T, one.part_estimates.value, strict=True),
            *((f"L{block} heads", cells, np.nan) for block, cells in enumerate(one.attention.cells.T)),
        ]
        for label, cells, estimate in everything:
            rows.append((model, one.found.kind, one.found.into, label, *map(_cell, (*cells, estimate))))
    columns = ("model", "counterfactual", "into", "part", "carried", "low", "high", "attribution")
    return Table(columns, rows, f"Every part patched everywhere, with 95 % intervals. {NUMBERING}", _LABELS)


_LABELS = {
    "into": "patched run",
    "carried": "carried, %",
    "low": "from",
    "high": "to",
    "attribution": "attribution, %",
}


def claims(result: Result) -> dict[str, Findings]:
    """Return what a stored result says of every head and feed-forward layer, by counterfactual and direction."""
    found: dict[str, dict[str, float]] = {}
    for row in result.tables["parts"].records():
        if not str(row["part"]).endswith(" heads"):
            of_kind = found.setdefault(f"{row['counterfactual']} into {row['into']}", {})
            of_kind[str(row["part"])] = abs(float(row["carried"] or 0))
    return {kind: Findings(nodes=nodes) for kind, nodes in found.items()}


def verdicts(result: Result) -> Verdicts:
    """Return the part that carries most by counterfactual and direction; that of the metrics is the page's own."""
    strongest: dict[str, tuple[float, str]] = {}
    own = ""
    for row in result.tables["parts"].records():
        method = f"{row['counterfactual']} into {row['into']}"
        own = own or (method if row["counterfactual"] == RELABELLED else "")
        if not str(row["part"]).endswith(" heads"):
            found = (float(row["carried"] or 0), str(row["part"]))
            strongest[method] = max(found, strongest.get(method, found), key=itemgetter(0))
    return {OWN if method == own else method: {"strongest-part": part} for method, (_, part) in strongest.items()}
