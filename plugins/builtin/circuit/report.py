"""The result of the circuit analysis: the graph, how faithful circuits are, and how well the methods agree."""

from typing import Any

import numpy as np

from alice.causal import Graph, Recovered
from alice.model import ModelConfig
from alice.plugins.builtin.circuit.drawing import agreement_scatter, graph_figure
from alice.plugins.builtin.circuit.faithfulness import PERCENTS, sizes
from alice.plugins.builtin.circuit.measure import ABSOLUTE, EXACT, IG_INPUTS, RANDOM, Curve, Interval, Measured
from alice.plugins.builtin.trials import State, part_entry
from alice.plugins.findings import Findings, array_of
from alice.plugins.verdicts import OWN, Outcome, Verdicts
from alice.reports import Figure, Metric, Result, Section, Table, Trial, model_key
from alice.reports.figures import bars, layer_curve, slider
from alice.reports.names import listed
from alice.statistics import bayesian_bootstrap, blank_nan

SHOWN = 50
"""Edges in the table of the best ones."""
TRIED = 3
"""Parts to switch off in the explorer."""
DRAWN = (10, 20, 40, 100, 200)
"""Numbers of edges that the drawing offers, if the circuit has as many."""
METHODS = {
    "eap": "EAP",
    "eap-ig-inputs": "EAP-IG (inputs)",
    "eap-ig-activations": "EAP-IG (activations)",
    "exact": "exact",
    "random": "random (control)",
}
CAVEATS = (
    "A circuit is a set of edges that suffices under one kind of corruption, not the mechanism. Repeat with another "
    "`--counterfactual` and `--replacement`.",
    "Exact effects corrupt one edge at a time: edges that can stand in for one another each look useless, and effects "
    "do not add up to the total.",
    "Gradient methods are first-order estimates. Compare them with `--exact` before you rely on single edges.",
    "Intervals cover the choice of texts, not other trainings of the model.",
)


def report(found: Measured, *, example: State) -> Result:
    """Build the result from what was measured; `example` is a text to try in the explorer."""
    figures = {
        "graph": _graph_figure(found),
        "faithfulness": _faithfulness_figure(found),
        "groups": _groups_figure(found),
    }
    tables = {
        "edges": _edge_table(found),
        "faithfulness": _faithfulness_table(found),
        "areas": _area_table(found),
        "groups": _group_table(found),
    }
    sections = [
        Section("circuit", "The circuit", figures=[model_key("graph", found.model)], tables=["edges"]),
        Section(
            "faithfulness",
            "How faithful circuits are",
            figures=[model_key("faithfulness", found.model)],
            tables=["areas", "faithfulness"],
        ),
        Section("groups", "Whether all of it is needed", figures=[model_key("groups", found.model)], tables=["groups"]),
    ]
    if found.agreement:
        figures["agreement"], tables["agreement"] = _agreement_figure(found), _agreement_table(found)
        names = [model_key("agreement", found.model)]
        sections.append(Section("agreement", "Estimates and exact effects", figures=names, tables=["agreement"]))
    arrays: dict[str, Any] = {f"effects-{method}": values for method, values in found.effects.by_method.items()}
    arrays |= {"total": found.effects.total, "edges": found.graph.edges, "circuit": found.circuit.order}
    arrays["shape"] = np.array([found.graph.n_layers, found.graph.n_heads])
    return Result(
        title="Circuit",
        summary=_summary(found),
        caveats=CAVEATS,
        metrics=_metrics(found),
        headline="faithfulness",
        tables=tables,
        figures={model_key(name, found.model): figure for name, figure in figures.items()},
        arrays={model_key(name, found.model): array for name, array in arrays.items()},
        sections=sections,
        trials=_trials(found, example),
    )


