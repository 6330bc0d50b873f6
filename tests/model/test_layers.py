import math
from dataclasses import replace

import pytest
import torch

from alice.model.config import ModelConfig
from alice.model.layers import MLP, Attention, Block, RMSNorm, rotary_table, rotate


def test_rms_norm_divides_by_the_root_mean_square():
    norm = RMSNorm(2, eps=0.0)
    assert torch.allclose(norm(torch.tensor([3.0, 4.0])), torch.tensor([3.0, 4.0]) / math.sqrt(12.5))


def test_rms_norm_says_the_same_with_and_without_hooks():
    norm = RMSNorm(8, eps=1e-5)
    norm.w.data.uniform_(0.5, 2)
    x = torch.randn(2, 3, 8)
    plain = norm(x)
    scales = []
    norm.hook_scale.add_hook(lambda value, hook: scales.append(value))
    assert torch.allclose(norm(x), plain, atol=1e-6)
    assert torch.allclose(scales[0], (x.square().mean(-1, keepdim=True) + 1e-5).sqrt())


def test_rotation_turns_adjacent_pairs_by_position_times_frequency():
    x = torch.randn(1, 5, 3, 4)
    turned = rotate(x, rotary_table(4, 16, 10_000.0))
    for position in range(5):
        for pair, frequency in enumerate((1.0, 10_000 ** (-2 / 4))):
            angle = position * frequency
            a, b = x[0, position, 1, 2 * pair], x[0, position, 1, 2 * pair + 1]
            assert turned[0, position, 1, 2 * pair] == pytest.approx(
                float(a * math.cos(angle) - b * math.sin(angle)), abs=1e-6
            )
            assert turned[0, position, 1, 2 * pair + 1] == pytest.approx(
                float(a * math.sin(angle) + b * math.cos(angle)), abs=1e-6
            )


def test_rotation_is_the_same_when_compiled(monkeypatch):
    x, table = torch.randn(2, 7, 2, 6), rotary_table(6, 16, 10_000.0)
    eager = rotate(x, table)
    monkeypatch.setattr(torch.compiler, "is_compiling", lambda: True)
    assert torch.allclose(rotate(x, table), eager, atol=1e-6)


def test_scores_after_rotation_depend_on_the_distance_alone():
    table = rotary_table(8, 64, 10_000.0)
    q, k = torch.randn(8), torch.randn(8)
    turned_q, turned_k = (rotate(v.expand(1, 64, 1, 8), table)[0, :, 0] for v in (q, k))
    scores = turned_q @ turned_k.T
    assert torch.allclose(scores[10, 3], scores[47, 40], atol=1e-4)
    assert not torch.allclose(scores[10, 3], scores[10, 4], atol=1e-2)


@pytest.fixture
def config() -> ModelConfig:
    return ModelConfig(d_model=16, n_layers=1, n_heads=2, d_mlp=24, n_ctx=32)


def test_attention_in_bf16_on_a_cpu_is_computed_in_fp32_where_a_gradient_is_needed(config, monkeypatch):
    attention, x = Attention(config, config.n_heads), torch.randn(2, 5, 16)
    fused, seen = torch.nn.functional.scaled_dot_product_attention, []

    def noted(q, *rest, **options):
        seen.append(q.dtype)
        return fused(q, *rest, **options)

    monkeypatch.setattr(torch.nn.functional, "scaled_dot_product_attention", noted)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        attention(x, None)
        with torch.no_grad():
            attention(x, None)
    assert seen == [torch.float32, torch.bfloat16]


def test_attention_with_weights_in_bf16_has_a_gradient(config):
    attention, x = Attention(config, config.n_heads).to(torch.bfloat16), torch.randn(2, 5, 16, dtype=torch.bfloat16)
    answer = attention(x, None)
    assert answer.dtype == torch.bfloat16
    answer.sum().backward()
    assert attention.qkv.weight.grad.isfinite().all()


def test_attention_under_bf16_autocast_agrees_with_fp32(config):
    attention, x = Attention(config, config.n_heads), torch.randn(2, 5, 16)
    mask = torch.tensor([[True] * 5, [True] * 3 + [False] * 2])
    exact = attention(x, mask)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        assert torch.allclose(attention(x, mask).float(), exact, atol=0.02)


def test_attention_without_fusion_agrees_with_the_fused_one(config):
    attention = Attention(config, 2)
    x, mask = torch.randn(2, 9, 16), torch.ones(2, 9, dtype=torch.bool)
    mask[1, 6:] = False
    fused = attention(x, mask)
    patterns = []
    attention.hook_pattern.add_hook(lambda value, hook: patterns.append(value))
    assert torch.allclose(attention(x, mask), fused, atol=1e-5)
    assert torch.allclose(patterns[0].sum(-1), torch.ones(2, 2, 9))
    assert (patterns[0][1, :, :, 6:] == 0).all()


