import signal
import subprocess
import sys

import pytest
import torch
from tiny import tiny

from alice.errors import AliceError
from alice.plugins import RunContext, store, store_room
from alice.plugins.conformance import tiny_context, tiny_texts

HOOKS = ("blocks.*.hook_resid_post", "hook_embed")


def passes(model):
    """Count the forward passes of a model from now on."""
    counted = []
    forward = model.forward
    model.forward = lambda *args, **kwargs: counted.append(1) or forward(*args, **kwargs)
    return counted


def same(one, other):
    assert len(one) == len(other)
    for (batch, cache), (other_batch, other_cache) in zip(one, other, strict=True):
        assert torch.equal(batch.cipher_ids, other_batch.cipher_ids)
        assert cache.keys() == other_cache.keys()
        assert all(torch.equal(cache[name], other_cache[name]) for name in cache.keys())  # noqa: SIM118  (no dict)


def test_what_is_stored_is_what_is_streamed_bit_for_bit_the_first_time_and_later(ctx):
    for _ in range(2):
        same(ctx.store(*HOOKS), ctx.activations(*HOOKS))


def test_the_second_reading_runs_no_model(ctx):
    list(ctx.store(*HOOKS))
    stored = ctx.store(*HOOKS)
    counted = passes(ctx.model)
    list(stored)
    assert not counted


def test_an_overlapping_request_runs_the_model_only_for_what_is_missing_and_a_subset_not_at_all(ctx, monkeypatch):
    list(ctx.store("blocks.*.hook_resid_post"))
    larger, run, asked = ctx.store("blocks.*.hook_resid_post", "hook_embed"), store.run_batch, []
    monkeypatch.setattr(store, "run_batch", lambda model, batch, names: asked.append(names) or run(model, batch, names))
    counted = passes(ctx.model)
    list(larger)
    assert asked == [["hook_embed"]] * len(larger)
    assert len(counted) == len(larger)
    for subset in (["hook_embed"], ["blocks.1.hook_resid_post", "hook_embed"]):
        list(ctx.store(*subset))
    assert len(counted) == len(larger)  # not even a pass to find out how large it is
    same(larger, ctx.activations(*HOOKS))


def test_a_store_is_of_a_model_texts_and_keys_whichever_hooks_are_asked_for(ctx, cache):
    first = ctx.store("blocks.*.hook_resid_post")
    assert ctx.store("hook_embed").folder == first.folder
    folders = {
        first.folder,
        ctx.sample(5).store("hook_embed").folder,
        tiny_context(tiny("base"), texts=40).store("hook_embed").folder,
        RunContext.open(ctx.model, data=tiny_texts(40), split="all", seed=1).store("hook_embed").folder,
    }
    assert len(folders) == 4
    assert all(folder.parent == cache for folder in folders)


def test_hooks_that_share_their_memory_and_squares_of_attention_can_be_stored(ctx):
    for patterns in (("blocks.*.hook_resid_*", "pool.hook_out"), ("blocks.*.attn.hook_pattern",)):
        for _ in range(2):
            same(ctx.sample(6).store(*patterns), ctx.sample(6).activations(*patterns))


def test_what_is_stored_of_a_hook_does_not_depend_on_what_was_asked_for_with_it(model, cache):
    ctx = tiny_context(model, texts=12)
    names = model.match_hooks("*")
    one_by_one = {name: ctx.store(name)[1][1][name] for name in names}
    store_room.shutil.rmtree(cache)
    _, together = ctx.store(*names)[1]
    assert len(names) > 40
    assert all(torch.equal(one_by_one[name], together[name]) for name in names)


def test_the_size_is_known_beforehand(ctx):
    stored = ctx.store("blocks.*.hook_resid_post", "blocks.*.attn.hook_pattern")
    predicted = sum(stored.bytes_needed().values())
    list(stored)
    real = sum(sum(cache[name].nbytes for name in stored.source.names) for _, cache in stored)
    assert predicted == real


@pytest.mark.parametrize("harm", ["cut", "empty", "gone", "folder"])
def test_a_damaged_store_is_computed_again(ctx, harm):
    stored = ctx.store(*HOOKS)
    list(stored)
    shard = sorted(stored.folder.glob("*/*.safetensors"))[1]
    if harm == "cut":
        shard.write_bytes(shard.read_bytes()[:-100])
    elif harm == "empty":
        shard.write_bytes(b"")
    elif harm == "gone":
        shard.unlink()
    else:
        store_room.shutil.rmtree(stored.folder)
    same(stored, ctx.activations(*HOOKS))
    counted = passes(ctx.model)
    list(stored)
    assert not counted


KILLED = """
import os, signal
from alice.plugins.conformance import tiny_context, tiny_model
ctx = tiny_context(tiny_model("base"), texts=40)
stored = ctx.store("blocks.*.hook_resid_post", "hook_embed")
stored[0], stored[1]
os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)
stored[2]
"""


def test_a_kill_in_the_middle_of_a_shard_leaves_whole_shards_to_go_on_from(ctx, cache):
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (draft,) = cache.rglob(".*.tmp")
    stored = ctx.store(*HOOKS)
    assert len(list(stored.folder.glob("*/*.safetensors"))) == 2 * 3
    assert not draft.exists()
    counted = passes(ctx.model)
    list(stored)
    assert len(counted) == len(stored) - 2
    same(stored, ctx.activations(*HOOKS))


def test_stored_activations_can_be_trained_on(ctx):
    for _ in range(2):
        _, cache = ctx.store("hook_embed")[0]
        weight = torch.ones(16, requires_grad=True)
        (cache["hook_embed"] @ weight).sum().backward()
        assert weight.grad is not None


def test_a_model_with_a_hook_on_it_is_refused_stored_or_not(ctx):
    stored = ctx.store(*HOOKS)
    _ = stored[0]
    with ctx.model.hooks([("hook_embed", lambda value, hook: value * 0)]):
        for number in (0, 1):
            with pytest.raises(AliceError, match="has a hook on hook_embed, so its activations cannot be stored"):
                _ = stored[number]
    same(stored, ctx.activations(*HOOKS))


@pytest.mark.parametrize("hidden", [False, True])
def test_changed_weights_are_never_stored_under_the_key_of_the_clean_ones(ctx, hidden):
    stored = ctx.store(*HOOKS)
    with torch.no_grad():
        weight = ctx.model.blocks[0].ln1.w
        (weight.data if hidden else weight).mul_(2)
    with pytest.raises(AliceError, match="the weights of base were changed after it was opened"):
        _ = stored[0]
    assert not list(stored.folder.glob("*/*.safetensors"))


@pytest.mark.filterwarnings("ignore:Mismatch dtype")  # of torch's, about speed alone
def test_another_type_of_numbers_has_a_store_of_its_own(ctx):
    first, single = ctx.store("hook_embed").folder, ctx.named_model.fingerprint
    double = tiny_context(ctx.model.double(), texts=40)
    assert double.named_model.fingerprint == single
    assert double.store("hook_embed").folder != first
