"""Compares findings with the truth of a planted model: one function per measure, and two controls.

Every measure lies between 0 and 1, and more is better. A control makes claims of the same form that know nothing: with
random scores, or with the analysis' own scores shuffled.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score

from alice.causal import Graph, parts_of
from alice.model import ModelConfig
from alice.planted import Planted, Truth, Verdict
from alice.plugins.findings import ConceptFinding, Findings
from alice.statistics import Floats

SAME_DIRECTION = 0.9
"""Absolute cosine from which on two directions count as the same."""
SAME_LAYER = 0.5
"""Largest distance between two layers that count as the same."""
NAN = float("nan")


@dataclass(frozen=True)
class Measure:
    """A way to compare findings with the truth."""

    name: str
    """Stable name, such as `edges-auroc`."""
    label: str
    """What a reader sees."""
    compare: Callable[[Findings, Planted], float]
    """Returns the score, or NaN if there is nothing to compare."""


def _edges(compare: Callable[[Any, Any], float]) -> Callable[[Findings, Planted], float]:
    return lambda found, planted: _ranked(found.edges, planted.truth.edges, edge_labels(planted), compare)


def _nodes(compare: Callable[[Any, Any], float]) -> Callable[[Findings, Planted], float]:
    return lambda found, planted: _ranked(found.nodes, planted.truth.nodes, node_labels(planted), compare)


def node_labels(planted: Planted) -> list[str]:
    """Return the label of every head and feed-forward layer of a model."""
    return _nodes_of(planted.model.config)


def edge_labels(planted: Planted) -> list[str]:
    """Return the label of every edge of a model."""
    return _edges_of(planted.model.config)


@cache  # the controls ask for them a thousand times
def _nodes_of(config: ModelConfig) -> list[str]:
    return [part.label for part in parts_of(config)]


@cache
def _edges_of(config: ModelConfig) -> list[str]:
    graph = Graph(config)
    return graph.labels(np.arange(len(graph)))


def _ranked(
    scores: Mapping[str, float], true: frozenset[str], labels: Sequence[str], compare: Callable[[Any, Any], float]
) -> float:
    """Compare a ranking of all nodes or edges with those that belong on top; what is not claimed comes last."""
    if not scores:
        return NAN
    last = min(scores.values()) - 1
    return float(compare([label in true for label in labels], [scores.get(label, last) for label in labels]))


def kinds_agreement(found: Findings, planted: Planted) -> float:
    """Return the share of planted heads whose kind is named rightly; `self 2` counts as `self`."""
    known = planted.truth.kinds
    if not found.kinds or not known:
        return NAN
    return float(np.mean([found.kinds.get(head, "").startswith(kind) for head, kind in known.items()]))


def answer_layer(found: Findings, planted: Planted) -> float:
    """Return 1 if the layer at which the answer is there is right, otherwise 0."""
    if found.answer_layer is None:
        return NAN
    return float(abs(found.answer_layer - planted.truth.answer_layer) <= SAME_LAYER)


def verdicts(found: Findings, planted: Planted) -> float:
    """Return the balanced accuracy of the verdict `used`, over concepts known to be used, unused or absent."""
    known = _known(found, planted)
    said = [(truth_of == "used", one.verdict == "used") for one, truth_of in known if one.verdict is not None]
    wanted = [right for right, _ in said]
    if not 0 < sum(wanted) < len(wanted):
        return NAN
    return float(balanced_accuracy_score(wanted, [answer for _, answer in said]))


def decoys_rejected(found: Findings, planted: Planted) -> float:
    """Return the share of the unused concepts that are not called used."""
    said = [one.verdict != "used" for one, known in _known(found, planted) if known == "unused" and one.verdict]
    return float(np.mean(said)) if said else NAN


def decoys_decoded(found: Findings, planted: Planted) -> float:
    """Return the share of the unused concepts that are decoded better than by chance."""
    read = [one.score > 0 for one, known in _known(found, planted) if known == "unused"]
    return float(np.mean(read)) if read else NAN


def decodability(found: Findings, planted: Planted) -> float:
    """Return how well being decodable tells used from unused concepts, as AUROC."""
    known = [(one, truth_of) for one, truth_of in _known(found, planted) if truth_of != "absent"]
    wanted = [truth_of == "used" for _, truth_of in known]
    if not 0 < sum(wanted) < len(wanted):
        return NAN
    return float(roc_auc_score(wanted, [one.score for one, _ in known]))


def _known(found: Findings, planted: Planted) -> list[tuple[ConceptFinding, str]]:
    """Return the findings about concepts whose role is known, with what is true."""
    said = ((one, planted.truth.concepts.get((one.concept, one.layer), "")) for one in found.concepts)
    return [(one, known) for one, known in said if known]


def directions_f1(found: Findings, planted: Planted) -> float:
    """Return the F1 of the found directions against the planted ones, in the layers that have planted ones."""
    if not found.directions or not planted.truth.directions:
        return NAN
    right = claimed = recalled = 0
    for layer in {one.layer for one in planted.truth.directions}:
        true, _ = _planted_directions(planted.truth, layer)
        said = [one.vector for one in found.directions if one.layer == layer]
        if said:
            alike = np.abs(_units(said) @ true.T) >= SAME_DIRECTION
            right, recalled = right + int(alike.any(1).sum()), recalled + int(alike.any(0).sum())
            claimed += len(said)
    precision, recall = right / max(1, claimed), recalled / len(planted.truth.directions)
    return 2 * precision * recall / (precision + recall) if right else 0.0


def directions_used(found: Findings, planted: Planted) -> float:
    """Return how much of what is called used is used: a share of the claims, in the layers that have both kinds.

    A claim counts for each planted direction as far as it lies along it, by its score times the squared cosine. What
    lies along none whose use is known is left out; claims that lie along none at all score 0.
    """
    used = known = 0.0
    compared = False
    for layer in {one.layer for one in found.used_directions}:
        true, use = _planted_directions(planted.truth, layer)
        if not {True, False} <= set(use):
            continue
        compared = True
        claims = [one for one in found.used_directions if one.layer == layer]
        along = true @ _units([one.vector for one in claims]).T
        claimed = along**2 @ np.array([max(0.0, one.score) for one in claims])  # (planted direction,)
        right, wrong = (float(claimed[[one is kind for one in use]].sum()) for kind in (True, False))
        used, known = used + right, known + right + wrong
    return used / max(known, 1e-12) if compared else NAN


@cache
def _planted_directions(truth: Truth, layer: int) -> tuple[Floats, tuple[bool | None, ...]]:
    """Return the planted directions of a layer, (direction, d_model), and whether they are used."""
    there = [one for one in truth.directions if one.layer == layer]
    return np.array([one.vector.double().numpy() for one in there]), tuple(one.used for one in there)


def _units(vectors: Sequence[Floats]) -> Floats:
    """Return unit vectors as rows, (vector, d_model)."""
    rows = np.stack(vectors)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True).clip(1e-12)


MEASURES = (
    Measure("edges-auroc", "edges, AUROC", _edges(roc_auc_score)),
    Measure("edges-ap", "edges, average precision", _edges(average_precision_score)),
    Measure("nodes-auroc", "nodes, AUROC", _nodes(roc_auc_score)),
    Measure("nodes-ap", "nodes, average precision", _nodes(average_precision_score)),
    Measure("kinds", "kinds of attention, agreement", kinds_agreement),
    Measure("answer-layer", "layer of the answer", answer_layer),
    Measure("verdicts", "used or unused, balanced accuracy", verdicts),
    Measure("decoys-rejected", "unused concepts not called used", decoys_rejected),
    Measure("decoys-decoded", "unused concepts decoded", decoys_decoded),
    Measure("decodability", "decodable as a sign of use, AUROC", decodability),
    Measure("directions-f1", "directions, F1", directions_f1),
    Measure("directions-used", "directions called used that are", directions_used),
)
"""All measures, in the order of the report."""
NOT_COMPETING = ("decoys-rejected", "decoys-decoded", "decodability")
"""Measures that need not beat a control: who calls nothing used rejects every decoy, and two describe a plain probe."""


def random_claims(found: Findings, layers: int, rng: np.random.Generator) -> Findings:
    """Return claims of the same form with random scores, for a model with a number of layers."""
    kinds = sorted(set(found.kinds.values()))
    verdict: tuple[Verdict, Verdict] = ("used", "unused")
    return Findings(
        nodes={label: rng.random() for label in found.nodes},
        edges={label: rng.random() for label in found.edges},
        kinds={head: str(rng.choice(kinds)) for head in found.kinds},
        answer_layer=None if found.answer_layer is None else int(rng.integers(layers + 1)),
        concepts=tuple(
            replace(one, score=rng.normal(), verdict=verdict[rng.integers(2)] if one.verdict else None)
            for one in found.concepts
        ),
        directions=tuple(replace(one, vector=rng.normal(size=len(one.vector))) for one in found.directions),
        used_directions=tuple(
            replace(one, vector=rng.normal(size=len(one.vector)), score=rng.random()) for one in found.used_directions
        ),
    )


def shuffled_claims(found: Findings, layers: int, rng: np.random.Generator) -> Findings:
    """Return the claims with scores, kinds and verdicts assigned to others at random.

    A single layer cannot be shuffled and is drawn at random; the coordinates of a direction are permuted.
    """

    def shuffled(values: Mapping[str, Any]) -> dict[str, Any]:
        order = rng.permutation(len(values))
        listed = list(values.values())
        return {label: listed[place] for label, place in zip(values, order, strict=True)}

    order = rng.permutation(len(found.concepts))
    return Findings(
        nodes=shuffled(found.nodes),
        edges=shuffled(found.edges),
        kinds=shuffled(found.kinds),
        answer_layer=None if found.answer_layer is None else int(rng.integers(layers + 1)),
        concepts=tuple(
            replace(one, score=found.concepts[place].score, verdict=found.concepts[place].verdict)
            for one, place in zip(found.concepts, order, strict=True)
        ),
        directions=tuple(replace(one, vector=rng.permutation(one.vector)) for one in found.directions),
        used_directions=tuple(replace(one, vector=rng.permutation(one.vector)) for one in found.used_directions),
    )
