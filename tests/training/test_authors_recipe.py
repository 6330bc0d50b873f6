"""A step of the recipe `authors` is a step of the authors' code, and its rates are theirs."""

from dataclasses import replace

import pytest
import torch
import upstream_reference as reference
import upstream_training as theirs
from accelerate import Accelerator

from alice.checkpoint.upstream import pieces, rename
from alice.model import Alice, heads
from alice.model.config import VARIANTS
from alice.text.alphabet import ENGLISH
from alice.text.batches import Batches, EncodedTexts
from alice.training.loop import Trainer
from alice.training.loss import token_losses
from alice.training.presets import AUTHORS, PAPER_SIZES, model_config

TEXTS = ["IT RAINS.", "A LONGER TEXT, WHICH MIXES WITH SHORT ONES!", "NOT SO LONG, BUT LONGER THAN THE FIRST"]
TINY = {"d_model": 32, "n_layers": 3, "n_heads": 2, "d_mlp": 256, "hyper_heads": 4, "hyper_mlp": 88, "n_ctx": 1024}
STILL = {"dropout": 0.0, "attention_dropout": 0.0, "stochastic_depth": 0.0}
SINKHORN = {"sinkhorn_tau": 5.0, "sinkhorn_iters": 5, "cross_n_head": None}


def authors_config(variant):
    """Return the configuration of their model that the recipe should give."""
    return reference.CONFIGS[variant] | (SINKHORN if variant == "bijective" else {})


def authors_model(variant, state, **changes):
    config = model_config("mini", variant, recipe="authors", **TINY, **changes)
    model = Alice(config)
    model.load_state_dict(rename(state, config, where="here"))
    return model


def trainer_of(model, tmp_path, **changes):
    options = {"stream": None, "validation": None, "folder": tmp_path, "accelerator": Accelerator(cpu=True)}
    return Trainer(model, replace(AUTHORS, precision="fp32", **changes), **options)


@pytest.fixture(scope="module")
def batch():
    """One batch of three texts of different lengths, in the order given."""
    (batch,) = Batches(EncodedTexts(TEXTS, ENGLISH), ENGLISH, mixed=True)
    assert [len(text) for text in TEXTS] == batch.mask.sum(1).tolist()
    return batch


@pytest.fixture
def noise(batch, monkeypatch):
    """Fixed noise in place of Gumbel noise, (batch, 37, 37)."""
    fixed = torch.randn(len(batch), 37, 37, generator=torch.Generator().manual_seed(4))
    monkeypatch.setattr(heads, "gumbel_noise", lambda scores: fixed)
    return fixed


def under_our_names(state, config):
    """Return tensors under our names; `rename` would round them to single precision."""
    parts = {}
    for name, _, ours in pieces(config):
        parts.setdefault(ours, []).append(state[name])
    return {name: torch.cat(tensors) for name, tensors in parts.items()}


def assert_same(ours, expected):
    """Compare to 1e-5 of the largest entry; some gradients are zero but for rounding."""
    assert ours.keys() == expected.keys()
    for name, tensor in expected.items():
        assert (ours[name].double() - tensor).abs().max() <= 1e-5 * tensor.abs().max() + 1e-9, name


@pytest.mark.parametrize("variant", VARIANTS)
def test_loss_and_gradients_are_those_of_the_authors_code(variant, batch, noise, tmp_path):
    config = authors_config(variant)
    state = reference.random_state(config)
    model = authors_model(variant, state, **STILL)
    tokens = int(batch.mask.sum())
    found = trainer_of(model, tmp_path)._backward(batch, tokens) / tokens
    loss, slopes = theirs.gradients(state, config, batch.cipher_ids, batch.plain_ids, noise)
    assert found == pytest.approx(loss, rel=1e-5)
    assert_same({name: weight.grad for name, weight in model.named_parameters()}, under_our_names(slopes, model.config))
    assert variant == "bijective" or slopes["debed.bias"][0] != 0  # the logit of padding is learned


