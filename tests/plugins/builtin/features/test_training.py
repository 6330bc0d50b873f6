"""Autoencoders on streams whose sparse directions are known."""

import numpy as np
import pytest
import torch

from alice.errors import AliceError
from alice.plugins.builtin.features import training
from alice.plugins.builtin.features.autoencoders import Autoencoders
from alice.plugins.builtin.features.training import Kept, Learner, Scaling, Size, learning_rate

WIDTH, DIRECTIONS, FEATURES, LAYERS = 32, 32, 64, 2


@pytest.fixture(scope="module")
def planted():
    """Unit directions of two layers, (layer, direction, d)."""
    found = torch.randn(LAYERS, DIRECTIONS, WIDTH, generator=torch.Generator().manual_seed(1))
    return found / found.norm(dim=-1, keepdim=True)


def streams_of(planted, count, seed):
    """Draw streams in which each direction is present with probability 1/16, (layer, character, d)."""
    generator = torch.Generator().manual_seed(seed)
    shape = (LAYERS, count, DIRECTIONS)
    present = torch.rand(shape, generator=generator) < 1 / 16
    return (present * (1 + torch.rand(shape, generator=generator))) @ planted


@pytest.fixture(scope="module")
def trained(planted):
    """Autoencoders with more features than there are directions, trained on such streams for 300 steps."""
    learner = Learner(LAYERS, WIDTH, Size(FEATURES, 2), torch.Generator().manual_seed(0))
    scaling = Scaling.of(streams_of(planted, 4096, 0))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(training, "SILENT", 2000)
        patch.setattr(training, "REVIVAL_SHARE", 1)
        for step in range(300):
            learner.step(scaling.scaled(streams_of(planted, 256, step)), 5 * learning_rate(step / 300))
    return learner.finished(scaling)


def f1_of(found, planted, least=0.9):
    """Return the share of the directions of both sides that have one on the other side with a large cosine."""
    near = (found @ planted.T).abs() >= least
    return float(near.any(1).sum() + near.any(0).sum()) / (len(found) + len(planted))


def claimed(trained, planted, layer):
    """Return the directions of the features that carry 99 % of a layer, as `findings` does."""
    energy = trained.encode(streams_of(planted, 2000, 5)[layer], layer).square().mean(0)
    order = energy.argsort(descending=True)
    shares = energy[order] / energy.sum()
    return trained.decoder[layer, order[shares.cumsum(0) - shares < 0.99]]


def test_planted_directions_are_found_in_every_layer(trained, planted):
    for layer in range(LAYERS):
        found = claimed(trained, planted, layer)
        assert f1_of(found, planted[layer]) >= 0.9
        assert f1_of(found, planted[1 - layer]) == 0


def test_the_threshold_keeps_as_many_features_as_training_did_and_reads_raw_streams(trained, planted):
    streams = streams_of(planted, 2000, 7)
    for layer in range(LAYERS):
        active = (trained.encode(streams[layer], layer) > 0).float()
        assert active.sum(-1).mean() == pytest.approx(2, rel=0.2)
        rest = (streams[layer] - trained.reconstruct(streams[layer], layer)).square().sum()
        assert rest < 0.1 * (streams[layer] - trained.mean[layer]).square().sum()


def test_activations_of_a_text_do_not_depend_on_other_texts(trained, planted):
    streams = streams_of(planted, 8, 3)[0]
    assert torch.allclose(trained.encode(streams, 0)[:2], trained.encode(streams[:2], 0), atol=1e-6)


def test_the_most_frequent_character_does_not_become_the_origin():
    names, axes = torch.randint(8, (200, 256), generator=torch.Generator().manual_seed(0)), torch.eye(12)
    streams = axes[torch.where(names < 4, 0, names)].expand(1, -1, -1, -1)  # half of all characters are the first axis
    learner, scaling = Learner(1, 12, Size(12, 1), torch.Generator().manual_seed(0)), Scaling.of(streams[:, 0])
    for step in range(200):
        learner.step(scaling.scaled(streams[:, step]), 4 * learning_rate(step / 200))
    others = axes[4:8] @ learner.finished(scaling).decoder[0].T
    assert others.max(1).values.min() > 0.8


