"""Measures give 1 to the truth, chance to claims that know nothing, and their known value in between."""

import re

import numpy as np
import pytest
import torch

from alice.errors import AliceError
from alice.planted import Direction, Planted, Truth
from alice.plugins.conformance import tiny_model
from alice.plugins.findings import ConceptFinding, DirectionFinding, Findings
from alice.plugins.grade.checks import check_findings
from alice.plugins.grade.measure import score
from alice.plugins.grade.scores import MEASURES, edge_labels, random_claims, shuffled_claims

TRUTH = Truth(
    nodes=frozenset({"L0H0", "L0 MLP"}),
    edges=frozenset({"embedding → L0H0 v", "L0H0 → output"}),
    answer_layer=2,
    kinds={"L0H0": "self", "L0H1": "broad"},
    concepts={
        **{("rank", layer): "used" for layer in (1, 2)},
        **{("previous", layer): "unused" for layer in (1, 2)},
        ("previous", 0): "absent",
    },
    directions=(Direction("one", 1, torch.eye(16)[0], used=True), Direction("other", 1, torch.eye(16)[1], used=False)),
)
PLANTED = Planted("tiny", "It computes nothing.", tiny_model(), TRUTH)
PARTS = ["L0H0", "L0H1", "L0 MLP", "L1H0", "L1H1", "L1 MLP"]
AXES = np.eye(16)


def perfect() -> Findings:
    """Return findings that say the truth."""
    return Findings(
        nodes={label: float(label in TRUTH.nodes) for label in PARTS},
        edges=dict.fromkeys(TRUTH.edges, 1.0),
        kinds={"L0H0": "self", "L0H1": "broad 2", "L1H0": "self"},
        answer_layer=2,
        concepts=tuple(ConceptFinding(name, layer, 0.5, said) for (name, layer), said in TRUTH.concepts.items()),
        directions=(DirectionFinding(1, AXES[0]), DirectionFinding(1, -2 * AXES[1])),
        used_directions=(DirectionFinding(1, -AXES[0]),),
    )


def test_the_truth_scores_1_by_every_measure():
    scores = score(perfect(), PLANTED)
    assert scores.pop("decodability") == 0.5  # used and unused concepts are equally decodable here
    assert set(scores.values()) == {1.0}


@pytest.mark.parametrize("draw", [random_claims, shuffled_claims])
def test_claims_that_know_nothing_are_at_chance(draw):
    rng = np.random.default_rng(0)
    drawn = [score(draw(perfect(), 2, rng), PLANTED) for _ in range(400)]
    means = {measure.name: np.mean([one[measure.name] for one in drawn]) for measure in MEASURES}
    for name in ("nodes-auroc", "verdicts", "decodability"):
        assert means[name] == pytest.approx(0.5, abs=0.05)
    assert means["directions-used"] <= 0.55  # a permuted axis often lies along no planted direction
    assert means["answer-layer"] == pytest.approx(1 / 3, abs=0.08)


def test_what_is_not_claimed_comes_last():
    # One of the two true edges is first; the other shares the last place with all edges that are not true.
    others = len(edge_labels(PLANTED)) - 2
    found = Findings(edges={"L0H0 → output": 1.0})
    assert score(found, PLANTED)["edges-auroc"] == pytest.approx((others + others / 2) / (2 * others))


def test_exactly_the_true_nodes_score_1():
    assert score(Findings(nodes=dict.fromkeys(TRUTH.nodes, 0.0)), PLANTED)["nodes-auroc"] == 1.0


def test_calling_a_decoy_used_costs_and_calling_everything_used_is_chance():
    everything = [ConceptFinding(name, layer, 1.0, "used") for name, layer in TRUTH.concepts]
    scores = score(Findings(concepts=tuple(everything)), PLANTED)
    assert scores["verdicts"] == 0.5
    assert scores["decoys-rejected"] == 0.0
    assert scores["decoys-decoded"] == 1.0


def test_directions_of_another_layer_are_not_compared_and_wrong_ones_lower_precision():
    right, wrong = AXES[0], AXES[3]
    elsewhere = DirectionFinding(3, right)
    found = Findings(directions=(DirectionFinding(1, right), DirectionFinding(1, wrong), elsewhere))
    assert score(found, PLANTED)["directions-f1"] == pytest.approx(0.5)  # precision 1/2, recall 1/2
    assert score(Findings(directions=(elsewhere,)), PLANTED)["directions-f1"] == 0.0


def test_a_mixture_that_is_called_used_counts_by_its_score_as_far_as_it_lies_along_used_directions():
    mixed, unknown, elsewhere = AXES[0] + AXES[1], AXES[5], DirectionFinding(2, AXES[1])
    claims = (DirectionFinding(1, mixed, 2.0), DirectionFinding(1, AXES[0], 1.0), DirectionFinding(1, unknown, 9.0))
    found = Findings(used_directions=(*claims, elsewhere))
    assert score(found, PLANTED)["directions-used"] == pytest.approx(2 / 3)  # 1 + 1 of 2 + 1
    assert np.isnan(score(Findings(used_directions=(elsewhere,)), PLANTED)["directions-used"])


def test_what_is_not_claimed_is_not_scored():
    assert all(np.isnan(value) for value in score(Findings(), PLANTED).values())


@pytest.mark.parametrize(
    ("found", "complaint"),
    [
        ([1.0], "returned list; return alice.plugins.findings.Findings"),
        (Findings(nodes={"L0H9": 1.0}), "nodes names 'L0H9', which the model does not have"),
        (Findings(nodes={"L0H0": float("nan")}), "the score of L0H0 is nan; give a finite number"),
        (Findings(edges={"embedding → output": "much"}), "is 'much'; give a finite number"),
        (Findings(kinds={"L0H0": 3}), "the kind of L0H0 is 3; give its name"),
        (Findings(answer_layer="two"), "answer_layer is 'two'; give a number or None"),
        (Findings(concepts=(ConceptFinding("rank", 9, 1.0),)), "about layer 9; the model has layers 0 to 2"),
        (Findings(concepts=(ConceptFinding("rank", 1, float("inf")),)), "the score of 'rank' is inf"),
        (Findings(concepts=(ConceptFinding("rank", 1, 1.0, "banana"),)), "the verdict on 'rank' is 'banana'"),
        (Findings(directions=(DirectionFinding(1, np.ones(3)),)), "has the shape (3,); give (16,) finite numbers"),
        (Findings(directions=(DirectionFinding(1, np.full(16, np.nan)),)), "give (16,) finite numbers"),
        (Findings(used_directions=(DirectionFinding(1, AXES[0], float("nan")),)), "the score of a direction is nan"),
    ],
)
def test_findings_that_cannot_be_compared_are_one_sentence(found, complaint):
    with pytest.raises(AliceError, match=re.escape(complaint)):
        check_findings(found, PLANTED, of="mine")


def test_the_truth_passes_the_check():
    check_findings(perfect(), PLANTED, of="mine")