def _trials(found: Measured, example: State) -> list[Trial]:
    """Return what to switch off in the explorer: parts outside the circuit, and those where its best edges begin."""
    graph, circuit = found.graph, found.circuit
    used = set(graph.edges[graph.connected(circuit.chosen)][:, 0].tolist())
    outside = [part for number, part in enumerate(graph.parts, 1) if number not in used]  # writer 0 is the embedding
    writers = dict.fromkeys(int(writer) for writer in graph.edges[circuit.order][:, 0] if writer)
    best = [graph.parts[writer - 1] for writer in [*writers][:TRIED]]
    groups = {"Switch off every part outside the circuit": outside}
    groups[f"Switch off {listed(part.label for part in best)}, where the best edges begin"] = best
    return [
        Trial(label, found.model, {**example, "off": [part_entry(part) for part in parts]})
        for label, parts in groups.items()
        if parts
    ]


def _curve(found: Measured, method: str, sign: str = ABSOLUTE) -> Curve:
    return next(curve for curve in found.curves if (curve.method, curve.sign) == (method, sign))


def _one(kept: Recovered, column: int) -> Interval:
    return float(kept.share[column]), float(kept.low[column]), float(kept.high[column])


def _summary(found: Measured) -> str:
    kept, size, edges = found.circuit.kept, len(found.circuit.order), len(found.graph)
    clean, circuit, corrupted = 100 * found.circuit.ser.mean(0)
    text = (
        f"The graph of {found.model} has {edges:,} edges. The {size} best by EAP-IG (inputs), "
        f"{100 * size / edges:.3g} % of them, keep {100 * kept.share[0]:.0f} % of the score on texts that were not "
        f"used to choose them; everything else keeps {100 * kept.share[1]:.0f} %. The symbol error rate is "
        f"{clean:.1f} % in the clean run, {circuit:.1f} % in the circuit and {corrupted:.1f} % in the corrupted run."
    )
    if found.agreement:
        rest = [f"{value:.2f} for {METHODS[name]}" for name, (value, *_) in found.agreement.items() if name != EXACT]
        text += f" Spearman's correlation with the exact effects is {', '.join(rest)}."
    return text


def _metrics(found: Measured) -> list[Metric]:
    model, kept, curve = found.model, found.circuit.kept, _curve(found, IG_INPUTS)
    size = len(found.circuit.order)
    metrics = [
        _metric("faithfulness", _one(kept, 0), model, "score kept by the circuit"),
        _metric("completeness", _one(kept, 1), model, "score kept without the circuit"),
        Metric("circuit-edges", size, model=model, label="edges in the circuit"),
        Metric("connected-edges", _connected(found), model=model, label="edges on a path to the output"),
        Metric("edges", len(found.graph), model=model, label="edges of the model"),
        _metric("cpr", curve.cpr, model, "area under the curve (CPR)"),
        _metric("cmd", curve.cmd, model, "area between the curve and 1 (CMD)"),
        _metric("cpr-random", _curve(found, RANDOM).cpr, model, "CPR of a random ranking"),
    ]
    for method, correlation in found.agreement.items():
        label = "exact effects of two halves" if method == EXACT else f"{METHODS[method]} and exact effects"
        metrics.append(_metric(f"agreement-{method}", correlation, model, f"Spearman's correlation, {label}"))
    return [
        *metrics,
        *_errors(found),
        Metric("texts", len(found.effects.total)),
        Metric("test-texts", len(found.circuit.ser)),
    ]


def _metric(name: str, value: Interval, model: str, label: str) -> Metric:
    return Metric(name, value[0], interval=(value[1], value[2]), model=model, label=label)


def _errors(found: Measured) -> list[Metric]:
    names = {
        "ser": "symbol error rate",
        "ser-circuit": "SER in the circuit",
        "ser-corrupted": "SER in the corrupted run",
    }
    metrics = []
    for column, (name, label) in enumerate(names.items()):
        estimate = bayesian_bootstrap(100 * found.circuit.ser[:, column], np.random.default_rng(0))
        metrics.append(Metric(name, estimate.mean, estimate.error, unit="%", model=found.model, label=label))
    return metrics


