"""Other tools read the model: nnsight traces its hooks, CircuitsVis shows its tokens."""

import pytest
import torch


@pytest.fixture
def traced(model):
    return pytest.importorskip("nnsight").NNsight(model)


def test_nnsight_reads_every_hook_that_a_cache_has(traced, model, ids):
    with torch.no_grad():
        _, cache = model.run_with_cache(ids, soft=True)
        for name in ("hook_embed", "blocks.0.attn.hook_pattern", "blocks.1.mlp.hook_post", "pool.hook_out"):
            with traced.trace(ids, soft=True):
                found = traced.get(name).output.save()
            assert torch.allclose(found, cache[name], atol=1e-5), name


def test_nnsight_changes_what_a_hook_passes_on(traced, model, ids):
    def zero(value, hook):
        value[:, :, 0] = 0
        return value

    with torch.no_grad():
        expected = model.run_with_hooks(ids, soft=True, fwd_hooks=[("blocks.0.attn.hook_z", zero)])
        with traced.trace(ids, soft=True):
            traced.blocks[0].attn.hook_z.output[:, :, 0] = 0
            found = traced.output.save()
    assert torch.allclose(found, expected, atol=1e-5)


def test_nnsight_differentiates_with_respect_to_a_hook(traced, model, ids):
    _, cache = model.run_with_cache(ids, "loss", plain=ids, incl_bwd=True)
    with traced.trace(ids, "loss", plain=ids):
        stream = traced.blocks[1].hook_resid_pre.output
        loss = traced.output
        with loss.backward():
            found = stream.grad.save()
    assert torch.allclose(found, cache["blocks.1.hook_resid_pre_grad"], atol=1e-5)


def test_circuitsvis_shows_patterns_with_the_strings_of_the_tokens(base):
    attention = pytest.importorskip("circuitsvis.attention")
    text = "A SHORT ONE"
    _, cache = base.run_with_cache(text, remove_batch_dim=True)
    page = attention.attention_patterns(tokens=base.to_str_tokens(text), attention=cache["pattern", 0])
    assert '"S", "H", "O", "R", "T"' in str(page)
