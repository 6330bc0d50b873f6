"""Scores every edge on one half of the texts, and tests the circuits that follow from the scores on the other half."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor

from alice.causal import Chosen, Graph, Recovered, recovered, symbol_errors
from alice.plugins.builtin.circuit.contrasts import Contrasts
from alice.plugins.builtin.circuit.faithfulness import areas, circuit_stream, sizes
from alice.plugins.builtin.circuit.nodes import Contrast
from alice.plugins.builtin.circuit.scores import eap, eap_ig_activations, eap_ig_inputs, exact
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints

EAP, IG_INPUTS, IG_ACTIVATIONS, EXACT, RANDOM = "eap", "eap-ig-inputs", "eap-ig-activations", "exact", "random"
SIGNS = (ABSOLUTE, SIGNED) = ("absolute", "signed")
GROUPS = 10
"""Groups of equal size into which the chosen circuit is divided, to test whether each is needed."""
DRAWS = 400
"""Weightings of the texts from which the intervals of rank correlations are taken."""
ENDS = (2.5, 97.5)
"""Percentiles at the ends of an interval."""
Interval = tuple[float, float, float]
"""A number with the lower and the upper end of its interval."""


@dataclass(frozen=True, eq=False)
class Effects:
    """What each edge is worth for each of the texts on which the edges are scored."""

    by_method: Mapping[str, Floats]
    """Loss of score when the edge alone is corrupted, in nats, by method, (text, edge)."""
    total: Floats
    """Loss of score when everything is corrupted, in nats, (text,)."""

    def shares(self, method: str, weights: Floats | None = None) -> Floats:
        """Return the mean effect of each edge divided by the mean total effect, (edge,)."""
        return np.average(self.by_method[method], axis=0, weights=weights) / np.average(self.total, weights=weights)


@dataclass(frozen=True, eq=False)
class Curve:
    """How faithful the best edges of one ranking are, by the size of the circuit."""

    method: str
    """How the edges were scored; `random` for the control."""
    sign: str
    """`absolute` if edges with large effects of either sign come first, `signed` if the most helpful ones do."""
    kept: Recovered
    """Share of the score that the circuit of each size keeps, with intervals, (size,)."""
    cpr: Interval
    """Area under the curve."""
    cmd: Interval
    """Area between the curve and 1."""


@dataclass(frozen=True, eq=False)
class Circuit:
    """The chosen circuit, tested on the other texts."""

    chosen: Chosen
    """Its edges, (edge,)."""
    order: Ints
    """Their numbers, best first."""
    kept: Recovered
    """Share of the score that is kept by the circuit, by everything but the circuit, and by the circuit without each
    group of its edges, best group first, (2 + group,)."""
    group_sizes: Ints
    """Number of edges in each group, (group,)."""
    ser: Floats
    """Fraction of wrong characters of each text: clean run, circuit and corrupted run, (text, 3)."""


@dataclass(frozen=True, eq=False)
class Measured:
    """The edges of one model, what they are worth, and which of them make a circuit."""

    model: str
    """Name of the checkpoint."""
    graph: Graph
    """Its edges."""
    effects: Effects
    """What the edges are worth."""
    agreement: Mapping[str, Interval]
    """Spearman's correlation of each method with the exact effects, over the edges; empty without exact effects.

    `exact` itself stands for the correlation between the two halves of the texts: what noise alone allows.
    """
    curves: tuple[Curve, ...]
    """A curve for each ranking, and one for a random ranking."""
    circuit: Circuit
    """The chosen circuit."""


def measure(
    ctx: RunContext, *, counterfactual: str, replacement: str, steps: int, percent: float, exactly: bool
) -> Measured:
    """Score the edges, then test circuits; the arguments are the fields of the analysis."""
    scoring, testing = (
        Contrasts(ctx, counterfactual=counterfactual, replacement=replacement, testing=half) for half in (False, True)
    )
    effects = score_edges(ctx, scoring, steps=steps, exactly=exactly)
    rng, graph = ctx.rng, scoring.graph
    rankings = {(method, sign): ranking(effects.shares(method), sign) for method in effects.by_method for sign in SIGNS}
    rankings[RANDOM, ABSOLUTE] = rng.permutation(len(graph))
    order = rankings[IG_INPUTS, ABSOLUTE][: max(1, round(percent / 100 * len(graph)))]
    groups = np.array_split(order, min(GROUPS, len(order)))
    chosen = _as_circuit(order, graph)
    circuits = [chosen, ~chosen, *(chosen & ~_as_circuit(group, graph) for group in groups)]
    first_curve = len(circuits)
    circuits += [_as_circuit(ranked[:size], graph) for ranked in rankings.values() for size in sizes(len(graph))]
    found = run_circuits(ctx, testing, circuits)
    kept = recovered(found.scores, found.clean, found.corrupted, rng)
    starts = range(first_curve, len(circuits), len(sizes(len(graph))))
    return Measured(
        model=ctx.checkpoint,
        graph=graph,
        effects=effects,
        agreement=_agreement(effects, rng) if exactly else {},
        curves=tuple(
            _curve(*names, _columns(kept, slice(start, start + len(sizes(len(graph))))))
            for names, start in zip(rankings, starts, strict=True)
        ),
        circuit=Circuit(chosen, order, _columns(kept, slice(0, first_curve)), np.array([*map(len, groups)]), found.ser),
    )


def score_edges(ctx: RunContext, contrasts: Contrasts, *, steps: int, exactly: bool) -> Effects:
    """Score every edge on the texts of the first half by each method."""
    methods: dict[str, Callable[[Contrast], Tensor]] = {EAP: eap, IG_INPUTS: partial(eap_ig_inputs, steps=steps)}
    if exactly:
        methods[IG_ACTIVATIONS] = partial(eap_ig_activations, steps=steps)
    parts = [
        _score_batch(contrasts[number], methods.values())
        for number in ctx.progress(range(len(contrasts)), "Scoring edges")
    ]
    total, *effects = (np.concatenate(values) for values in zip(*filter(None, parts), strict=True))
    by_method = dict(zip(methods, effects, strict=True))
    if exactly:
        by_method[EXACT] = exact_effects(ctx, contrasts)
    return Effects(by_method, total)


def _score_batch(
    contrast: Contrast | None, methods: Iterable[Callable[[Contrast], Tensor]]
) -> tuple[Floats, ...] | None:
    """Return the total effect on each text, (batch,), and the effects of all edges by each method, (batch, edge)."""
    if contrast is None:
        return None
    return (
        _numpy(contrast.clean_scores - contrast.corrupted_scores),
        *(_numpy(score(contrast)) for score in methods),
    )


def exact_effects(ctx: RunContext, contrasts: Contrasts) -> Floats:
    """Return the effect of every edge by patching it, (text, edge); an interrupted run continues where it stopped."""
    pieces, graph = ctx.resumable("circuit-exact", contrasts.options), contrasts.graph
    jobs = [(batch, block) for batch in range(len(contrasts)) for block in range(graph.n_layers + 1)]
    found: dict[int, list[Floats]] = {}
    contrast, of_batch = None, -1
    for batch, block in ctx.progress(jobs, "Patching every edge"):
        if batch != of_batch:
            contrast = None  # so that two are never in memory
            contrast, of_batch = contrasts[batch], batch
        if contrast is not None:
            part = pieces.array(f"batch-{batch}-block-{block}", partial(_exact_block, contrast, block))
            found.setdefault(batch, []).append(part)
    return np.concatenate([np.concatenate(parts, axis=1) for parts in found.values()])


def _exact_block(contrast: Contrast, block: int) -> Floats:
    """Return the effects of all edges into the readers of a block, or into the output, (batch, edge)."""
    readers = [reader for reader in contrast.graph.readers if contrast.graph.block(reader) == block]
    return _numpy(torch.cat([exact(contrast, reader) for reader in readers], 1))


def ranking(shares: Floats, sign: str) -> Ints:
    """Return the numbers of the edges, best first, (edge,)."""
    return np.argsort(-(np.abs(shares) if sign == ABSOLUTE else shares), kind="stable")


@dataclass(frozen=True, eq=False)
class Scores:
    """What circuits score on each of the texts on which they are tested."""

    scores: Floats
    """Score of each circuit, (text, circuit)."""
    clean: Floats
    """Score of the clean run, (text,)."""
    corrupted: Floats
    """Score of the corrupted run, (text,)."""
    ser: Floats
    """Fraction of wrong characters in the clean run, in the first circuit and in the corrupted run, (text, 3)."""


def run_circuits(ctx: RunContext, contrasts: Contrasts, circuits: Sequence[Chosen]) -> Scores:
    """Run circuits on the texts of the second half."""
    parts = [
        _run_batch(contrasts[number], circuits) for number in ctx.progress(range(len(contrasts)), "Testing circuits")
    ]
    return Scores(*(np.concatenate(values) for values in zip(*filter(None, parts), strict=True)))


@torch.no_grad()
def _run_batch(contrast: Contrast | None, circuits: Sequence[Chosen]) -> tuple[Floats, ...] | None:
    """Return the fields of `Scores` for the texts of a batch."""
    if contrast is None:
        return None
    scores = torch.stack([_score(contrast, chosen) for chosen in circuits], 1)
    streams = (contrast.clean.sum(0), circuit_stream(contrast, circuits[0]), contrast.corrupted.sum(0))
    errors = [symbol_errors(contrast.model, stream, contrast.ids, contrast.batch) for stream in streams]
    parts = (scores, contrast.clean_scores, contrast.corrupted_scores, torch.stack(errors, 1))
    return tuple(map(_numpy, parts))


def _score(contrast: Contrast, chosen: Chosen) -> Tensor:
    """Return the scores of a circuit, (batch,); one without a path from the embedding to the output needs no run."""
    if chosen.all():
        return contrast.clean_scores
    if not contrast.graph.connected(chosen).any():
        return contrast.corrupted_scores
    return contrast.score(circuit_stream(contrast, chosen))


def _as_circuit(edges: Ints, graph: Graph) -> Chosen:
    chosen = np.zeros(len(graph), dtype=np.bool_)
    chosen[edges] = True
    return chosen


def _columns(kept: Recovered, columns: slice) -> Recovered:
    return Recovered(kept.share[columns], kept.low[columns], kept.high[columns], kept.draws[:, columns])


def _curve(method: str, sign: str, kept: Recovered) -> Curve:
    values, draws = areas(kept.share), areas(kept.draws)
    cpr, cmd = (_interval(float(value), drawn) for value, drawn in zip(values, draws, strict=True))
    return Curve(method, sign, kept, cpr, cmd)


def _agreement(effects: Effects, rng: np.random.Generator) -> dict[str, Interval]:
    """Return Spearman's correlation of each method with the exact effects, and of two halves of the exact effects."""
    texts = len(effects.total)
    even = np.arange(texts) % 2 == 0
    others = [method for method in effects.by_method if method != EXACT]

    def correlations(weights: Floats) -> list[float]:
        reference = effects.shares(EXACT, weights)
        halves = [effects.shares(EXACT, np.where(part, weights, 0.0)) for part in (even, ~even)] if texts > 1 else []
        return [
            *(_spearman(reference, effects.shares(method, weights)) for method in others),
            _spearman(*halves) if halves else np.nan,
        ]

    values = correlations(np.ones(texts))
    draws = np.array([correlations(rng.exponential(size=texts)) for _ in range(DRAWS)])
    columns = zip((*others, EXACT), values, draws.T, strict=True)
    return {method: _interval(value, drawn) for method, value, drawn in columns}


def _spearman(one: Floats, other: Floats) -> float:
    """Return the rank correlation over the edges, (edge,) each."""
    return float(np.corrcoef(rankdata(one), rankdata(other))[0, 1])


def _interval(value: float, draws: Floats) -> Interval:
    low, high = np.percentile(draws, ENDS)
    return value, float(low), float(high)


def _numpy(values: Tensor) -> Floats:
    return values.detach().double().cpu().numpy()
