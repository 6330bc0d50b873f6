"""Measures give 1 to the truth, chance to claims that know nothing, and their known value in between."""

import numpy as np
import pytest
import torch

from alice.planted import Direction, Truth
from alice.plugins.findings import ConceptFinding, DirectionFinding, Findings
from alice.plugins.grade.measure import score
from alice.plugins.grade.scores import MEASURES, random_claims, shuffled_claims

PARTS = [f"L{block}H{head}" for block in range(3) for head in range(4)]
TRUTH = Truth(
    nodes=frozenset(PARTS[:3]),
    edges=frozenset({"embedding → L0H0 v", "L0H0 → output"}),
    answer_layer=2,
    kinds={"L0H0": "self", "L0H1": "broad"},
    concepts={("rank", 1): "used", ("rank", 2): "used", ("previous", 1): "unused", ("previous", 2): "unused"},
    directions=(Direction("one", 1, torch.eye(4)[0]), Direction("other", 1, torch.eye(4)[1])),
)
EDGES = [*TRUTH.edges, *(f"{writer} → {reader}" for writer in PARTS for reader in ("L9 MLP", "L9H0 q"))]


def perfect() -> Findings:
    """Return findings that say the truth."""
    return Findings(
        nodes={label: float(label in TRUTH.nodes) for label in PARTS},
        edges={label: float(label in TRUTH.edges) for label in EDGES},
        kinds={"L0H0": "self", "L0H1": "broad 2", "L1H0": "self"},
        answer_layer=2,
        concepts=tuple(ConceptFinding(name, layer, 0.5, said) for (name, layer), said in TRUTH.concepts.items()),
        directions=(DirectionFinding(1, np.array([1.0, 0, 0, 0])), DirectionFinding(1, np.array([0, -2.0, 0, 0]))),
    )


def test_the_truth_scores_1_by_every_measure():
    scores = score(perfect(), TRUTH)
    assert scores.pop("decodability") == 0.5  # used and unused concepts are equally decodable here
    assert set(scores.values()) == {1.0}


@pytest.mark.parametrize("draw", [random_claims, shuffled_claims])
def test_claims_that_know_nothing_are_at_chance(draw):
    rng = np.random.default_rng(0)
    drawn = [score(draw(perfect(), 3, rng), TRUTH) for _ in range(400)]
    means = {measure.name: np.mean([one[measure.name] for one in drawn]) for measure in MEASURES}
    for name in ("nodes-auroc", "edges-auroc", "verdicts", "decodability"):
        assert means[name] == pytest.approx(0.5, abs=0.05)
    assert means["nodes-ap"] == pytest.approx(3 / 12, abs=0.15)
    assert means["answer-layer"] == pytest.approx(1 / 4, abs=0.08)


def test_a_true_edge_that_is_not_mentioned_comes_last():
    found = Findings(edges={"L0H0 → output": 1.0, "L1H0 → output": 0.5, "L2H0 → output": 0.0})
    # Of the two true edges one is first; the other ties with the lowest: half of 1 x 2 pairs lost, plus half a tie.
    assert score(found, TRUTH)["edges-auroc"] == pytest.approx((2 + 0.5) / 4)


def test_calling_a_decoy_used_costs_and_calling_everything_used_is_chance():
    everything = [ConceptFinding(name, layer, 1.0, "used") for name, layer in TRUTH.concepts]
    scores = score(Findings(concepts=tuple(everything)), TRUTH)
    assert scores["verdicts"] == 0.5
    assert scores["decoys-rejected"] == 0.0
    assert scores["decoys-decoded"] == 1.0


def test_directions_of_another_layer_are_not_compared_and_wrong_ones_lower_precision():
    right, wrong = np.eye(4)[0], np.eye(4)[3]
    elsewhere = DirectionFinding(3, right)
    found = Findings(directions=(DirectionFinding(1, right), DirectionFinding(1, wrong), elsewhere))
    assert score(found, TRUTH)["directions-f1"] == pytest.approx(0.5)  # precision 1/2, recall 1/2
    assert score(Findings(directions=(elsewhere,)), TRUTH)["directions-f1"] == 0.0


def test_what_is_not_claimed_is_not_scored():
    assert all(np.isnan(value) for value in score(Findings(), TRUTH).values())
