"""What TransformerLens offers works on our models, with the answers it should give."""

import pytest
import torch
from transformer_lens import patching

from alice.errors import AliceError


@pytest.fixture
def cached(model, ids):
    with torch.no_grad():
        output, cache = model.run_with_cache(ids, soft=True)
    return output, cache


def test_accumulated_resid_ends_with_the_last_residual_stream(model, cached):
    stack, labels = cached[1].accumulated_resid(return_labels=True)
    assert len(labels) == 3
    assert torch.equal(stack[-1], cached[1]["blocks.1.hook_resid_post"])


def test_the_parts_of_decompose_resid_add_up_to_the_stream(model, cached):
    parts = cached[1].decompose_resid()
    assert torch.allclose(parts.sum(0), cached[1]["blocks.1.hook_resid_post"], atol=1e-4)


def test_head_results_embeddings_and_feed_forward_add_up_to_the_stream(model, cached):
    parts = cached[1].get_full_resid_decomposition(expand_neurons=False)
    assert torch.allclose(parts.sum(0), cached[1]["blocks.1.hook_resid_post"], atol=1e-4)


def test_neuron_results_add_up_to_the_stream(model, cached):
    parts = cached[1].get_full_resid_decomposition(expand_neurons=True)
    assert torch.allclose(parts.sum(0), cached[1]["blocks.1.hook_resid_post"], atol=1e-4)


def test_stacked_head_results_have_one_row_for_each_head(model, cached):
    stack, labels = cached[1].stack_head_results(return_labels=True)
    assert stack.shape[0] == 4
    assert labels[:4] == ["L0H0", "L0H1", "L1H0", "L1H1"]


def test_logit_attributions_of_the_stream_are_the_pooled_logits(base, ids):
    with torch.no_grad():
        output, cache = base.run_with_cache(ids)
        final = cache["blocks.1.hook_resid_post"][None]
        attributed = cache.logit_attrs(final, "E")[0]  # (batch, pos)
    letter = base.to_single_token("E")
    for symbol in ids[0][:8].unique():
        where = ids[0] == symbol
        expected = output[0, where, letter][0] - base.b_U[letter].detach()
        assert attributed[0, where].mean() == pytest.approx(float(expected), abs=1e-4)


def test_tokens_and_text_are_converted_both_ways_one_by_one_and_in_batches(base):
    texts = ["A SHORT ONE", "NOBODY READS THIS."]
    batch = base.to_tokens(texts)
    assert batch.shape == (2, 18)
    assert base.to_string(batch) == texts
    assert base.to_string(batch[0]) == texts[0]  # without its padding
    assert base.to_string(base.to_tokens(texts[0])) == texts[:1]
    assert base.to_string(batch.numpy()) == base.to_string(batch.tolist()) == texts
    assert base.to_string([1, 2, 0, 3]) == "ABC"
    assert base.to_string([]) == ""


@pytest.mark.parametrize(
    ("tokens", "complaint"),
    [
        (torch.tensor([0.5, 1.0]), "give integers"),
        (torch.ones(1, 1, 1, dtype=torch.long), r"shape \(1, 1, 1\)"),
        ([[1], [2, 3]], "different lengths"),
        ([1, 99], "ids 1 to 99 do not fit"),
    ],
)
def test_what_is_not_a_text_of_ids_is_one_sentence(base, tokens, complaint):
    with pytest.raises(AliceError, match=complaint):
        base.to_string(tokens)


@pytest.mark.parametrize(("texts", "complaint"), [("", "empty text"), (["A", "b"], "'b' at position 0")])
def test_what_cannot_be_tokens_is_one_sentence(base, texts, complaint):
    with pytest.raises(AliceError, match=complaint):
        base.to_tokens(texts)


def test_a_token_is_exactly_one_character(base):
    assert base.to_single_token("A") == 1
    with pytest.raises(AliceError, match="exactly one"):
        base.to_single_token("AB")


@pytest.mark.parametrize(
    ("sweep", "shape"),
    [
        (patching.get_act_patch_resid_pre, (2, 11)),
        (patching.get_act_patch_attn_out, (2, 11)),
        (patching.get_act_patch_mlp_out, (2, 11)),
        (patching.get_act_patch_attn_head_out_all_pos, (2, 2)),
        (patching.get_act_patch_attn_head_pattern_all_pos, (2, 2)),
    ],
)
def test_patching_sweeps_run_and_agree_with_patching_by_hand(base, sweep, shape):
    clean, corrupted = base.to_tokens("ABCAB CABCA"), base.to_tokens("ABCAB DABCA")

    def metric(logits):
        return logits[0, 0, 1]

    with torch.no_grad():
        _, cache = base.run_with_cache(clean)
        found = sweep(base, corrupted, cache, metric)
        assert found.shape == shape
        if sweep is patching.get_act_patch_resid_pre:
            stream = cache["blocks.1.hook_resid_pre"]

            def patch(value, hook):
                value = value.clone()
                value[:, 6] = stream[:, 6]
                return value

            by_hand = metric(base.run_with_hooks(corrupted, fwd_hooks=[("blocks.1.hook_resid_pre", patch)]))
            assert found[1, 6] == pytest.approx(float(by_hand), abs=1e-5)
        else:
            assert not torch.allclose(found, metric(base(corrupted)).expand(shape), atol=1e-5)
