"""Compares findings with the truth of a planted model: one function per measure, and two controls.

Every measure lies between 0 and 1, and more is better. A control makes claims of the same form that know nothing: with
random scores, or with the analysis' own scores shuffled.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.metrics import average_precision_score, balanced_accuracy_score, roc_auc_score

from alice.planted import Direction, Truth, Verdict
from alice.plugins.findings import ConceptFinding, DirectionFinding, Findings
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
    compare: Callable[[Findings, Truth], float]
    """Returns the score, or NaN if there is nothing to compare."""


def _edges(compare: Callable[[Any, Any], float]) -> Callable[[Findings, Truth], float]:
    return lambda found, truth: _ranked(found.edges, truth.edges, compare)


def _nodes(compare: Callable[[Any, Any], float]) -> Callable[[Findings, Truth], float]:
    return lambda found, truth: _ranked(found.nodes, truth.nodes, compare)


def _ranked(scores: Mapping[str, float], true: frozenset[str], compare: Callable[[Any, Any], float]) -> float:
    """Compare a ranking with the labels that belong on top; a true label without a score comes last."""
    if not scores:
        return NAN
    lowest = min(scores.values())
    labels = [*scores, *sorted(true - scores.keys())]
    wanted = np.array([label in true for label in labels])
    values = np.nan_to_num([scores.get(label, lowest) for label in labels], nan=lowest)
    return float(compare(wanted, values)) if 0 < wanted.sum() < len(wanted) else NAN


def kinds_agreement(found: Findings, truth: Truth) -> float:
    """Return the share of planted heads whose kind is named rightly; `self 2` counts as `self`."""
    if not found.kinds or not truth.kinds:
        return NAN
    right = [found.kinds.get(head, "").startswith(kind) for head, kind in truth.kinds.items()]
    return float(np.mean(right))


def answer_layer(found: Findings, truth: Truth) -> float:
    """Return 1 if the layer at which the answer is there is right, otherwise 0."""
    if found.answer_layer is None:
        return NAN
    return float(abs(found.answer_layer - truth.answer_layer) <= SAME_LAYER)


def verdicts(found: Findings, truth: Truth) -> float:
    """Return the balanced accuracy of the verdict `used`, over concepts known to be used or unused."""
    known = _known(found, truth)
    said = [(truth_of == "used", one.verdict == "used") for one, truth_of in known if one.verdict is not None]
    wanted = [right for right, _ in said]
    if not 0 < sum(wanted) < len(wanted):
        return NAN
    return float(balanced_accuracy_score(wanted, [answer for _, answer in said]))


def decoys_rejected(found: Findings, truth: Truth) -> float:
    """Return the share of the unused concepts that are not called used."""
    said = [one.verdict != "used" for one, known in _known(found, truth) if known == "unused" and one.verdict]
    return float(np.mean(said)) if said else NAN


def decoys_decoded(found: Findings, truth: Truth) -> float:
    """Return the share of the unused concepts that are decoded better than by chance."""
    read = [one.score > 0 for one, known in _known(found, truth) if known == "unused"]
    return float(np.mean(read)) if read else NAN


def decodability(found: Findings, truth: Truth) -> float:
    """Return how well being decodable tells used from unused concepts, as AUROC."""
    known = _known(found, truth)
    wanted = [truth_of == "used" for _, truth_of in known]
    if not 0 < sum(wanted) < len(wanted):
        return NAN
    return float(roc_auc_score(wanted, [one.score for one, _ in known]))


def _known(found: Findings, truth: Truth) -> list[tuple[ConceptFinding, str]]:
    """Return the findings about concepts that are known to be used or unused, with what is true."""
    said = ((one, truth.concepts.get((one.concept, one.layer), "")) for one in found.concepts)
    return [(one, known) for one, known in said if known in ("used", "unused")]


def directions_f1(found: Findings, truth: Truth) -> float:
    """Return the F1 of the found directions against the planted ones, in the layers that have planted ones."""
    layers = {one.layer for one in truth.directions}
    said = [one for one in found.directions if one.layer in layers]
    if not found.directions or not layers:
        return NAN
    alike = np.array([[_same(one, planted) for planted in truth.directions] for one in said]).reshape(
        len(said), len(truth.directions)
    )
    precision, recall = (alike.any(axis).mean() if alike.size else 0.0 for axis in (1, 0))
    return float(2 * precision * recall / (precision + recall)) if precision + recall else 0.0


def _same(found: DirectionFinding, planted: Direction) -> bool:
    if found.layer != planted.layer:
        return False
    return bool(abs(_unit(found.vector) @ _unit(planted.vector.double().numpy())) >= SAME_DIRECTION)


def _unit(vector: Floats) -> Floats:
    return vector / max(float(np.linalg.norm(vector)), 1e-12)


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
)
"""All measures, in the order of the report."""
NOT_COMPETING = ("decoys-decoded", "decodability")
"""Measures that describe a plain probe; nothing is claimed by them, so no control has to be beaten."""


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
    )
