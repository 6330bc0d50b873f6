"""Linear probes trained to convergence, compared with scikit-learn's."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from alice.probes import linear
from alice.probes.layers import IGNORED, LayerProbes
from alice.probes.linear import Conditioner, fit_linear
from alice.probes.online import losses, online_code

D = 6


def data(tokens=600, classes=4, seed=0):
    """Return two layers whose features have unequal scales, and labels that depend on them with noise."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.randn(2, tokens, D, generator=generator, dtype=torch.float64)
    weight = torch.randn(2, D, classes, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    noise = -(-torch.rand(tokens, classes, generator=generator, dtype=torch.float64).log()).log()
    y = (1.5 * (x[0] @ weight[0]) + noise).argmax(-1)
    return x * torch.tensor([1.0, 3.0, 0.1, 1.0, 10.0, 0.3]) + 5, y


def test_a_converged_probe_is_scikit_learns_logistic_regression():
    x, y = data()
    probes = LayerProbes(penalty=2.0, passes=500, tolerance=1e-12).fit([(x, y)], 4)
    for layer, scores in enumerate(probes.logits(x)[0]):
        features = x[layer].numpy()
        strength = 2.0 * features.var(0).mean()
        reference = LogisticRegression(C=1 / strength, tol=1e-10, max_iter=5000).fit(features, y.numpy())
        assert scores.softmax(-1).numpy() == pytest.approx(reference.predict_proba(features), abs=1e-4)


def test_the_estimated_gap_tells_converged_probes_from_others():
    x, y = data()
    options = {"penalty": 1.0, "tolerance": 1e-6}
    short, long = (fit_linear([(x, y)], [4], passes=passes, **options) for passes in (3, 300))
    assert short.gap[0] > 1e-4  # the other layer has nothing to learn
    assert (long.gap < 1e-6).all()
    assert (short.objective > long.objective).all()


def test_a_start_saves_passes_and_changes_nothing():
    x, y = data()
    options = {"penalty": 1.0, "tolerance": 1e-10}
    cold = fit_linear([(x, y)], [4], passes=300, **options)
    warm = fit_linear([(x, y)], [4], passes=2, start=cold, **options)
    torch.testing.assert_close(warm.weight, cold.weight, rtol=1e-3, atol=1e-3)


def test_every_layer_and_task_can_have_its_own_penalty():
    x, y = data()
    both = LayerProbes(penalty=torch.tensor([[0.1, 10.0], [1000.0, 1.0]]), tolerance=1e-10, passes=300)
    both.fit([(x, torch.stack([y, y]))], [4, 4])
    alone = LayerProbes(penalty=10.0, tolerance=1e-10, passes=300).fit([(x[:1], y)], 4)
    torch.testing.assert_close(both.logits(x)[1][:1], alone.logits(x[:1])[0], rtol=1e-3, atol=1e-4)


def test_activations_that_do_not_fit_in_memory_give_the_same_probes(monkeypatch):
    x, y = data()
    pairs = list(zip(x.split(100, 1), y.split(100), strict=True))
    kept = LayerProbes().fit(pairs, 4).logits(x)[0]
    monkeypatch.setattr(linear, "MEMORY", 0)
    torch.testing.assert_close(LayerProbes().fit(pairs, 4).logits(x)[0], kept, rtol=1e-6, atol=1e-8)


def test_folding_and_unfolding_are_inverse():
    x, _ = data()
    found = Conditioner.measure(iter([x]))
    weight, bias = torch.randn(2, D, 3, dtype=torch.float64), torch.randn(2, 1, 3, dtype=torch.float64)
    for one, other in zip(found.unfold(*found.fold(weight, bias)), (weight, bias), strict=True):
        torch.testing.assert_close(one, other)
    torch.testing.assert_close(found.whitened(x).mT @ found.whitened(x) / 600, torch.eye(D).double().expand(2, D, D))


def test_an_online_code_is_short_for_what_is_easily_read_and_no_longer_than_uniform_otherwise():
    tokens, texts = 40, 32
    x = torch.randn(1, texts * tokens, 4, generator=torch.Generator().manual_seed(0))
    easy = (x[0, :, 0] > 0).long()
    noise = torch.randint(2, (texts * tokens,), generator=torch.Generator().manual_seed(1))
    easy[::7] = IGNORED
    labels, text = torch.stack([easy, noise]), np.repeat(np.arange(texts), tokens)

    def pairs(chosen):
        here = torch.from_numpy(chosen[text])
        return [(x[:, here], labels[:, here])]

    rng = np.random.default_rng(0)
    code = online_code(LayerProbes(penalty=0.1), pairs, [2, 2], texts=np.ones(texts, bool), rng=rng)
    assert code.uniform.tolist() == [1.0, 1.0]
    assert code.bits.shape == (1, 2)
    assert code.bits[0, 0] < 0.25  # two texts at one bit per label, and then close to nothing
    assert 0.98 < code.bits[0, 1] < 1.1
    nats, count = losses(code.probes, pairs(np.ones(texts, bool)))
    assert count.tolist() == [int((easy != IGNORED).sum()), texts * tokens]
    assert nats[0, 0] / count[0] < 0.05
