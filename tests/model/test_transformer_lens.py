"""What TransformerLens offers, row by row of the table in docs/transformer-lens.md."""

import re
from pathlib import Path

import pytest
import torch
from tiny import tiny
from transformer_lens import SVDInterpreter, patching
from transformer_lens.head_detector import detect_head
from transformer_lens.tools.analysis.attribution_patching import EdgeAttributionConfig, attribution_patch

from alice.errors import AliceError

PAGE = Path(__file__).resolve().parents[2] / "docs" / "transformer-lens.md"
ROWS: set[str] = set()


def row(name: str):
    """Say which row of the table a test is about."""
    ROWS.add(name)
    return lambda test: test


@pytest.fixture
def clean(base):
    return base.to_tokens("ABCAB CABCA")


@pytest.fixture
def corrupted(base):
    return base.to_tokens("ABCAB DABCA")


def first_score(scores: torch.Tensor) -> torch.Tensor:
    return scores[0, 0, 1]


@row('`model(ids)`, `model("TEXT")`')
def test_a_text_or_several_are_encoded(model):
    for text in ("A SHORT ONE", ["A SHORT ONE", "B"]):
        assert torch.equal(model(text), model(model.to_tokens(text)))


@row("`return_type`")
def test_a_loss_is_the_mean_negative_log_likelihood_of_the_plaintext(model, ids):
    plain = ids.flip(1).roll(1, 1).where(ids != 0, 0).clamp(min=1) * (ids != 0)
    rows = model.decode(model.resid(ids), ids, soft=True)
    rows = rows if model.config.variant == "bijective" else rows.log_softmax(-1)
    expected = -rows.gather(2, plain[..., None])[ids != 0].mean()
    assert torch.allclose(model(ids, return_type="loss", plain=plain), expected)
    scores, loss = model(ids, "both", plain=plain)
    assert torch.equal(scores, model(ids))
    assert torch.allclose(loss, expected)
    per_token = model(ids, "loss", plain=plain, loss_per_token=True)
    assert per_token.shape == ids.shape
    assert (per_token[ids == 0] == 0).all()
    assert torch.allclose(per_token.sum() / (ids != 0).sum(), expected)
    assert model(ids, return_type=None) is None


@row("`return_type`")
@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"return_type": "loss"}, "give it as plain="),
        ({"return_type": "probs"}, "return_type='probs' is unknown"),
        ({"plain": "AB"}, "give return_type='loss' or 'both'"),
        ({"return_type": "loss", "plain": "AB"}, r"the plaintext has shape \(1, 2\), the ciphertext \(2, 32\)"),
        ({"return_type": "loss", "plain": "AB", "stop_at_layer": 1}, "there is no loss"),
        ({"return_type": "loss", "plain": torch.full((2, 32), 99)}, "ids 99 to 99 do not fit"),
    ],
)
def test_a_loss_that_cannot_be_computed_is_one_sentence(base, ids, options, complaint):
    with pytest.raises(AliceError, match=complaint):
        base(ids, **options)


@row("`start_at_layer`, `stop_at_layer`")
def test_a_pass_can_stop_and_continue(model, ids):
    with torch.no_grad(), model.soft():
        stream = model(ids, stop_at_layer=1)
        assert torch.allclose(model(stream, start_at_layer=-1, tokens=ids), model(ids), atol=1e-5)


@row("`run_with_hooks`, `hooks`, `add_hook`, `reset_hooks`")
def test_hooks_are_attached_by_name_pattern_or_function(base, ids):
    seen = []
    hook = lambda value, hook: seen.append(hook.name)  # noqa: E731
    base.run_with_hooks(ids, fwd_hooks=[("hook_embed", hook), ("blocks.*.hook_mlp_out", hook)])
    with base.hooks(fwd_hooks=[(lambda name: name.endswith("attn_out"), hook)]):
        base(ids)
    base.add_hook("blocks.*.hook_resid_mid", hook)
    base(ids)
    base.reset_hooks()
    base(ids)
    blocks = [f"blocks.{number}.hook_{name}" for name in ("mlp_out", "attn_out", "resid_mid") for number in range(2)]
    assert seen == ["hook_embed", *blocks]


@row("`run_with_cache`, `ActivationCache`")
def test_a_cache_takes_filters_slices_and_one_text_without_batch(base):
    _, cache = base.run_with_cache("A SHORT ONE", names_filter="blocks.*.hook_resid_post", remove_batch_dim=True)
    assert list(cache) == ["blocks.0.hook_resid_post", "blocks.1.hook_resid_post"]
    assert cache["resid_post", -1].shape == (11, 16)
    _, cache = base.run_with_cache("A SHORT ONE", names_filter=["hook_embed"], pos_slice=3)
    assert cache["embed"].shape == (1, 1, 16)


