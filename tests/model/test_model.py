import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import tiny
from transformer_lens import ActivationCache

from alice.errors import AliceError
from alice.model import Alice
from alice.model.config import ModelConfig
from alice.text.alphabet import ENGLISH, LETTERS_AND_SPACE


def block_shapes(batch: int, pos: int, heads: int, d_head: int, d_model: int, d_mlp: int) -> dict[str, tuple[int, ...]]:
    """The names and shapes that the design promises for every block."""
    resid, head, pattern = (batch, pos, d_model), (batch, pos, heads, d_head), (batch, heads, pos, pos)
    return {
        "hook_resid_pre": resid,
        "ln1.hook_scale": (batch, pos, 1),
        "ln1.hook_normalized": resid,
        **{f"attn.hook_{name}": head for name in ("q", "k", "v", "rot_q", "rot_k", "z")},
        "attn.hook_attn_scores": pattern,
        "attn.hook_pattern": pattern,
        "attn.hook_result": (batch, pos, heads, d_model),
        "hook_attn_out": resid,
        "hook_resid_mid": resid,
        "ln2.hook_scale": (batch, pos, 1),
        "ln2.hook_normalized": resid,
        **{f"mlp.hook_{name}": (batch, pos, d_mlp) for name in ("pre", "pre_linear", "post")},
        "hook_mlp_out": resid,
        "hook_resid_post": resid,
    }


def test_every_promised_hook_is_there_with_its_shape(model, ids):
    _, cache = model.run_with_cache(ids, soft=True)
    batch, pos = ids.shape
    blocks = block_shapes(batch, pos, 2, 8, 16, 24)
    expected = {f"blocks.{layer}.{name}": shape for layer in range(2) for name, shape in blocks.items()}
    expected |= {"hook_embed": (batch, pos, 16), "ln_final.hook_scale": (batch, pos, 1)}
    expected |= {"ln_final.hook_normalized": (batch, pos, 16), "pool.hook_out": (batch, 37, 16)}
    if model.config.variant == "bijective":
        expected |= {"head.hook_pattern": (batch, 2, 37, 37), "head.hook_log_perm": (batch, 26, 26)}
    if model.config.variant == "dynamic":
        expected |= {f"hypernet.blocks.0.{name}": shape for name, shape in blocks.items()}
        expected |= {"hypernet.hook_embed": (batch, pos, 16), "hypernet.hook_pattern": (batch, 37, pos)}
        expected |= {"hypernet.hook_table": (batch, 37, 16)}
    assert {name: tuple(value.shape) for name, value in cache.items()} == expected


def test_the_permutation_itself_has_a_hook(bijective, ids):
    _, cache = bijective.run_with_cache(ids, names_filter="head.hook_perm")
    assert cache["head.hook_perm"].shape == (2, 26, 26)


def test_early_exit_at_the_last_layer_is_the_output_bit_for_bit(model, ids):
    with torch.no_grad():
        output, cache = model.run_with_cache(ids, names_filter="blocks.1.hook_resid_post")
        assert torch.equal(model.decode(cache["blocks.1.hook_resid_post"], ids), output)
        assert torch.equal(model(ids), output)


def test_early_exit_at_the_first_layer_is_another_answer(base, ids):
    _, cache = base.run_with_cache(ids, names_filter="blocks.*.hook_resid_pre")
    assert not torch.allclose(base.decode(cache["blocks.0.hook_resid_pre"], ids), base(ids), atol=1e-3)


MODELS = {variant: tiny(variant) for variant in ("base", "bijective", "dynamic")}
texts = st.text(alphabet=ENGLISH.symbols, min_size=1, max_size=40)


@settings(max_examples=25, deadline=None)
@given(text=texts, other=texts)
@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_padding_never_changes_a_result(variant, text, other):
    model = MODELS[variant]
    alone = model(model.to_tokens(text), soft=True)[0]
    together = model(model.to_tokens([text, other + " " * 10]), soft=True)[0, : len(text)]
    assert torch.allclose(alone, together, atol=2e-4)


def test_padding_in_front_only_moves_the_positions(base):
    row = base.to_tokens("SHIFT ME")
    shifted = torch.cat([torch.zeros(1, 3, dtype=torch.int64), row], dim=1)
    assert torch.allclose(base(shifted)[:, 3:], base(row), atol=1e-4)  # rotary positions are relative


@settings(max_examples=25, deadline=None)
@given(text=texts)
@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_all_occurrences_of_a_symbol_decode_to_the_same(variant, text):
    model = MODELS[variant]
    ids = model.to_tokens(text)
    answer = model(ids)[0]
    for symbol in ids.unique():
        rows = answer[ids[0] == symbol]
        assert torch.equal(rows, rows[:1].expand_as(rows))


