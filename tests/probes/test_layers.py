"""Probes trained together, on activations that encode a known answer."""

import pytest
import torch
from torch.nn.functional import one_hot

from alice.errors import AliceError
from alice.probes.layers import IGNORED, KINDS, LayerProbes

D = 12
THOROUGH = {"hidden": 16, "epochs": 8, "batch_size": 50, "learning_rate": 0.03}
"""Training of MLPs with many small steps, since there are few tokens here."""


def noise(layers, tokens, seed=0):
    return torch.randn(layers, tokens, D, generator=torch.Generator().manual_seed(seed))


def labels(tokens, classes, seed=1):
    return torch.randint(classes, (tokens,), generator=torch.Generator().manual_seed(seed))


def planted(tokens, *, first, layers=4, classes=3, seed=0):
    """Return activations that encode the label from layer `first` on, and the labels."""
    x, y = noise(layers, tokens, seed), labels(tokens, classes, seed + 1)
    directions = torch.randn(classes, D, generator=torch.Generator().manual_seed(99))
    x[first:] += 4 * one_hot(y, classes).float() @ directions
    return x, y


def shards(x, y, size=300):
    return list(zip(x.split(size, 1), y.split(size, -1), strict=True))


def accuracy(probes, x, y):
    return (probes.predict(x) == y).float().mean(-1)


@pytest.mark.parametrize("kind", KINDS)
def test_a_planted_label_is_read_from_its_layer_on(kind):
    train, test = planted(2000, first=2), planted(1000, first=2, seed=7)
    found = accuracy(LayerProbes(kind, **THOROUGH).fit(shards(*train), 3), *test)
    assert found.shape == (4,)
    assert found[:2].tolist() == pytest.approx([1 / 3, 1 / 3], abs=0.06)
    assert found[2:].min() > 0.98


def test_an_mlp_reads_what_a_linear_probe_cannot():
    def exclusive_or(seed):
        x = noise(2, 3000, seed)
        return x, ((x[1, :, 0] > 0) ^ (x[1, :, 1] > 0)).long()

    test = exclusive_or(5)
    linear, mlp = (
        accuracy(LayerProbes(kind, hidden=32, epochs=20, learning_rate=0.02).fit(shards(*exclusive_or(0)), 2), *test)
        for kind in KINDS
    )
    assert linear.tolist() == pytest.approx([0.5, 0.5], abs=0.06)
    assert mlp[0].item() == pytest.approx(0.5, abs=0.06)
    assert mlp[1].item() > 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_probes_trained_together_are_those_trained_alone(kind):
    x, y = planted(700, first=1, layers=3)
    x, other = x.double(), labels(700, 5, seed=8)
    other[::3] = IGNORED
    options = {"hidden": 8, "epochs": 2, "batch_size": 100, "seed": 3, "penalty": 5.0, "passes": 12}
    both = LayerProbes(kind, **options).fit(shards(x, torch.stack([y, other])), [3, 5]).logits(x)
    assert [scores.shape[-1] for scores in both] == [3, 5]
    for scores, target, classes in zip(both, (y, other), (3, 5), strict=True):
        for layer in range(3):
            alone = LayerProbes(kind, **options).fit(shards(x[layer : layer + 1], target), classes)
            (expected,) = alone.logits(x[layer : layer + 1])
            torch.testing.assert_close(scores[layer], expected[0], rtol=1e-6, atol=1e-8)


def test_tokens_without_a_label_teach_nothing():
    x, y = planted(600, first=0)
    hidden = torch.arange(600) % 2 == 0
    wrong = y.where(~hidden, (y + 1) % 3)  # half of the labels are wrong
    misled = LayerProbes().fit(shards(x, wrong), 3)
    kept = LayerProbes().fit(shards(x, y.where(~hidden, IGNORED)), 3)
    assert accuracy(kept, x, y).min() > 0.98
    assert accuracy(misled, x, y).max() < 0.9


@pytest.mark.parametrize("kind", KINDS)
def test_the_seed_determines_everything_and_only_mlps_depend_on_it(kind):
    pairs = shards(*planted(500, first=1))
    x = pairs[0][0]

    def trained(seed, state):
        torch.manual_seed(state)
        return LayerProbes(kind, hidden=8, seed=seed).fit(pairs, 3).logits(x)[0]

    assert torch.equal(trained(0, 1), trained(0, 2))
    assert torch.equal(trained(0, 1), trained(1, 1)) == (kind == "linear")


def test_whitening_makes_training_independent_of_scale_and_offset():
    """Any invertible affine map of the features gives the same answers."""
    x, y = (planted(800, first=1)[0].double(), planted(800, first=1)[1])
    mixing = torch.randn(D, D, dtype=torch.float64, generator=torch.Generator().manual_seed(4))
    moved = 1e3 * (x @ mixing) + 50
    one, other = (LayerProbes(tolerance=1e-9).fit([(given, y)], 3) for given in (x, x * 1e-3))
    torch.testing.assert_close(one.logits(x)[0], other.logits(x * 1e-3)[0], rtol=1e-5, atol=1e-6)
    found = LayerProbes().fit([(moved, y)], 3)
    assert accuracy(found, moved, y)[1:].min() > 0.98


def test_every_token_is_seen_once_an_epoch_whatever_the_shards():
    x = torch.arange(105.0).reshape(1, 105, 1)
    probes = LayerProbes("mlp", epochs=2, batch_size=20)
    seen = [part for part, _ in probes._minibatches(shards(x, labels(105, 2), 17), torch.Generator())]
    assert [part.shape[1] for part in seen] == [20, 20, 20, 20, 20, 5] * 2
    epochs = torch.cat(seen, 1)[0, :, 0].reshape(2, 105)
    assert not torch.equal(epochs[0], epochs[1])
    assert torch.equal(epochs.sort(-1).values, x[..., 0].expand(2, -1))


def test_a_constant_feature_does_no_harm():
    x, y = planted(600, first=0)
    x[:, :, 3] = 7.0
    probes = LayerProbes().fit(shards(x, y), 3)
    assert all(torch.isfinite(scores).all() for scores in probes.logits(x))
    assert accuracy(probes, x, y).min() > 0.98


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"kind": "cubic"}, "'cubic' is unknown"),
        ({"epochs": 0}, "1 or more"),
        ({"hidden": 0}, "1 or more"),
        ({"passes": 0}, "1 or more"),
    ],
)
def test_invalid_options_are_refused(options, complaint):
    with pytest.raises(AliceError, match=complaint):
        LayerProbes(**options)


def test_untrained_probes_and_empty_data_are_errors():
    with pytest.raises(AliceError, match="call fit first"):
        LayerProbes().predict(noise(1, 2))
    with pytest.raises(AliceError, match="no tokens to train"):
        LayerProbes().fit([(noise(1, 0), labels(0, 2))], 2)