@pytest.mark.parametrize("variant", VARIANTS)
def test_a_step_moves_every_weight_as_in_the_authors_code(variant, batch, noise, tmp_path):
    config = authors_config(variant)
    state = reference.random_state(config)
    model = authors_model(variant, state, **STILL)
    trainer_of(model, tmp_path)._step(batch)
    _, slopes = theirs.gradients(state, config, batch.cipher_ids, batch.plain_ids, noise)
    expected = under_our_names(theirs.after_first_step(state, slopes), model.config)
    for name, weight in model.named_parameters():
        assert (weight.detach().double() - expected[name]).abs().max() < 1e-6, name  # a step moves a weight by 1e-4


def gradient_of(model, tmp_path, batch, **changes):
    trainer_of(model, tmp_path, **changes)._backward(batch, int(batch.mask.sum()))
    return torch.cat([weight.grad.flatten() for weight in model.parameters()])


@pytest.mark.parametrize(
    ("variant", "fields", "changes"),
    [
        ("bijective", {"sinkhorn_tau": 4.75}, {}),
        ("bijective", {"sinkhorn_iters": 1}, {}),
        ("bijective", {"cross_heads": 2}, {}),
        ("bijective", {}, {"bijective_loss": "log-likelihood"}),
        ("base", {"whole_vocab": False}, {}),
        ("dynamic", {"hyper_sees_padding": False}, {}),
        ("dynamic", {"hyper_rope_truncated": False}, {}),
    ],
)
def test_without_any_one_setting_the_gradient_is_another(variant, fields, changes, batch, noise, tmp_path):
    state = reference.random_state(authors_config(variant))
    expected = gradient_of(authors_model(variant, state, **STILL), tmp_path, batch)
    other = gradient_of(authors_model(variant, state, **STILL, **fields), tmp_path, batch, **changes)
    assert (other - expected).norm() > 1e-3 * expected.norm()


def test_a_perfect_permutation_has_the_loss_that_the_authors_cannot_go_below(bijective, ids, monkeypatch):
    certain = torch.full((2, 37, 37), -torch.inf)
    certain[:, range(37), range(37)] = 0.0
    monkeypatch.setattr(bijective, "log_probabilities", lambda resid, ids: certain)
    losses = token_losses(bijective, ids, ids, "probabilities-as-logits")
    assert losses[ids != 0].unique().tolist() == pytest.approx([2.6563], abs=1e-4)
    assert not token_losses(bijective, ids, ids).any()


@pytest.mark.parametrize("preset", PAPER_SIZES)
def test_the_widths_are_those_of_the_authors_code(preset):
    config = model_config(preset, "dynamic", recipe="authors")
    assert config.d_mlp == reference.ffn_width(config.d_model, None, 256)
    assert config.hyper_mlp == reference.ffn_width(config.d_model, None, config.d_model // config.hyper_heads)


def test_stochastic_depth_rises_linearly_and_the_hypernetwork_has_no_dropout():
    model = Alice(model_config("mini", "dynamic", recipe="authors"))
    assert [block.stochastic_depth for block in model.blocks] == pytest.approx([0, 0.1 / 3, 0.2 / 3, 0.1])
    assert {(block.dropout.p, block.attn.dropout) for block in model.blocks} == {(0.1, 0.1)}
    inner = model.hypernet.blocks
    assert {(block.dropout.p, block.attn.dropout, block.stochastic_depth) for block in inner} == {(0.0, 0.0, 0.0)}


def test_queries_start_at_random_with_the_spread_of_the_authors():
    for variant, std in (("bijective", 128**-0.5), ("dynamic", 1.0)):
        model = Alice(model_config("small", variant, recipe="authors"))
        query = model.head.query if variant == "bijective" else model.hypernet.query
        assert float(query.detach().std()) == pytest.approx(std, rel=0.05)
        embedding = model.embed if variant == "bijective" else model.hypernet.embed
        assert float(embedding.weight.detach().std()) == pytest.approx(0.02, rel=0.05)


def test_all_weights_decay_and_batches_mix_lengths():
    assert (AUTHORS.weight_decay_on, AUTHORS.batch_lengths, AUTHORS.batch_texts) == ("all", "mixed", 96)
    assert (AUTHORS.loss_weight, AUTHORS.clip, AUTHORS.muon_lr) == ("batch", 0.0, 0.0)