def test_directions_have_length_one(trained):
    assert torch.allclose(trained.decoder.norm(dim=-1), torch.ones(LAYERS, FEATURES), atol=1e-5)


def test_the_gradients_are_those_of_autograd():
    learner = Learner(2, 5, Size(7, 2), torch.Generator().manual_seed(0))
    streams = torch.randn(2, 11, 5, generator=torch.Generator().manual_seed(1))
    found = streams @ learner.encoder.mT + learner.encoder_bias[:, None]
    kept = Kept.of(found.detach(), 2)
    learner._learn(streams, kept)
    expected = {name: getattr(learner, name).grad.clone() for name in ("encoder", "encoder_bias", "decoder")}
    learner.optimizer.zero_grad()
    active = torch.where(found >= kept.smallest[:, None, None], found, 0.0)
    ((streams - active @ learner.decoder) ** 2).sum(-1).mean(1).sum().backward()
    for name, gradient in expected.items():
        assert torch.allclose(getattr(learner, name).grad, gradient, atol=1e-5), name


def test_the_largest_activations_of_a_whole_batch_are_kept():
    found = torch.tensor([[[5.0, 4.0, 3.0], [1.0, 0.5, -1.0]]])  # two characters, one feature each on average
    kept = Kept.of(found, 1)
    assert (kept.features.tolist(), kept.characters.tolist(), kept.values.tolist()) == ([0, 1], [0, 0], [5.0, 4.0])
    assert Kept.of(-found.abs(), 1).values.tolist() == []


def test_silent_features_learn_from_what_is_left(monkeypatch, planted):
    monkeypatch.setattr(training, "SILENT", 100)
    streams = streams_of(planted, 64, 0)
    learner = Learner(LAYERS, WIDTH, Size(DIRECTIONS, 2), torch.Generator().manual_seed(0))
    learner.silent[:] = 0
    learner.silent[:, 3] = 1000
    learner.encoder.grad = learner.decoder.grad = None
    learner._revive(streams, streams)
    moved = learner.decoder.grad.abs().sum(-1) > 0
    assert moved[:, 3].all()
    assert moved.sum() == LAYERS


def test_two_seeds_differ_and_one_seed_repeats(planted):
    def directions(seed):
        learner = Learner(LAYERS, WIDTH, Size(8, 2), torch.Generator().manual_seed(seed))
        learner.step(streams_of(planted, 64, 0), 1e-3)
        return learner.decoder.detach()

    assert torch.equal(directions(0), directions(0))
    assert not torch.allclose(directions(0), directions(1))


def test_the_learning_rate_rises_and_falls_to_nothing():
    rates = [learning_rate(progress) for progress in np.linspace(0, 1, 21)]
    assert rates[0] < rates[1] == max(rates)
    assert rates[-1] == 0


def test_tensors_that_are_no_autoencoders_are_refused(trained):
    assert torch.equal(Autoencoders.of(trained.tensors).decoder, trained.decoder)
    with pytest.raises(AliceError, match="these tensors are not features: expected mean"):
        Autoencoders.of({"A": torch.eye(2)})
    with pytest.raises(AliceError, match=r"threshold of these features has shape \(3,\), not \(2,\)"):
        Autoencoders.of(trained.tensors | {"threshold": torch.zeros(3)})
    with pytest.raises(AliceError, match="streams of width 32 at layers 0 to 1, not of width 5 at layer 0"):
        trained.encode(torch.zeros(3, 5), 0)
    with pytest.raises(AliceError, match="at layer 2"):
        trained.encode(torch.zeros(3, WIDTH), 2)