def test_patching_a_hook_with_its_own_value_changes_nothing(model, ids):
    with torch.no_grad():
        plain, cache = model.run_with_cache(ids, soft=True)
        for name, value in cache.items():
            patched = model.run_with_hooks(ids, soft=True, fwd_hooks=[(name, lambda _, hook, value=value: value)])
            assert torch.allclose(patched, plain, atol=1e-4), name


def test_patching_a_hook_with_zeros_changes_the_answer(base, ids):
    for name in base.match_hooks("blocks.*.attn.hook_*", "blocks.*.mlp.hook_*", "pool.hook_out"):
        patched = base.run_with_hooks(ids, fwd_hooks=[(name, lambda value, hook: torch.zeros_like(value))])
        assert not torch.allclose(patched, base(ids), atol=1e-4), name


def test_computing_in_place_changes_no_activation_and_no_answer(model, ids):
    answer, expected = model.run_with_cache(ids, soft=True)
    assert answer.requires_grad  # so nothing was overwritten
    for name in expected:  # one at a time: where others listen, less is done in place
        with torch.inference_mode():
            output, cache = model.run_with_cache(ids, soft=True, names_filter=name)
        torch.testing.assert_close(output, answer)
        torch.testing.assert_close(cache[name], expected[name])


def test_scores_and_patterns_are_not_computed_unless_asked_for(base, ids, monkeypatch):
    def refuse(*args, **kwargs):
        raise AssertionError("a pattern was computed")

    monkeypatch.setattr(torch.Tensor, "softmax", refuse)
    base(ids)
    with pytest.raises(AssertionError, match="pattern"):
        base.run_with_cache(ids)


def test_hooks_are_gone_after_the_context_even_if_it_fails(base, ids):
    def fail(value, hook):
        raise RuntimeError("in the middle")

    with pytest.raises(RuntimeError, match="in the middle"), base.hooks(fwd_hooks=[("hook_embed", fail)]):
        base(ids)
    assert not base.list_hooks()


@pytest.mark.parametrize(
    "use",
    [
        lambda m, ids: m.run_with_hooks(ids, fwd_hooks=[("blocks.0.hook_resid_pst", print)]),
        lambda m, ids: m.run_with_cache(ids, names_filter="blocks.0.hook_resid_pst"),
        lambda m, ids: m.run_with_cache(ids, names_filter=["hook_embed", "blocks.0.hook_resid_pst"]),
        lambda m, ids: m.add_hook("blocks.0.hook_resid_pst", print),
    ],
)
def test_a_misspelt_hook_is_an_error_that_suggests_the_nearest(base, ids, use):
    with pytest.raises(AliceError, match=r"'blocks.0.hook_resid_pst'; did you mean 'blocks.0.hook_resid_post'"):
        use(base, ids)


def test_run_with_cache_returns_a_real_activation_cache(base, ids):
    _, cache = base.run_with_cache(ids)
    assert isinstance(cache, ActivationCache)
    assert torch.equal(cache["resid_post", -1], cache["blocks.1.hook_resid_post"])


def test_a_letters_and_space_model_has_28_ids():
    config = ModelConfig(d_model=8, n_layers=1, n_heads=1, d_mlp=8, symbols=LETTERS_AND_SPACE.symbols)
    model = Alice(config)
    assert model(model.to_tokens("ONLY LETTERS")).shape == (1, 12, 28)
    with pytest.raises(AliceError, match=r"'\.' at position 4"):
        model.to_tokens("STOP.")


@pytest.mark.parametrize(
    ("bad", "complaint"),
    [
        (torch.zeros(3, dtype=torch.int64), "not a batch"),
        (torch.ones(1, 4), "integers"),
        (torch.zeros(1, 0, dtype=torch.int64), "not a batch"),
        (torch.full((1, 3), 37), "do not fit the model's 37 symbols"),
        (torch.full((1, 3), -1), "do not fit"),
        (torch.ones(1, 321, dtype=torch.int64), "longer than the 320"),
        (torch.tensor([[1, 2], [0, 0]]), "empty"),
    ],
)
def test_what_cannot_be_read_is_refused_in_a_sentence(base, bad, complaint):
    with pytest.raises(AliceError, match=complaint):
        base(bad)


def test_empty_texts_are_refused(base):
    with pytest.raises(AliceError, match="empty text"):
        base.to_tokens(["FINE", ""])


def test_a_hook_may_write_into_any_activation_with_gradients_on(model, ids):
    def halve(value, hook):
        value[:] = value / 2
        return value

    for name in model.match_hooks("*"):
        if name != "head.hook_perm":
            changed = model.run_with_hooks(ids, soft=True, fwd_hooks=[(name, halve)])
            changed[changed.isfinite()].sum().backward()
            model.zero_grad()