def _connected(found: Measured) -> int:
    return int(found.graph.connected(found.circuit.chosen).sum())


def _graph_figure(found: Measured) -> Figure:
    connected = found.graph.connected(found.circuit.chosen)
    order = found.circuit.order[connected[found.circuit.order]]
    counts = [*(count for count in DRAWN if count < len(order)), len(order)]
    shares = found.effects.shares(IG_INPUTS)
    caption = (
        "The circuit from the embedding (left) to the output (right): the edges that lie on a path between the two, "
        "strongest first. Width follows the score by EAP-IG (inputs), dotted edges lower the score of the answer, "
        "colour says which input of the node they enter. Hover over an edge for its number."
    )
    rows = [(*_names(found, edge), float(shares[edge])) for edge in order.tolist()]
    data = Table(("writer", "reader", "input", "score"), rows)
    return Figure(graph_figure(found.graph, order, shares, counts), caption, data)


def _names(found: Measured, edge: int) -> tuple[str, str, str]:
    """Return the writer of an edge, the node that reads it, and the input by which it does."""
    writer, reader = found.graph.edges[edge]
    return found.graph.writers[writer], found.graph.readers[reader].node, found.graph.readers[reader].input


def _edge_table(found: Measured) -> Table:
    """List the best edges by the exact effects if there are any, otherwise by EAP-IG (inputs)."""
    first = EXACT if EXACT in found.effects.by_method else IG_INPUTS
    methods = [first, *(method for method in found.effects.by_method if method != first)]
    shares = {method: 100 * found.effects.shares(method) for method in methods}
    best = np.argsort(-np.abs(shares[first]), kind="stable")[:SHOWN].tolist()
    rows: list[tuple[Any, ...]] = [
        (
            found.model,
            *_names(found, edge),
            *(float(shares[method][edge]) for method in methods),
            bool(found.circuit.chosen[edge]),
        )
        for edge in best
    ]
    columns = [method.replace("-", "_") for method in methods]
    return Table(
        ("model", "writer", "reader", "input", *columns, "in_circuit"),
        rows,
        f"The {len(rows)} edges with the largest effects by {METHODS[first]}: the loss of score when the edge is "
        "corrupted, in percent of the loss when everything is. The arrays `effects-...` have all edges, text by text.",
        labels={column: f"{METHODS[method]}, %" for column, method in zip(columns, methods, strict=True)},
    )


def _label(curve: Curve) -> str:
    return METHODS[curve.method] if curve.method == RANDOM else f"{METHODS[curve.method]}, {curve.sign}"


def _faithfulness_figure(found: Measured) -> Figure:
    names = [_label(curve) for curve in found.curves]
    values = {name: curve.kept.share for name, curve in zip(names, found.curves, strict=True)}
    spans = {
        name: np.stack([curve.kept.share - curve.kept.low, curve.kept.high - curve.kept.share])
        for name, curve in zip(names, found.curves, strict=True)
    }
    drawn = layer_curve(values, errors=spans, layers=PERCENTS, x_title="edges, % of all", y_title="score kept")
    drawn.update_xaxes(type="log", tickvals=list(PERCENTS), ticktext=[f"{percent:g}" for percent in PERCENTS])
    shown = {names[number] for number, curve in enumerate(found.curves) if curve.sign == ABSOLUTE}
    drawn.for_each_trace(lambda trace: trace.update(visible=True if trace.name in shown else "legendonly"))
    caption = (
        "Share of the score that the best edges of each ranking keep on texts not used for scoring: 1 is the clean "
        "run, 0 the corrupted one. Band: 95 % interval over texts. Click a signed ranking in the legend to show it."
    )
    return Figure(drawn, caption)


