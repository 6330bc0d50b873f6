"""Checks findings before they are graded: known labels, finite numbers, shapes; a fault is one sentence."""

import math
from collections.abc import Iterable, Iterator, Mapping
from numbers import Real
from typing import Any

import numpy as np

from alice.errors import AliceError, nearest
from alice.planted import Planted
from alice.planted.truth import VERDICTS
from alice.plugins.findings import Findings
from alice.plugins.grade.scores import edge_labels, node_labels


def check_findings(found: Any, planted: Planted, *, of: str) -> None:
    """Raise if findings of an analysis cannot be compared with a planted model."""
    if not isinstance(found, Findings):
        raise AliceError(
            f"findings of {of} returned {type(found).__name__}; "
            "return alice.plugins.findings.Findings, or a dictionary of them by method"
        )
    for fault in _faults(found, planted):
        raise AliceError(f"findings of {of}: {fault}")


def _faults(found: Findings, planted: Planted) -> Iterator[str]:
    nodes, layers = node_labels(planted), planted.model.config.n_layers
    yield from _of_scores(found.nodes, nodes, "nodes")
    yield from _of_scores(found.edges, edge_labels(planted), "edges")
    kinds: Mapping[str, Any] = found.kinds
    for head, kind in kinds.items():
        yield from _of_label(head, nodes, "kinds")
        if not isinstance(kind, str):
            yield f"the kind of {head} is {kind!r:.40}; give its name"
    if found.answer_layer is not None and not _is_number(found.answer_layer):
        yield f"answer_layer is {found.answer_layer!r:.40}; give a number or None"
    directions = (*found.directions, *found.used_directions)
    for layer in (*(one.layer for one in found.concepts), *(one.layer for one in directions)):
        if not _is_number(layer) or not 0 <= layer <= layers:
            yield f"a claim is about layer {layer!r:.40}; the model has layers 0 to {layers}"
    for concept in found.concepts:
        if not _is_number(concept.score):
            yield f"the score of {concept.concept!r:.40} is {concept.score!r:.40}; give a finite number"
        if concept.verdict is not None and concept.verdict not in VERDICTS:
            known = ", ".join(VERDICTS)
            yield f"the verdict on {concept.concept!r:.40} is {concept.verdict!r:.40}; give one of {known}"
    width = (planted.model.config.d_model,)
    for direction in directions:
        if not _is_number(direction.score):
            yield f"the score of a direction is {direction.score!r:.40}; give a finite number"
        if np.shape(direction.vector) != width or not np.isfinite(np.asarray(direction.vector, float)).all():
            yield f"a direction has the shape {np.shape(direction.vector)}; give {width} finite numbers"


def _of_scores(scores: Mapping[str, Any], labels: Iterable[str], what: str) -> Iterator[str]:
    for label, score in scores.items():
        yield from _of_label(label, labels, what)
        if not _is_number(score):
            yield f"the score of {label} is {score!r:.40}; give a finite number"


def _of_label(label: Any, labels: Iterable[str], what: str) -> Iterator[str]:
    if label not in labels:
        yield f"{what} names {label!r:.60}, which the model does not have{nearest(str(label), labels)}"


def _is_number(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)