@row("`run_with_cache(incl_bwd=True)`")
def test_gradients_of_the_loss_are_cached(model, ids):
    _, cache = model.run_with_cache(ids, return_type="loss", plain=ids, incl_bwd=True)
    stream = cache["blocks.1.hook_resid_pre"].requires_grad_()
    loss = model(stream, "loss", start_at_layer=1, tokens=ids, plain=ids)
    (expected,) = torch.autograd.grad(loss, stream)
    assert expected.abs().max() > 0
    assert torch.allclose(cache["blocks.1.hook_resid_pre_grad"], expected, atol=1e-6)


@row("`run_with_cache(incl_bwd=True)`")
def test_gradients_without_a_loss_or_without_autograd_are_one_sentence(base, ids):
    with pytest.raises(AliceError, match="give return_type='loss' and plain="):
        base.run_with_cache(ids, incl_bwd=True)
    with torch.no_grad(), pytest.raises(AliceError, match="needs gradients"):
        base.run_with_cache(ids, "loss", plain=ids, incl_bwd=True)


@row("`to_tokens`, `to_string`, `to_single_token`")
def test_texts_become_ids_and_back(base):
    assert base.to_tokens(["AB", "C"], prepend_bos=False).tolist() == [[1, 2], [3, 0]]
    assert base.to_string(base.to_tokens(["AB", "C"])) == ["AB", "C"]
    assert base.to_single_token("C") == 3


@row("`to_str_tokens`, `to_single_str_token`")
def test_every_position_has_a_string(base):
    assert base.to_str_tokens("A B") == ["A", " ", "B"]
    assert base.to_str_tokens(["AB", "C"]) == [["A", "B"], ["C"]]
    assert base.to_str_tokens(base.to_tokens(["AB", "C"])) == [["A", "B"], ["C", "<PAD>"]]
    assert base.to_str_tokens(base.to_tokens("AB")) == base.to_str_tokens([1, 2]) == ["A", "B"]
    assert base.to_single_str_token(2) == "B"
    assert base.to_single_str_token(0) == "<PAD>"
    with pytest.raises(AliceError, match="do not fit"):
        base.to_single_str_token(99)


@row("`get_token_position`")
def test_the_first_or_last_position_of_a_character_is_found(base):
    assert base.get_token_position("B", "ABAB") == 1
    assert base.get_token_position(2, base.to_tokens("ABAB"), mode="last") == 3
    for complaint, arguments in {
        "'C' does not occur": ("C", "ABAB"),
        "mode='middle' is unknown": ("A", "ABAB", "middle"),
        "there are 2 texts": ("A", base.to_tokens(["A", "B"])),
    }.items():
        with pytest.raises(AliceError, match=complaint):
            base.get_token_position(*arguments)


@row("`prepend_bos=True`")
def test_there_is_no_token_for_the_beginning(base):
    for use in (base.to_tokens, base.to_str_tokens):
        with pytest.raises(AliceError, match="no token for the beginning"):
            use("AB", prepend_bos=True)


@row("`W_Q`, `W_K`, `W_V`, `W_O`, `W_in`, `W_gate`, `W_out`, `W_U`, `b_U`")
def test_stacked_weights_are_those_of_the_blocks(model):
    shapes = {"W_Q": (2, 2, 16, 8), "W_K": (2, 2, 16, 8), "W_V": (2, 2, 16, 8), "W_O": (2, 2, 8, 16)}
    for name, shape in shapes.items():
        assert getattr(model, name).shape == shape
        assert torch.equal(getattr(model, name)[1], getattr(model.blocks[1].attn, name))
    for name, shape in {"W_in": (2, 16, 24), "W_gate": (2, 16, 24), "W_out": (2, 24, 16)}.items():
        assert getattr(model, name).shape == shape
        assert torch.equal(getattr(model, name)[1], getattr(model.blocks[1].mlp, name))
    assert model.W_U.shape == (16, 37)
    assert model.b_U.shape == (37,)


@row("`W_E`")
def test_the_embedding_is_a_table_except_in_a_dynamic_model(base):
    assert torch.equal(base.W_E, base.embed.weight)
    with pytest.raises(AliceError, match=r"cache hypernet\.hook_table"):
        _ = tiny("dynamic").W_E


@row("`W_pos`")
def test_there_is_no_table_of_positions(base):
    with pytest.raises(AliceError, match="positions are rotary"):
        _ = base.W_pos


