"""A file that is not a checkpoint of the authors or does not fit its config is refused; no code in it runs."""

import pickle
from pathlib import Path

import pytest
import torch
import upstream_reference as reference

from alice.checkpoint import upstream
from alice.checkpoint.upstream_config import mlp_width
from alice.errors import AliceError


class Payload:
    """A pickle that creates a file when it is loaded without `weights_only`."""

    def __init__(self, target):
        self.target = target

    def __reduce__(self):
        return Path.touch, (self.target,)


def refused(file, **options):
    with pytest.raises(AliceError) as caught:
        upstream.read(file, **options)
    assert "\n" not in str(caught.value)
    assert str(caught.value).startswith(str(file))
    assert str(caught.value).isprintable()
    assert len(str(caught.value)) < 700
    return str(caught.value)


def saved(tmp_path, variant="base", *, change=lambda saved: None, **settings):
    """Save a good checkpoint of a variant after changing it."""
    config = reference.CONFIGS[variant]
    whole = reference.file_of(reference.random_state(config), config | settings)
    change(whole)
    torch.save(whole, tmp_path / "theirs.pt")
    return tmp_path / "theirs.pt"


@pytest.mark.parametrize("place", ["config", "optimizer_state_dict", "model_state_dict"])
@pytest.mark.parametrize("new_format", [True, False])
def test_a_payload_is_refused_and_does_not_run(place, new_format, tmp_path):
    target = tmp_path / "ran"
    whole = reference.file_of({}, {}) | {place: {"x": Payload(target)}}
    torch.save(whole, tmp_path / "evil.pt", _use_new_zipfile_serialization=new_format)
    assert "could execute code, so it is refused" in refused(tmp_path / "evil.pt")
    assert not target.exists()
    torch.load(tmp_path / "evil.pt", weights_only=False)
    assert target.exists()  # the payload works when it is allowed to


def test_a_bare_pickle_with_a_payload_does_not_run_either(tmp_path):
    (tmp_path / "evil.pt").write_bytes(pickle.dumps(Payload(tmp_path / "ran")))
    refused(tmp_path / "evil.pt")
    assert not (tmp_path / "ran").exists()