def test_head_results_add_up_to_the_attention_output(config):
    attention = Attention(config, 2)
    x = torch.randn(2, 9, 16)
    plain = attention(x, None)
    results = []
    attention.hook_result.add_hook(lambda value, hook: results.append(value))
    attention(x, None)
    assert results[0].shape == (2, 9, 2, 16)
    assert torch.allclose(results[0].sum(2), plain, atol=1e-5)


def test_per_head_weights_reproduce_queries_keys_and_values(config):
    attention = Attention(config, 2)
    x, seen = torch.randn(1, 4, 16), {}
    for name, hook_point in (("q", attention.hook_q), ("k", attention.hook_k), ("v", attention.hook_v)):
        hook_point.add_hook(lambda value, hook, name=name: seen.update({name: value}))
    attention(x, None)
    for name, weight in (("q", attention.W_Q), ("k", attention.W_K), ("v", attention.W_V)):
        assert torch.allclose(torch.einsum("bpm,hmd->bphd", x, weight), seen[name], atol=1e-5)


def test_swiglu_is_silu_of_the_gate_times_the_linear_branch(config):
    mlp = MLP(config)
    x = torch.randn(1, 3, 16)
    gate, up = x @ mlp.W_gate, x @ mlp.W_in
    assert torch.allclose(mlp(x), (gate * torch.sigmoid(gate) * up) @ mlp.W_out, atol=1e-5)


def test_stochastic_depth_skips_whole_branches_in_training_and_none_otherwise():
    config = ModelConfig(d_model=16, n_layers=1, n_heads=2, d_mlp=24, n_ctx=32)
    block = Block(config, 2, stochastic_depth=0.5)
    torch.manual_seed(0)
    branch = torch.ones(1000, 2, 3)
    dropped = block.train()._drop(branch)
    per_text = dropped[:, 0, 0]
    assert set(per_text.tolist()) == {0.0, 2.0}
    assert (dropped == per_text[:, None, None]).all()
    assert torch.equal(block.eval()._drop(branch), branch)


@pytest.mark.parametrize("hook", ["hook_q", "hook_rot_q"])
def test_what_torch_hooks_get_or_give_is_never_overwritten(base, ids, hook):
    attention, kept = base.blocks[0].attn, []
    capture = attention.qkv.register_forward_hook(lambda module, x, output: kept.append((output, output.clone())))
    with torch.inference_mode():
        base(ids)
    capture.remove()
    torch.testing.assert_close(*kept[0], rtol=0, atol=0)
    stored = kept[0][1].clone()
    patch = attention.qkv.register_forward_hook(lambda module, x, output: stored)
    with torch.inference_mode(), base.hooks(fwd_hooks=[(f"blocks.0.attn.{hook}", lambda x, hook: None)]):
        base(ids)
    patch.remove()
    torch.testing.assert_close(stored, kept[0][1], rtol=0, atol=0)


@pytest.mark.parametrize("hooked", [False, True])
def test_attention_dropout_drops_and_rescales_entries_of_the_pattern_in_training_only(hooked):
    attention = Attention(ModelConfig(d_model=64, n_heads=1, attention_dropout=0.25), 1)
    if hooked:
        attention.hook_pattern.add_hook(lambda pattern, hook: pattern)
    torch.manual_seed(0)
    same = torch.zeros(8, 64, 1, 64)  # equal scores, so that every entry of the pattern is 1 / 64
    pattern = attention.train()._mix(same, same, torch.eye(64).expand(8, 1, 64, 64).transpose(1, 2), None)
    assert pattern.unique().tolist() == pytest.approx([0, 1 / 64 / 0.75])
    assert float((pattern == 0).float().mean()) == pytest.approx(0.25, abs=0.02)
    pattern = attention.eval()._mix(same, same, torch.eye(64).expand(8, 1, 64, 64).transpose(1, 2), None)
    assert torch.allclose(pattern, torch.tensor(1 / 64))


def test_stochastic_depth_is_the_same_in_all_blocks_or_rises_linearly():
    config = ModelConfig(stochastic_depth=0.3)
    assert config.skip_rates(3) == [0.3, 0.3, 0.3]
    linear = replace(config, stochastic_depth_linear=True)
    assert linear.skip_rates(4) == pytest.approx([0, 0.1, 0.2, 0.3])
    assert linear.skip_rates(1) == [0.0]