def _faithfulness_table(found: Measured) -> Table:
    counts = sizes(len(found.graph))
    rows = [
        (found.model, curve.method, curve.sign, percent, int(counts[place]), *map(blank_nan, _one(curve.kept, place)))
        for curve in found.curves
        for place, percent in enumerate(PERCENTS)
    ]
    columns = ("model", "method", "ranking", "percent", "edges", "kept", "kept_low", "kept_high")
    caption = "Share of the score that circuits keep, by ranking and size, with 95 % intervals over texts."
    return Table(columns, rows, caption, labels={"percent": "edges, %", "kept": "score kept"})


def _area_table(found: Measured) -> Table:
    at_ten = PERCENTS.index(10.0)
    rows = [
        (
            found.model,
            METHODS[curve.method],
            curve.sign,
            *map(blank_nan, (*curve.cpr, *curve.cmd)),
            blank_nan(float(curve.kept.share[at_ten])),
        )
        for curve in found.curves
    ]
    return Table(
        ("model", "method", "ranking", "cpr", "cpr_low", "cpr_high", "cmd", "cmd_low", "cmd_high", "kept_at_ten"),
        rows,
        "Areas over the share of the edges, from 0.1 % to 100 %, by the trapezoidal rule: CPR under the curve f (more "
        "is better), CMD under |1 - f| (less is better); and f of the best 10 % of the edges.",
        labels={"cpr": "CPR", "cmd": "CMD", "kept_at_ten": "f at 10 %"},
    )


def _losses(found: Measured) -> list[Interval]:
    """Return what each group of edges adds to the score that the circuit keeps."""
    kept = found.circuit.kept
    draws = kept.draws[:, :1] - kept.draws[:, 2:]
    ends = np.percentile(draws, [2.5, 97.5], axis=0)
    return [
        (float(value), float(low), float(high))
        for value, low, high in zip(kept.share[0] - kept.share[2:], *ends, strict=True)
    ]


def _groups_figure(found: Measured) -> Figure:
    losses = np.array(_losses(found)).T
    labels = _group_labels(found)
    spans = np.stack([losses[0] - losses[1], losses[2] - losses[0]])
    drawn = bars(losses[0], labels=labels, errors=spans, x_title="edges of the circuit, by rank", y_title="score lost")
    caption = (
        "What the circuit loses when a tenth of its edges is removed, strongest tenth first; 95 % intervals over "
        "texts. A group whose interval includes 0 is not shown to be needed."
    )
    return Figure(drawn, caption)


def _group_labels(found: Measured) -> list[str]:
    ends = np.cumsum(found.circuit.group_sizes).tolist()
    starts = [1, *(end + 1 for end in ends[:-1])]
    return [f"{start}-{end}" if end > start else str(end) for start, end in zip(starts, ends, strict=True)]


def _group_table(found: Measured) -> Table:
    kept = found.circuit.kept
    rows: list[tuple[Any, ...]] = [
        (found.model, "the circuit", len(found.circuit.order), *_one(kept, 0), None),
        (found.model, "everything else", len(found.graph) - len(found.circuit.order), *_one(kept, 1), None),
    ]
    for place, (label, loss) in enumerate(zip(_group_labels(found), _losses(found), strict=True)):
        edges = len(found.circuit.order) - int(found.circuit.group_sizes[place])
        rows.append((found.model, f"the circuit without {label}", edges, *_one(kept, 2 + place), bool(loss[1] > 0)))
    return Table(
        ("model", "kept_edges", "edges", "kept", "kept_low", "kept_high", "needed"),
        [tuple(blank_nan(cell) if isinstance(cell, float) else cell for cell in row) for row in rows],
        "Completeness and minimality: the score kept by the circuit, by everything but the circuit (near 0 if it is "
        "complete), and by the circuit without a group of its edges, which is needed if it loses by more than chance.",
        labels={"kept_edges": "clean edges", "kept": "score kept"},
    )


