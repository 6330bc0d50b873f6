"""An imported model gives the same outputs as an independent implementation of the authors' model."""

import pytest
import torch
import upstream_reference as reference

from alice.checkpoint import folder as checkpoint
from alice.checkpoint import upstream
from alice.model import Alice
from alice.model.config import VARIANTS

LENGTHS = (1, 2, 7, 33, 160, 300)


def imported(tmp_path, config, state, **options):
    """Save as the authors do, import, write as we do, load."""
    torch.save(reference.file_of(state, config), tmp_path / "theirs.pt")
    found = upstream.read(tmp_path / "theirs.pt", **options)
    checkpoint.write(tmp_path / "ours", found.config, found.weights)
    return Alice.from_pretrained(tmp_path / "ours")


def random_texts(lengths, seed=3):
    generator = torch.Generator().manual_seed(seed)
    return [torch.randint(1, 37, (length,), generator=generator) for length in lengths]


def padded(texts):
    return torch.nn.utils.rnn.pad_sequence(texts, batch_first=True)


def our_streams(model, ids):
    names = model.match_hooks("hook_embed", "blocks.*.hook_resid_post")
    return list(zip(names, (model.run_with_cache(ids, names_filter=names)[1][name] for name in names), strict=True))


def assert_same(ours, theirs):
    torch.testing.assert_close(ours, theirs, rtol=0, atol=1e-5)


@torch.no_grad()
def assert_alike(model, config, state, texts):
    """Compare output, every residual stream and every early exit on a padded batch."""
    ids = padded(texts)
    output, exits = model(ids), our_streams(model, ids)
    for row, tokens in enumerate(texts):
        length, theirs = len(tokens), reference.streams(state, config, tokens)
        assert len(exits) == len(theirs)
        assert_same(output[row, :length], reference.decode(state, config, theirs[-1], tokens))
        for (_, ours), stream in zip(exits, theirs, strict=True):
            assert_same(ours[row, :length], stream)
            assert_same(model.decode(ours, ids)[row, :length], reference.decode(state, config, stream, tokens))


@pytest.mark.parametrize("variant", VARIANTS)
def test_outputs_and_early_exits_match_the_reference(variant, tmp_path):
    config = reference.CONFIGS[variant]
    state = reference.random_state(config)
    model = imported(tmp_path, config, state)
    assert model.config.variant == variant
    assert_alike(model, config, state, random_texts(LENGTHS))


@pytest.mark.parametrize("variant", VARIANTS)
def test_the_longest_text_matches_the_reference(variant, tmp_path):
    config = reference.CONFIGS[variant]
    state = reference.random_state(config, seed=1)
    assert_alike(imported(tmp_path, config, state), config, state, random_texts([1024, 900]))


@pytest.mark.parametrize(
    "changes",
    [
        {"n_head": 4, "n_layer": 1},
        {"dim": 48, "n_head": 3},
        {"ffn_dim_multiplier": 3.5},
        {"cross_n_head": None, "sinkhorn_decoding": True, "sinkhorn_tau": 1.0, "sinkhorn_iters": 5},
        {"dynamic_embeddings": True, "embedding_n_layer": 1, "embedding_n_head": 8, "ffn_dim_multiplier": 3.5},
    ],
)
def test_other_sizes_match_the_reference(changes, tmp_path):
    config = reference.BASE | changes
    state = reference.random_state(config)
    assert_alike(imported(tmp_path, config, state), config, state, random_texts([5, 40]))


@torch.no_grad()
def test_the_relaxed_permutation_matches_the_reference_at_every_exit(tmp_path):
    config = reference.CONFIGS["bijective"]
    state = reference.random_state(config)
    model, texts = imported(tmp_path, config, state), random_texts(LENGTHS)
    ids = padded(texts)
    exits = our_streams(model, ids)
    for row, tokens in enumerate(texts):
        for (_, ours), theirs in zip(exits, reference.streams(state, config, tokens), strict=True):
            scores = reference.bijective_scores(state, config, theirs, tokens)
            soft = model.decode_symbols(ours, ids, soft=True)[row]
            assert_same(soft, reference.relaxed(scores, config))


@torch.no_grad()
def test_the_truncated_table_is_what_makes_the_dynamic_model_match(tmp_path):
    config = reference.CONFIGS["dynamic"]
    state = reference.random_state(config)
    (tokens,) = random_texts([40])
    model = imported(tmp_path, config, state)
    assert model.config.hyper_rope_truncated
    rotary = model.hypernet.blocks[0].attn.rotary
    assert set(rotary.unique().tolist()) <= {-1.0, 0.0, 1.0}
    assert rotary[0, :, 0].eq(1).all()
    assert model.blocks[0].attn.rotary.unique().numel() > 1000  # the backbone keeps its own
    whole = reference.streams(state, config, tokens, truncated=False)[0]
    assert not torch.allclose(model.hypernet(tokens[None], None)[0], whole, atol=1e-2)


@torch.no_grad()
def test_the_bijective_head_assigns_the_whole_vocabulary(tmp_path):
    config = reference.CONFIGS["bijective"]
    model = imported(tmp_path, config, reference.random_state(config))
    ids = padded(random_texts(LENGTHS))
    tables = model.decode_symbols(model.resid(ids), ids)
    assert tables.sum(-1).eq(1).all()
    assert tables.sum(-2).eq(1).all()
    moved = tables.argmax(-1) != torch.arange(37)
    assert moved[:, 0].any()  # padding
    assert moved[:, 27:].any()  # space and marks


@pytest.mark.parametrize("prefix", ["_orig_mod.", "module.", "module._orig_mod."])
def test_prefixes_of_compiled_and_averaged_models_are_stripped(prefix, tmp_path):
    config = reference.CONFIGS["bijective"]
    state = reference.random_state(config)
    model = imported(tmp_path, config, {prefix + name: tensor for name, tensor in state.items()})
    assert_alike(model, config, state, random_texts([9]))


def test_the_last_weights_are_taken_unless_the_averaged_ones_are_asked_for(tmp_path):
    config = reference.BASE
    last, mean = reference.random_state(config), reference.random_state(config, seed=9)
    wrapped = {"n_averaged": torch.tensor(7)} | {f"module.{name}": tensor for name, tensor in mean.items()}
    torch.save(reference.file_of(last, config, ema_model_state_dict=wrapped), tmp_path / "both.pt")
    plain, averaged = upstream.read(tmp_path / "both.pt"), upstream.read(tmp_path / "both.pt", ema=True)
    assert torch.equal(plain.weights["embed.weight"], last["embeddings.weight"])
    assert torch.equal(averaged.weights["embed.weight"], mean["embeddings.weight"])
    assert (plain.source, averaged.source) == ("model_state_dict", "ema_model_state_dict")
    assert plain.has_average
    assert plain.step == 1234


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float64])
def test_weights_of_another_precision_become_single(dtype, tmp_path):
    state = {name: tensor.to(dtype) for name, tensor in reference.random_state(reference.BASE).items()}
    torch.save(reference.file_of(state, reference.BASE), tmp_path / "x.pt")
    weights = upstream.read(tmp_path / "x.pt").weights
    assert {tensor.dtype for tensor in weights.values()} == {torch.float32}
    assert torch.equal(weights["ln_final.w"], state["norm.weight"].float())


def test_the_old_format_of_torch_save_is_read_too(tmp_path):
    saved = reference.file_of(reference.random_state(reference.BASE), reference.BASE)
    torch.save(saved, tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    assert upstream.read(tmp_path / "old.pt").config.d_model == 32
