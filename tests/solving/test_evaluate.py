import math

import numpy as np
import pytest
import torch

from alice.errors import AliceError
from alice.solving.evaluate import Scores, score
from alice.text.alphabet import ENGLISH
from alice.text.batches import Batches, EncodedTexts


def test_scores_are_in_the_order_of_the_texts_and_count_wrong_characters(base):
    texts = ["ABC", "A LONGER TEXT THAN THE FIRST", "MIDDLING"]
    batches = Batches(EncodedTexts(texts, ENGLISH), ENGLISH)
    found = score(base, batches)
    assert found.lengths.tolist() == [3, 28, 8]
    for batch in batches:
        answer = base(batch.cipher_ids).argmax(-1)
        for row, number in enumerate(batch.index.tolist()):
            wrong = (answer[row] != batch.plain_ids[row]) & (batch.plain_ids[row] != 0)
            assert found.errors[number] == pytest.approx(float(wrong.sum()) / len(texts[number]))


def test_there_is_a_mean_for_each_part_that_has_texts():
    scores = Scores(np.array([10, 40, 130]), np.array([0.5, 0.3, 0.1]))
    found = scores.means()
    assert found == pytest.approx(
        {"all": 0.3, "<128": 0.4, ">=128": 0.1, "[0,32)": 0.5, "[32,64)": 0.3, "[128,256)": 0.1}
    )


def test_scoring_leaves_no_gradient_and_no_hook_behind(bijective):
    score(bijective, Batches(EncodedTexts(["SOME TEXT"], ENGLISH), ENGLISH))
    assert not bijective.list_hooks()
    assert all(weight.grad is None for weight in bijective.parameters())
    assert torch.is_grad_enabled()


def test_the_table_has_means_with_errors_and_medians_in_percent():
    scores = Scores(np.array([10, 20, 30, 130]), np.array([0.5, 0.3, 0.1, 0.0]))
    table = scores.table(np.random.default_rng(0))
    assert table.texts == 4
    assert table.mean["<128"].mean == pytest.approx(30.0)
    assert table.mean["<128"].error > 0
    assert table.median["[0,32)"].median == pytest.approx(30.0)
    assert table.mean["[32,64)"].count == 0


def test_per_character_a_text_counts_as_often_as_it_has_characters():
    scores = Scores(np.array([10, 20, 30, 130]), np.array([0.5, 0.3, 0.1, 0.0]))
    rates = scores.table(np.random.default_rng(0)).per_character
    assert rates["all"].mean == pytest.approx(100 * (5 + 6 + 3) / 190)
    assert rates["<128"].mean == pytest.approx(100 * 14 / 60)
    assert rates["<128"].error > 0
    assert (rates[">=128"].count, rates["[32,64)"].count) == (1, 0)
    assert math.isnan(rates["[32,64)"].mean)


@pytest.mark.parametrize("place", ["stream", "resid", "head"])
def test_weights_whose_scores_are_not_finite_are_an_error(model, place):
    """The assignment of the bijective head would hide them, and so would a norm whose mean square overflows."""
    with torch.no_grad():
        if place == "stream":
            model.blocks[0].mlp.down.weight.mul_(1e23)
        elif place == "resid":
            model.blocks[0].mlp.down.weight.fill_(3e38)
            model.blocks[0].mlp.gate_up.weight.fill_(10.0)
        else:
            model.head.unembed.weight.fill_(3e38)
            model.ln_final.w.fill_(3e38)
    batches = Batches(EncodedTexts(["SOME TEXT OR OTHER"], ENGLISH), ENGLISH)
    with pytest.raises(AliceError, match=r"computes (numbers|scores) that are not finite"):
        score(model, batches)