@row("`QK`, `OV`")
def test_circuits_are_factored_matrices(base):
    assert torch.allclose(base.QK.AB[1, 0], base.W_Q[1, 0] @ base.W_K[1, 0].T, atol=1e-6)
    assert torch.allclose(base.OV.AB[0, 1], base.W_V[0, 1] @ base.W_O[0, 1], atol=1e-6)


@row("`all_head_labels`")
def test_heads_have_labels(base):
    assert base.all_head_labels == ["L0H0", "L0H1", "L1H0", "L1H1"]


@row("`all_composition_scores`")
@pytest.mark.parametrize("mode", ["Q", "K", "V"])
@torch.no_grad()
def test_composition_scores_are_ratios_of_norms(base, mode):
    scores = base.all_composition_scores(mode)
    assert scores.shape == (2, 2, 2, 2)
    assert (scores[1] == 0).all()
    assert (scores[:, :, 0] == 0).all()
    right = {"Q": base.QK.AB, "K": base.QK.AB.transpose(-1, -2), "V": base.OV.AB}[mode][1, 0]
    left = base.OV.AB[0, 1]
    assert scores[0, 1, 1, 0] == pytest.approx(float((left @ right).norm() / left.norm() / right.norm()), rel=1e-4)


@row("`all_composition_scores`")
def test_an_unknown_kind_of_composition_is_one_sentence(base):
    with pytest.raises(AliceError, match="mode='O' is unknown"):
        base.all_composition_scores("O")


@row("`tl_parameters`, `SVDInterpreter`")
def test_singular_vectors_are_those_of_the_weights(model):
    svd = SVDInterpreter(model)
    found = svd.get_singular_vectors("OV", 1, num_vectors=3, head_index=0)
    direction = torch.linalg.svd(model.OV.AB[1, 0].detach())[2][0]
    assert torch.allclose(found[:, 0, 0].abs(), (model.W_U.T @ direction).abs().detach(), atol=1e-4)
    for kind in ("w_in", "w_out"):
        assert svd.get_singular_vectors(kind, 0, num_vectors=3).shape == (37, 1, 3)


@row("`accumulated_resid`, `decompose_resid`, `stack_head_results`, `get_full_resid_decomposition`")
def test_the_parts_of_the_stream_add_up(model, ids):
    with torch.no_grad():
        _, cache = model.run_with_cache(ids)
    last = cache["resid_post", -1]
    assert torch.equal(cache.accumulated_resid()[-1], last)
    assert torch.allclose(cache.decompose_resid().sum(0), last, atol=1e-4)
    assert torch.allclose(cache.get_full_resid_decomposition().sum(0), last, atol=1e-4)
    assert cache.stack_head_results().shape[0] == 4


@row("`logit_attrs`")
def test_attributions_are_exact_for_the_linear_head_and_approximate_for_the_bijective_one(base, bijective, ids):
    with torch.no_grad():
        scores, cache = base.run_with_cache(ids)
        attributed = cache.logit_attrs(cache["resid_post", -1][None], "E")[0]  # (batch, pos)
        where = ids[0] == ids[0, 0]
        expected = scores[0, 0, base.to_single_token("E")] - base.b_U[base.to_single_token("E")]
        assert attributed[0, where].mean() == pytest.approx(float(expected), abs=1e-4)
        _, cache = bijective.run_with_cache(ids)
        with pytest.warns(UserWarning, match="bijective model these attributions are approximate"):
            cache.logit_attrs(cache["resid_post", -1][None], "E")


@row("`logit_lens`")
def test_the_logit_lens_names_what_reads_a_layer(base, ids):
    _, cache = base.run_with_cache(ids)
    with pytest.raises(AliceError, match=r"use model\.decode"):
        cache.logit_lens()
    assert torch.allclose(base.decode(cache["resid_post", 1], ids), base(ids), atol=1e-5)


@row("`patching.get_act_patch_*`")
def test_patching_sweeps_move_the_soft_scores(model, clean, corrupted):
    with torch.no_grad(), model.soft():
        _, cache = model.run_with_cache(clean)
        unpatched = first_score(model(corrupted))
        found = patching.get_act_patch_resid_pre(model, corrupted, cache, first_score)
        heads = patching.get_act_patch_attn_head_all_pos_every(model, corrupted, cache, first_score)
        restored = model(cache["resid_pre", 1], start_at_layer=1, tokens=corrupted)
    assert found.shape == (2, 11)
    assert heads.shape == (5, 2, 2)
    assert (found != unpatched).any()
    assert restored.shape == (1, 11, 37)