def _agreement_figure(found: Measured) -> Figure:
    reference = found.effects.shares(EXACT)
    steps = {}
    for method in found.effects.by_method:
        if method != EXACT:
            steps[METHODS[method]] = agreement_scatter(found.graph, reference, found.effects.shares(method))
    caption = (
        "Every edge: exact effect across, estimate up, as shares of the total effect; both axes are logarithmic away "
        "from zero. Estimates on the line equal the exact effect."
    )
    data = Table(
        ("edge", "writer", "reader", "input", *(method.replace("-", "_") for method in found.effects.by_method)),
        [
            (
                edge,
                *_names(found, edge),
                *(float(found.effects.shares(method)[edge]) for method in found.effects.by_method),
            )
            for edge in range(len(found.graph))
        ],
    )
    return Figure(slider(steps, prefix="", start=len(steps) - 1), caption, data)


def _agreement_table(found: Measured) -> Table:
    reference = found.effects.shares(EXACT)
    largest = set(np.argsort(-np.abs(reference))[: len(found.graph) // 10].tolist())
    rows = []
    for method, correlation in found.agreement.items():
        shares = found.effects.shares(method)
        mine = set(np.argsort(-np.abs(shares))[: len(largest)].tolist())
        linear = float(np.corrcoef(reference, shares)[0, 1]) if method != EXACT else None
        shared = len(largest & mine) / max(1, len(largest)) if method != EXACT else None
        name = "exact, two halves of the texts" if method == EXACT else METHODS[method]
        rows.append((found.model, name, *map(blank_nan, correlation), linear, shared))
    return Table(
        ("model", "method", "spearman", "spearman_low", "spearman_high", "pearson", "shared_tenth"),
        rows,
        "Agreement with the exact effects over all edges: rank correlation with its 95 % interval over texts, linear "
        "correlation, and how many of the tenth of edges with the largest exact effects the method finds. The last row "
        "is the correlation between the exact effects of two halves of the texts: more cannot be expected.",
        labels={"spearman": "Spearman", "pearson": "Pearson", "shared_tenth": "share of the largest tenth"},
    )


def claims(result: Result) -> dict[str, Findings]:
    """Return what a stored result says of every edge and node, by method: the absolute value of the mean effect."""
    n_layers, n_heads = (int(size) for size in array_of(result, "shape"))
    graph = Graph(ModelConfig(n_layers=n_layers, n_heads=n_heads, hyper_heads=n_heads, d_model=2 * n_heads))
    labels, heads_and_mlps = graph.labels(np.arange(len(graph))), np.arange(1, len(graph.writers))
    found = {}
    for method, label in METHODS.items():
        if any(key.partition("@")[0] == f"effects-{method}" for key in result.arrays):
            effect = np.abs(array_of(result, f"effects-{method}").mean(0))
            nodes = {graph.writers[node]: float(effect[graph.edges[:, 0] == node].max()) for node in heads_and_mlps}
            found[label] = Findings(nodes=nodes, edges=dict(zip(labels, effect.tolist(), strict=True)))
    return found


def verdicts(result: Result) -> Verdicts:
    """Return whether the circuit beats a random ranking, with intervals apart, and the strongest part by method."""
    (cpr,) = (metric for metric in result.metrics if metric.name == "cpr")
    (chance,) = (metric for metric in result.metrics if metric.name == "cpr-random")
    better = cpr.interval is not None and chance.interval is not None and cpr.interval[0] > chance.interval[1]
    strongest = {method: max(found.nodes, key=found.nodes.__getitem__) for method, found in claims(result).items()}
    main = strongest.pop(METHODS[IG_INPUTS])
    strongest.pop(METHODS[RANDOM], None)
    own: dict[str, Outcome] = {"circuit-beats-random": better, "strongest-part": main}
    return {OWN: own, **{method: {"strongest-part": part} for method, part in strongest.items()}}