def test_files_that_are_not_checkpoints_are_refused(tmp_path):
    good = saved(tmp_path).read_bytes()
    for content in (b"", b"hello, I am a text", good[: len(good) // 2], b"PK\x05\x06" + bytes(18)):
        (tmp_path / "x.pt").write_bytes(content)
        assert "empty, truncated or not a file of torch.save" in refused(tmp_path / "x.pt")
    assert "cannot be read (No such file or directory)" in refused(tmp_path / "nowhere.pt")
    for value in ([1, 2], {"model": {}}, {"model_state_dict": 3, "config": {}}, torch.ones(2)):
        torch.save(value, tmp_path / "x.pt")
        assert "has no 'model_state_dict'" in refused(tmp_path / "x.pt")
    torch.save({"model_state_dict": {}}, tmp_path / "x.pt")
    assert "has no 'config'" in refused(tmp_path / "x.pt")


def weight(name, value=None):
    """Return a change that sets a tensor, or removes it."""

    def change(whole):
        state = whole["model_state_dict"]
        state.pop(name) if value is None else state.update({name: value})

    return change


@pytest.mark.parametrize(
    ("variant", "change", "complaint"),
    [
        ("base", weight("norm.weight"), "norm.weight is missing"),
        ("base", weight("blocks.1.attention.wqkv.weight"), "blocks.1.attention.wqkv.weight is missing"),
        ("base", weight("debed.bias"), "debed.bias is missing"),
        ("bijective", weight("output_query"), "output_query is missing"),
        ("dynamic", weight("embeddings.query"), "embeddings.query is missing"),
        ("dynamic", weight("embeddings.blocks.1.ffn_norm.weight"), "embeddings.blocks.1.ffn_norm.weight is missing"),
        ("base", weight("head.weight", torch.ones(2)), "1 tensors are unknown (first: head.weight)"),
        ("base", weight("output_query", torch.ones(37, 32)), "unknown (first: output_query)"),
        ("base", weight("n_averaged", torch.ones(())), "unknown (first: n_averaged)"),
        (
            "base",
            weight("norm.weight", torch.ones(9)),
            "norm.weight has shape (9,), but the config needs (32,)",
        ),
        ("base", weight("debed.weight", torch.ones(37, 3)), "debed.weight has shape (37, 3)"),
        ("base", weight("blocks.0.feed_forward.w2.weight", torch.ones(32, 85)), "w2.weight has shape (32, 85)"),
        ("dynamic", weight("embeddings.blocks.0.feed_forward.w1.weight", torch.ones(256, 32)), "w1.weight has shape"),
        ("base", weight("norm.weight", torch.ones(32).int()), "norm.weight is not a dense tensor"),
        ("base", weight("norm.weight", torch.ones(32).to_sparse()), "norm.weight is not a dense tensor"),
        ("base", weight("norm.weight", torch.ones(1).expand(32)), "norm.weight is not a dense tensor"),
        ("base", weight("norm.weight", "hello"), "norm.weight is not a dense tensor"),
        ("base", weight("module.norm.weight", torch.ones(32)), "norm.weight occurs twice"),
        ("base", weight("a\x1b[2J\nb" + "c" * 900, torch.ones(2)), r"unknown (first: a\x1b[2J\nb"),
        ("base", weight("a\x1b[2J\nb", 3), r"a\x1b[2J\nb is not a dense tensor"),
        ("base", weight(10**400, torch.ones(2)), "the name of a tensor is not a text"),
    ],
)
def test_tensors_that_do_not_fit_are_named(variant, change, complaint, tmp_path):
    assert complaint in refused(saved(tmp_path, variant, change=change))


@pytest.mark.parametrize(
    ("variant", "settings", "complaint"),
    [
        ("base", {"dim": "32"}, "'dim' in the config is '32', not a whole number of at least 1"),
        ("base", {"dim": 64}, "embeddings.weight has shape (37, 32), but the config needs (37, 64)"),
        ("base", {"n_head": 3}, "d_model=32 does not divide into n_heads=3"),
        ("base", {"n_layer": 0}, "'n_layer' in the config is 0"),
        ("base", {"n_layer": 2}, "7 tensors are unknown (first: blocks.2."),
        ("base", {"n_layer": 1000}, "blocks.3.attention_norm.weight is missing"),
        ("base", {"n_layer": 10**9}, "n_layers=1000000000 is above the limit"),
        ("base", {"n_layer": 10**12}, "'n_layer' in the config is 1000000000000, not a whole number of at least 1 and"),
        ("base", {"dim": 10**400}, "'dim' in the config is 1000000"),
        ("base", {"dim": torch.ones(400)}, "'dim' in the config is tensor("),
        ("base", {"ffn_dim_multiplier": 1e308}, "'ffn_dim_multiplier' in the config is 1e+308"),
        ("base", {"ffn_dim_multiplier": 10**400}, "'ffn_dim_multiplier' in the config is 1000000"),
        ("bijective", {"sinkhorn_iters": 10**9}, "sinkhorn_iters=1000000000 is above the limit"),
        ("bijective", {"cross_n_head": torch.ones(2)}, "'cross_n_head' in the config is tensor("),
        ("base", {"ffn_dim_multiplier": -1}, "'ffn_dim_multiplier' in the config is -1, not a positive number"),
        ("base", {"ffn_dim_multiplier": 9.0}, "blocks.0.feed_forward.w1.weight has shape (256, 32)"),
        ("base", {"extra_chars": ".,"}, "debed.bias has 37 entries, for padding and 36 symbols"),
        ("base", {"extra_chars": ".,!?-;:'A"}, "repeats a symbol"),
        ("base", {"extra_chars": None}, "'extra_chars' in the config is None, not a text"),
        ("base", {"unique_decoding": False}, "'unique_decoding' in the config is False"),
        ("base", {"unique_decoding": 1}, "'unique_decoding' in the config is 1, not true or false"),
        ("bijective", {"sinkhorn_tau": float("nan")}, "'sinkhorn_tau' in the config is nan, not a positive number"),
        (
            "bijective",
            {"dynamic_embeddings": True},
            "no variant of ours has both dynamic embeddings and the bijective head",
        ),
        ("bijective", {"sinkhorn_decoding": False}, "unknown (first: output_query)"),
        ("dynamic", {"embedding_n_head": 0}, "'embedding_n_head' in the config is 0"),
    ],
)
def test_settings_that_do_not_fit_are_named(variant, settings, complaint, tmp_path):
    assert complaint in refused(saved(tmp_path, variant, **settings))


@pytest.mark.parametrize("key", ["dim", "n_head", "n_layer", "extra_chars", "unique_decoding"])
def test_a_missing_setting_is_named(key, tmp_path):
    assert f"the config has no {key!r}" in refused(saved(tmp_path, change=lambda whole: whole["config"].pop(key)))


def test_older_configs_without_later_keys_are_read(tmp_path):
    def change(whole):
        for key in ("ffn_dim_multiplier", "sinkhorn_decoding", "dynamic_embeddings"):
            whole["config"].pop(key)

    assert upstream.read(saved(tmp_path, change=change)).config.variant == "base"


def test_missing_averaged_weights_are_named(tmp_path):
    assert "import it without --ema" in refused(saved(tmp_path), ema=True)


def test_an_alphabet_with_too_few_symbols_is_refused(tmp_path):
    assert "has 27; give all symbols in their order" in refused(saved(tmp_path), alphabet="ABCDEFGHIJKLMNOPQRSTUVWXYZ ")


def test_the_order_of_symbols_is_the_one_that_was_given(tmp_path):
    symbols = " .,!?-;:'\"ZYXWVUTSRQPONMLKJIHGFEDCBA"
    assert upstream.read(saved(tmp_path), alphabet=symbols).config.symbols == symbols
    assert upstream.read(saved(tmp_path)).config.symbols == "ABCDEFGHIJKLMNOPQRSTUVWXYZ .,!?-;:'\""


@pytest.mark.parametrize(
    ("dim", "multiplier", "multiple", "width"),
    [(768, None, 256, 2048), (256, None, 256, 768), (768, 1.3, 256, 2816), (768, None, 64, 2048), (32, None, 8, 88)],
)
def test_the_width_of_the_feed_forward_layers(dim, multiplier, multiple, width):
    assert mlp_width(dim, multiplier, multiple) == width


@pytest.mark.parametrize("step", [10**400, True, -1, "5", None])
def test_a_number_of_steps_that_cannot_be_is_left_out(tmp_path, step):
    assert upstream.read(saved(tmp_path, change=lambda whole: whole.update(global_step=step))).step is None
