import os
import signal
import subprocess
import sys
import time

import pytest
import torch
from tiny import tiny

from alice.errors import AliceError
from alice.plugins import RunContext, store_room
from alice.plugins.conformance import tiny_context, tiny_texts

HOOKS = ("blocks.*.hook_resid_post", "hook_embed")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A cache of this test's own."""
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("ALICE_INTERP_CACHE_LIMIT", raising=False)
    return tmp_path / "cache" / "activations"


@pytest.fixture
def ctx(tiny_alice):
    return tiny_context(tiny_alice, texts=40)


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


def test_patterns_for_the_same_hooks_share_a_store_and_others_do_not(ctx, cache):
    first = ctx.store("blocks.*.hook_resid_post")
    assert ctx.store("blocks.0.hook_resid_post", "blocks.1.hook_resid_post").folder == first.folder
    folders = {
        first.folder,
        ctx.store("blocks.0.hook_resid_post").folder,
        ctx.sample(5).store("blocks.*.hook_resid_post").folder,
        tiny_context(tiny("base"), texts=40).store("blocks.*.hook_resid_post").folder,
        RunContext.open(ctx.model, data=tiny_texts(40), split="all", seed=1).store("blocks.*.hook_resid_post").folder,
    }
    assert len(folders) == 5
    assert all(folder.parent == cache for folder in folders)


def test_hooks_that_share_their_memory_and_squares_of_attention_can_be_stored(ctx):
    patterns = ("blocks.*.hook_resid_*", "blocks.*.attn.hook_pattern", "pool.hook_out")
    for _ in range(2):
        same(ctx.sample(6).store(*patterns), ctx.sample(6).activations(*patterns))


def test_the_size_is_known_beforehand(ctx):
    stored = ctx.store("blocks.*.hook_resid_post", "blocks.*.attn.hook_pattern")
    predicted = stored.bytes_needed()
    list(stored)
    real = sum(sum(cache[name].nbytes for name in stored.source.names) for _, cache in stored)
    assert predicted == real


def test_a_store_beyond_the_limit_is_refused_before_anything_is_written(ctx, cache, monkeypatch):
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", "10K")
    with pytest.raises(
        AliceError, match=r"3 hooks over 40 texts needs .* KB, but the limit is 10.0 KB; .* ALICE_INTERP_CACHE_LIMIT"
    ):
        ctx.store(*HOOKS)
    assert not list(cache.glob("*/*.safetensors"))


def test_a_full_disk_is_noticed_beforehand(ctx, monkeypatch):
    usage = type("Usage", (), {"free": store_room.FREE_AFTERWARDS + 100})
    monkeypatch.setattr(store_room.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(AliceError, match=r"needs .* more on the disk .* has 256.0 MB left"):
        ctx.store(*HOOKS)


def test_a_limit_that_is_no_size_is_refused(monkeypatch):
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", "lots")
    with pytest.raises(AliceError, match="'lots' is no size"):
        store_room.limit()


@pytest.mark.parametrize(("text", "size"), [("", 8 * 2**30), ("500M", 500 * 2**20), ("1.5 gb", 3 * 2**29), ("7", 7)])
def test_limits_are_read_as_people_write_them(text, size):
    assert store_room.limit({"ALICE_INTERP_CACHE_LIMIT": text}) == size


def test_stores_used_longest_ago_make_room_and_those_of_last_month_go(ctx, cache, monkeypatch):
    old, older = ctx.sample(20).store(*HOOKS), ctx.sample(21).store(*HOOKS)
    for stored, age in ((old, 1), (older, 2)):
        list(stored)
        os.utime(stored.folder, (time.time() - 3600 * age,) * 2)
    needed = ctx.store(*HOOKS).bytes_needed()
    assert old.folder.exists()
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", str(needed + old.bytes_needed() + 20_000))
    ctx.store(*HOOKS)
    assert old.folder.exists()
    assert not older.folder.exists()
    os.utime(old.folder, (time.time() - 86400 * 31,) * 2)
    monkeypatch.delenv("ALICE_INTERP_CACHE_LIMIT")
    ctx.store(*HOOKS)
    assert not old.folder.exists()


@pytest.mark.parametrize("harm", ["cut", "empty", "gone", "folder"])
def test_a_damaged_store_is_computed_again(ctx, harm):
    stored = ctx.store(*HOOKS)
    list(stored)
    shard = sorted(stored.folder.glob("*.safetensors"))[1]
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


def test_a_kill_in_the_middle_of_a_shard_leaves_whole_shards_to_go_on_from(ctx):
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    stored = ctx.store(*HOOKS)
    assert len(list(stored.folder.glob("*.safetensors"))) == 2
    (draft,) = stored.folder.glob(".*.tmp")
    counted = passes(ctx.model)
    list(stored)
    assert len(counted) == len(stored) - 2
    same(stored, ctx.activations(*HOOKS))
    os.utime(draft, (time.time() - 7200,) * 2)
    ctx.store(*HOOKS)
    assert not draft.exists()


def test_without_a_home_the_store_is_among_the_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr(store_room.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(store_room.Path, "home", lambda: tmp_path / "file" / "home")
    (tmp_path / "file").write_text("no folder can be here")
    assert store_room.root({}) == tmp_path / f"alice-interp-{os.getuid()}" / "activations"


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AliceError, match=r"cannot keep activations in .*; set ALICE_INTERP_CACHE to a folder of yours"):
        store_room.root({"ALICE_INTERP_CACHE": str(tmp_path / "file")})


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
    assert not list(stored.folder.glob("*.safetensors"))


@pytest.mark.filterwarnings("ignore:Mismatch dtype")  # of torch's, about speed alone
def test_another_type_of_numbers_has_a_store_of_its_own(ctx):
    first, single = ctx.store("hook_embed").folder, ctx.named_model.fingerprint
    double = tiny_context(ctx.model.double(), texts=40)
    assert double.named_model.fingerprint == single
    assert double.store("hook_embed").folder != first


def test_a_store_that_is_still_being_filled_counts_with_all_that_it_needs(ctx, monkeypatch):
    filling, new = ctx.sample(39).store(*HOOKS), ctx.sample(38)
    needed = filling.bytes_needed()
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", str(needed + needed // 2))
    assert filling.folder.exists()
    os.utime(filling.folder, (time.time() - 86400 * 2,) * 2)
    new.store(*HOOKS)
    assert filling.folder.exists()
    os.utime(filling.folder)
    new.store(*HOOKS)
    assert not filling.folder.exists()