@row("`patching.get_act_patch_direct_path`")
@pytest.mark.parametrize("component", ["q", "k", "v"])
def test_direct_paths_are_patched_and_the_switch_is_put_back(base, clean, corrupted, component):
    with torch.no_grad():
        _, cache = base.run_with_cache(clean)
        _, other = base.run_with_cache(corrupted)
        found = patching.get_act_patch_direct_path(
            base, corrupted, cache, other, first_score, 0, 1, component=component, verbose=False
        )
        assert not base.cfg.use_split_qkv_input
        change = (cache["z", 0][:, :, 1] - other["z", 0][:, :, 1]) @ base.W_O[0, 1]
        weight = getattr(base, f"W_{component.upper()}")[1, 0]
        stream = base.blocks[1].ln1(other["resid_pre", 1] + change) @ weight

        def replace(value, hook):
            value[:, :, 0] = stream
            return value

        by_hand = base.run_with_hooks(corrupted, fwd_hooks=[(f"blocks.1.attn.hook_{component}", replace)])
        unpatched = base(corrupted)
    assert found[1, 0] == pytest.approx(float(first_score(by_hand)), abs=1e-4)
    assert found[1, 0] != pytest.approx(float(first_score(unpatched)), abs=1e-5)


@row("`tools.analysis.attribution_patch`")
@pytest.mark.parametrize("granularity", ["node", "edge"])
def test_attribution_patching_scores_nodes_and_edges(model, clean, corrupted, granularity):
    with model.soft():
        found = attribution_patch(model, clean, corrupted, first_score, EdgeAttributionConfig(granularity=granularity))
    scores = found.node_scores if granularity == "node" else found.edge_scores
    assert any(scores.values())
    assert not model.cfg.use_split_qkv_input


@row("`set_use_split_qkv_input`")
def test_split_inputs_change_nothing_until_they_are_hooked(model, ids):
    with torch.no_grad(), model.soft():
        plain = model(ids)
        with pytest.raises(AliceError, match=r"call model\.set_use_split_qkv_input\(True\) first"):
            model.run_with_cache(ids, names_filter="blocks.0.attn.hook_q_input")
        model.set_use_split_qkv_input(True)
        assert model.cfg.use_split_qkv_input
        split, cache = model.run_with_cache(ids)
        assert torch.allclose(split, plain, atol=1e-4)
        stream = cache["blocks.1.hook_resid_pre"][:, :, None].expand(-1, -1, 2, -1)
        for component in "qkv":
            name = f"blocks.1.attn.hook_{component}_input"
            assert torch.equal(cache[name], stream)
            zeroed = model.run_with_hooks(ids, fwd_hooks=[(name, lambda value, hook: value * 0)])
            assert not torch.allclose(zeroed, plain, atol=1e-4)
        model.set_use_split_qkv_input(False)
        assert "blocks.1.attn.hook_q_input" not in model.run_with_cache(ids)[1]


@row("`set_use_hook_mlp_in`")
def test_the_input_of_the_feed_forward_layer_is_a_copy_of_its_own(base, ids):
    with torch.no_grad():
        base.set_use_hook_mlp_in(True)
        _, cache = base.run_with_cache(ids)
        assert torch.equal(cache["mlp_in", 0], cache["resid_mid", 0])
        zero = [("blocks.0.hook_mlp_in", lambda value, hook: value * 0)]
        with base.hooks(fwd_hooks=zero):
            _, zeroed = base.run_with_cache(ids)
    assert torch.equal(zeroed["resid_mid", 0], cache["resid_mid", 0])  # only the branch is changed
    assert zeroed["mlp_out", 0].abs().max() == 0


@row("`set_use_attn_result`")
def test_results_of_heads_need_no_switch(base, ids):
    base.set_use_attn_result(False)
    _, cache = base.run_with_cache(ids, names_filter="blocks.0.attn.hook_result")
    assert cache["result", 0].shape == (2, 32, 2, 16)


@row("`set_use_attn_in`")
def test_one_input_for_queries_keys_and_values_is_refused(base):
    base.set_use_attn_in(False)
    with pytest.raises(AliceError, match="use set_use_split_qkv_input"):
        base.set_use_attn_in(True)


@row("`head_detector.detect_head`")
def test_heads_are_compared_with_patterns(base):
    assert detect_head(base, "ABCAB CABCA", "previous_token_head").shape == (2, 2)


@row("`generate`")
def test_nothing_is_generated(base):
    with pytest.raises(AliceError, match=r"use alice\.solve"):
        base.generate("AB")


def test_every_row_of_the_table_has_a_test_and_every_test_a_row():
    rows = {cells.group(1).strip() for cells in re.finditer(r"^\| (`.+?) \|", PAGE.read_text("utf-8"), re.MULTILINE)}
    assert rows == ROWS