def test_a_hook_on_the_relaxed_permutation_affects_the_hard_answer(bijective, ids):
    turned = bijective.run_with_hooks(ids, fwd_hooks=[("head.hook_log_perm", lambda value, hook: value.flip(-1))])
    assert not torch.equal(turned, bijective(ids))
    same = bijective.run_with_hooks(ids, fwd_hooks=[("head.hook_log_perm", lambda value, hook: value)])
    assert torch.equal(same, bijective(ids))


def test_differences_and_kl_of_two_runs_are_finite(model, ids):
    with torch.no_grad(), model.soft():
        first, second = model(ids).log_softmax(-1), model(ids.flip(0)).log_softmax(-1)
    assert (first - second).isfinite().all()
    assert torch.nn.functional.kl_div(first, second, log_target=True, reduction="none").isfinite().all()


def test_padding_is_never_an_answer(model, ids):
    with torch.no_grad():
        tables = [model.decode_symbols(model.resid(ids), ids, soft=soft)[:, 1:] for soft in (True, False)]
    assert all((table[..., 0] < table.amax(-1)).all() for table in tables)
    assert all((table.argmax(-1) != 0).all() for table in tables)


@pytest.mark.parametrize("call", ["forward", "decode", "decode_symbols", "run_with_cache", "run_with_hooks"])
def test_the_soft_switch_is_respected_everywhere(bijective, ids, call):
    stream = bijective.resid(ids)
    calls = {
        "forward": lambda **options: bijective(ids, **options),
        "decode": lambda **options: bijective.decode(stream, ids, **options),
        "decode_symbols": lambda **options: bijective.decode_symbols(stream, ids, **options),
        "run_with_cache": lambda **options: bijective.run_with_cache(ids, **options)[0],
        "run_with_hooks": lambda **options: bijective.run_with_hooks(ids, fwd_hooks=[], **options),
    }
    run = calls[call]
    hard, soft = run(soft=False), run(soft=True)
    assert not torch.equal(hard, soft)
    assert torch.equal(run(), hard)
    with bijective.soft():
        assert torch.equal(run(), soft)
        assert torch.equal(run(soft=False), hard)  # an argument comes first
        with bijective.soft(False):
            assert torch.equal(run(), hard)
        assert torch.equal(run(), soft)
    assert torch.equal(run(), hard)
    bijective.soft_answers = True
    assert torch.equal(run(), soft)


def test_the_soft_switch_comes_before_the_training_mode(bijective, ids):
    bijective.train()
    bijective.soft_answers = False
    assert set(bijective(ids).unique().tolist()) == {0.0, 1.0}
    bijective.soft_answers = None
    assert (bijective(ids) < 0).any()


def test_the_soft_switch_is_restored_if_the_block_fails(bijective):
    with pytest.raises(RuntimeError, match="in the middle"), bijective.soft():
        raise RuntimeError("in the middle")
    assert bijective.soft_answers is None


@pytest.mark.parametrize("layer", [0, 1, 2, -1, -2])
def test_stopping_before_a_block_and_starting_there_is_the_whole_pass(model, ids, layer):
    with torch.no_grad(), model.soft():
        whole, cache = model.run_with_cache(ids, names_filter="blocks.*.hook_resid_p*")
        stream = model(ids, stop_at_layer=layer)
        names = [f"blocks.{number}.hook_resid_pre" for number in range(2)] + ["blocks.1.hook_resid_post"]
        assert torch.equal(stream, cache[names[layer + 2 if layer < 0 else layer]])
        assert torch.allclose(model(stream, tokens=ids, start_at_layer=layer), whole, atol=1e-5)


def test_only_the_blocks_between_start_and_stop_run(base, ids):
    stream = base(ids, stop_at_layer=1)
    after, cache = base.run_with_cache(stream, tokens=ids, start_at_layer=1, stop_at_layer=2)
    assert {name.split(".")[1] for name in cache} == {"1"}
    assert torch.allclose(after, base.resid(ids), atol=1e-5)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"stop_at_layer": 3}, "stop_at_layer=3 is not a layer of this model; give -2 to 2"),
        ({"start_at_layer": -3}, "start_at_layer=-3 is not a layer"),
        ({"start_at_layer": 0}, "give its cipher symbols as tokens="),
        ({"start_at_layer": 0, "tokens": torch.ones(2, 32, dtype=torch.int64)}, r"shape \(2, 32, 16\), not \(2, 32\)"),
        ({"start_at_layer": -1, "stop_at_layer": 0}, "start_at_layer=-1 is after stop_at_layer=0"),
    ],
)
def test_layers_that_do_not_fit_are_one_sentence(base, ids, options, complaint):
    with pytest.raises(AliceError, match=complaint):
        base(ids, **options)


def test_a_text_is_encoded(base):
    assert torch.equal(base("A SHORT ONE"), base(base.to_tokens("A SHORT ONE")))
    assert torch.equal(base(["A SHORT ONE", "B"]), base(base.to_tokens(["A SHORT ONE", "B"])))
