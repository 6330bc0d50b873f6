import numpy as np
import pytest
import torch

from alice.causal import answer_scores, recovered, right_symbols, symbol_errors
from alice.model import Alice
from alice.text import ENGLISH, Batches, Counterfactuals, EncodedTexts, Words

TEXTS = ["THE CAT SAW A DOG.", "NO DOG SAW THE CAT"]


@pytest.fixture
def pair():
    batch = Batches(EncodedTexts(TEXTS, ENGLISH), ENGLISH)[0]
    return Counterfactuals("other-text", ENGLISH, Words(["DOG HEN SAT A IT BEE"])).pair(batch)


def test_the_right_symbols_decrypt_every_text(pair):
    right = right_symbols(pair.clean, ENGLISH)
    assert torch.equal(right.gather(1, pair.clean.cipher_ids), pair.clean.plain_ids)


def test_scores_are_the_mean_log_probability_of_the_letters_present(model: Alice, pair):
    ids = pair.clean.cipher_ids
    resid = model.resid(ids)
    right = right_symbols(pair.clean, ENGLISH)
    found = answer_scores(model, resid, ids, right, pair.scored)
    table = model.log_probabilities(resid, ids)
    for row in range(2):
        letters = sorted({int(symbol) for symbol in ids[row] if 1 <= symbol <= 26})
        expected = torch.stack([table[row, c, right[row, c]] for c in letters]).mean()
        assert float(found[row].detach()) == pytest.approx(float(expected.detach()), abs=1e-5)
    found.sum().backward()
    assert model.blocks[0].mlp.down.weight.grad.abs().sum() > 0


def test_symbol_errors_are_those_of_the_answers(base, pair):
    ids = pair.clean.cipher_ids
    errors = symbol_errors(base, base.resid(ids), ids, pair.clean)
    wrong = (base(ids).argmax(-1) != pair.clean.plain_ids) & pair.clean.mask
    assert torch.allclose(errors, wrong.sum(1) / pair.clean.mask.sum(1))


def test_the_clean_run_recovers_all_and_the_corrupted_run_nothing():
    clean, corrupted = np.array([-0.1, -0.2, -0.4]), np.array([-3.0, -2.0, -4.0])
    found = recovered(
        np.stack([clean, corrupted, (clean + corrupted) / 2], 1), clean, corrupted, np.random.default_rng(0)
    )
    np.testing.assert_allclose(found.share, [1, 0, 0.5], atol=1e-12)
    np.testing.assert_allclose(found.high - found.low, 0, atol=1e-12)  # every text agrees


def test_a_share_is_a_ratio_of_means():
    clean, corrupted = np.array([0.0, 0.0]), np.array([-1.0, -9.0])
    scores = np.array([[0.0], [-9.0]])  # all of the easy text, nothing of the other
    found = recovered(scores, clean, corrupted, np.random.default_rng(0))
    assert found.share[0] == pytest.approx(0.1)
    assert found.low[0] < 0.1 < found.high[0]


def test_intervals_cover_the_truth_as_often_as_they_say():
    rng = np.random.default_rng(1)
    hits = 0
    for _ in range(200):
        whole = rng.gamma(2.0, size=100)
        part = whole * rng.beta(2, 6, size=100)
        found = recovered(part[:, None], whole, np.zeros(100), rng, draws=400)
        hits += found.low[0] <= 0.25 <= found.high[0]
    assert 0.90 <= hits / 200 <= 0.99


def test_differences_of_columns_are_paired():
    rng = np.random.default_rng(2)
    whole = rng.gamma(1.0, size=60)
    scores = np.stack([whole * 0.5, whole * 0.4], 1)
    noise = rng.normal(size=60)
    found = recovered(scores + noise[:, None], whole, np.zeros(60), rng)
    difference = found.draws[:, 0] - found.draws[:, 1]
    np.testing.assert_allclose(difference, 0.1, atol=1e-9)


def test_nothing_can_be_recovered_where_nothing_was_lost():
    same = np.array([-1.0, -2.0])
    assert np.isnan(recovered(same[:, None], same, same, np.random.default_rng(0)).share).all()
