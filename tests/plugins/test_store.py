import json
import os
import shutil
import signal
import subprocess
import sys
import time

import pytest
import torch
from safetensors.torch import load_file
from tiny import tiny
from torch.overrides import TorchFunctionMode

from alice.checkpoint.folder import write_tensors
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.conformance import tiny_context, tiny_texts
from alice.plugins.context import store

HOOKS = ("blocks.*.hook_resid_post", "hook_embed")


@pytest.fixture
def computed(monkeypatch):
    """A list of the hooks of each forward pass that the store runs; the random batch that it checks is the first."""
    monkeypatch.setattr(store, "randbelow", lambda count: 0)
    run, passes = store.run_batch, []
    monkeypatch.setattr(
        store, "run_batch", lambda model, batch, names: passes.append(list(names)) or run(model, batch, names)
    )
    return passes


def same(one, other):
    assert len(one) == len(other)
    for (batch, cache), (other_batch, other_cache) in zip(one, other, strict=True):
        assert torch.equal(batch.cipher_ids, other_batch.cipher_ids)
        assert cache.keys() == other_cache.keys()
        assert all(torch.equal(cache[name], other_cache[name]) for name in cache.keys())  # noqa: SIM118  (no dict)


def shards(folder):
    return sorted(folder.rglob("*.safetensors"))


def hooks_in(stored):
    return {path.name for path in stored.folder.glob("*") if path.is_dir()}


def size_of(stored):
    return sum(path.stat().st_size for path in shards(stored.folder))


def used(stored, *, hours_ago):
    """Set when the hooks of a store were last used."""
    for folder in stored.folder.iterdir():
        if folder.is_dir():
            os.utime(folder, (time.time() - 3600 * hours_ago,) * 2)


def test_what_is_stored_is_what_is_streamed_bit_for_bit_the_first_time_and_later(ctx):
    for _ in range(2):
        same(ctx.store(*HOOKS), ctx.activations(*HOOKS))


def test_the_second_reading_recomputes_one_batch_as_a_check_and_later_ones_nothing(ctx, computed):
    list(ctx.store(*HOOKS))
    stored = ctx.store(*HOOKS)
    computed.clear()
    list(stored)
    assert [sorted(names) for names in computed] == [sorted(stored.source.names)]
    list(stored)
    assert len(computed) == 1


def test_an_overlapping_request_computes_only_what_is_missing(ctx, computed):
    list(ctx.store("blocks.*.hook_resid_post"))
    larger = ctx.store(*HOOKS)
    computed.clear()
    list(larger)
    assert computed[1:] == [["hook_embed"]] * len(larger)  # the first pass checks what was stored
    same(larger, ctx.activations(*HOOKS))


def test_a_store_belongs_to_a_model_texts_and_keys_whichever_hooks_are_requested(ctx, cache):
    first = ctx.store("blocks.*.hook_resid_post")
    assert ctx.store("hook_embed").folder == first.folder
    folders = {
        first.folder,
        ctx.sample(5).store("hook_embed").folder,
        tiny_context(tiny("base", d_mlp=16), texts=40).store("hook_embed").folder,
        RunContext.open(ctx.model, data=tiny_texts(40), split="all", seed=1).store("hook_embed").folder,
    }
    assert len(folders) == 4
    assert all(folder.parent == cache for folder in folders)


def test_hooks_that_share_memory_and_attention_patterns_can_be_stored(ctx):
    for patterns in (("blocks.*.hook_resid_*", "pool.hook_out"), ("blocks.*.attn.hook_pattern",)):
        for _ in range(2):
            same(ctx.sample(6).store(*patterns), ctx.sample(6).activations(*patterns))


def test_what_is_stored_of_a_hook_does_not_depend_on_the_others_requested_with_it(model, cache):
    ctx = tiny_context(model, texts=12)
    names = model.match_hooks("*")
    one_by_one = {name: ctx.store(name)[1][1][name] for name in names}
    shutil.rmtree(cache)
    _, together = ctx.store(*names)[1]
    assert len(names) > 40
    assert all(torch.equal(one_by_one[name], together[name]) for name in names)


@pytest.mark.parametrize("damage", ["cut", "empty", "flipped", "gone", "folder", "all"])
def test_a_damaged_or_deleted_store_is_computed_again(ctx, cache, computed, damage):
    list(ctx.store(*HOOKS))
    stored = ctx.store(*HOOKS)
    shard = shards(stored.folder)[1]
    content = shard.read_bytes()
    if damage in ("cut", "empty", "flipped"):
        flipped = content[:-3] + bytes([content[-3] ^ 1]) + content[-2:]  # one bit, which changes little
        shard.write_bytes({"cut": content[:-100], "empty": b"", "flipped": flipped}[damage])
    elif damage == "gone":
        shard.unlink()
    else:
        shutil.rmtree(stored.folder if damage == "folder" else cache)
    same(stored, ctx.activations(*HOOKS))
    computed.clear()
    list(stored)
    assert not computed
    assert shard.read_bytes() == content


def test_a_store_that_is_deleted_all_the_time_fails_no_analysis(ctx, cache, monkeypatch):
    stored, write = ctx.store(*HOOKS), store.write_tensors

    def write_and_delete(*args):
        write(*args)
        shutil.rmtree(cache)

    monkeypatch.setattr(store, "write_tensors", write_and_delete)
    same(stored, ctx.activations(*HOOKS))
    monkeypatch.setattr(store, "write_tensors", lambda *args: shutil.rmtree(cache) or write(*args))
    same(stored, ctx.activations(*HOOKS))
    assert not cache.exists()


@pytest.mark.parametrize("marked", [True, False])
def test_a_hook_that_an_earlier_process_stored_wrongly_is_discarded(ctx, computed, marked):
    stored = ctx.store(*HOOKS)
    list(stored)
    if not marked:  # then the folder may not be removed as a whole
        (stored.folder / store.ABOUT).unlink()
    for shard in shards(stored.folder / "hook_embed"):  # with a checksum of their own, as a poisoned store has
        tensor = 2 * load_file(shard)["hook_embed"]
        write_tensors(shard, {"hook_embed": tensor}, {"crc32": store._checksum("hook_embed", tensor)})
    computed.clear()
    same(ctx.store(*HOOKS), ctx.activations(*HOOKS))
    assert not marked or computed[1:] == [["hook_embed"]] * len(stored)
    same(ctx.store(*HOOKS), ctx.activations(*HOOKS))


KILLED = """
import os, signal
from alice.plugins.conformance import tiny_context, tiny_model
ctx = tiny_context(tiny_model("base"), texts=40)
stored = ctx.store("blocks.*.hook_resid_post", "hook_embed")
stored[0], stored[1]
os.fsync = lambda number: os.kill(os.getpid(), signal.SIGKILL)
stored[2]
"""


def test_a_kill_in_the_middle_of_a_shard_leaves_complete_shards_to_continue_from(ctx, cache, computed):
    done = subprocess.run([sys.executable, "-c", KILLED], capture_output=True, text=True)
    assert done.returncode == -signal.SIGKILL, done.stderr
    (draft,) = cache.rglob(".*.alice-interp-draft")
    stored = ctx.store(*HOOKS)
    assert len(shards(stored.folder)) == 2 * 3
    assert not draft.exists()
    list(stored)
    assert len(computed) == len(stored) - 1  # the first batch as a check, the second was there
    same(stored, ctx.activations(*HOOKS))


def test_stored_activations_can_be_trained_on(ctx):
    for _ in range(2):
        _, cache = ctx.store("hook_embed")[0]
        weight = torch.ones(16, requires_grad=True)
        (cache["hook_embed"] @ weight).sum().backward()
        assert weight.grad is not None


def lens(model):
    return model.hooks([("hook_embed", lambda value, hook: value * 0)])


def on_module(model):
    return model.blocks[0].mlp.register_forward_hook(lambda module, inputs, output: output * 0)


def before_module(model):
    return model.blocks[1].register_forward_pre_hook(lambda module, inputs: (inputs[0] * 0, *inputs[1:]))


def backward(model):
    return model.ln_final.register_full_backward_hook(lambda module, inputs, outputs: None)


def on_root(model):
    return model.register_forward_hook(lambda module, inputs, output: output * 0)


def everywhere(model):
    return torch.nn.modules.module.register_module_forward_hook(lambda module, inputs, output: None)


@pytest.mark.parametrize(
    ("hook", "where"),
    [
        (lens, "hook_embed"),
        (on_module, r"blocks\.0\.mlp"),
        (before_module, r"blocks\.1"),
        (backward, "ln_final"),
        (on_root, "the model itself"),
        (everywhere, "every module"),
    ],
)
def test_a_model_with_any_hook_on_it_is_refused_stored_or_not(ctx, hook, where):
    stored = ctx.store(*HOOKS)
    _ = stored[0]
    with hook(ctx.model):  # handles of torch are context managers, too
        for number in (0, 1):
            with pytest.raises(AliceError, match=f"base has a hook on {where}, so its activations cannot be stored"):
                _ = stored[number]
    same(stored, ctx.activations(*HOOKS))


def test_a_replaced_forward_is_refused(ctx):
    ctx.model.blocks[0].forward = lambda x, mask: x
    with pytest.raises(AliceError, match=r"base has a hook on blocks\.0, so"):
        _ = ctx.store(*HOOKS)[0]


@pytest.mark.parametrize("way", ["in place", "through data", "buffer"])
def test_changed_weights_are_never_stored_under_the_key_of_the_clean_ones(ctx, way):
    stored = ctx.store(*HOOKS)
    tensor = next(ctx.model.buffers()) if way == "buffer" else ctx.model.blocks[0].ln1.w
    with torch.no_grad():
        (tensor.data if way == "through data" else tensor).mul_(2)
    with pytest.raises(AliceError, match="the weights or modules of base were changed after it was opened"):
        _ = stored[0]
    assert not shards(stored.folder)


def test_weights_that_change_during_an_iteration_are_an_error_and_do_not_reach_the_store(ctx):
    stored, weight = ctx.store(*HOOKS), ctx.model.blocks[0].ln1.w
    with pytest.raises(AliceError, match="the weights or modules of base were changed"):  # noqa: PT012
        for number, _ in enumerate(stored):
            if number == 0:
                weight.data.mul_(2)
    assert len(stored) > 1
    weight.data.div_(2)
    same(stored, ctx.activations(*HOOKS))


def other_weights(model):
    kept = model.blocks[0].mlp.down.weight.data.clone()
    model.blocks[0].mlp.down.weight.data.zero_()
    return lambda: model.blocks[0].mlp.down.weight.data.copy_(kept)


def other_module(model):
    kept, model.blocks[0].mlp = model.blocks[0].mlp, torch.nn.Identity()
    return lambda: setattr(model.blocks[0], "mlp", kept)


def other_method(model):
    model.blocks[0]._drop = lambda branch: branch * 0
    return lambda: delattr(model.blocks[0], "_drop")


def other_class(model):
    block, kept = model.blocks[0], type(model.blocks[0])
    block.__class__ = type("Silent", (kept,), {"forward": lambda self, resid, mask: resid})
    return lambda: setattr(block, "__class__", kept)


def other_number(model):
    kept, model.ln_final.eps = model.ln_final.eps, 100.0
    return lambda: setattr(model.ln_final, "eps", kept)


def shadowed_weight(model):
    vars(model.blocks[0].ln1)["w"] = torch.zeros(16)
    return lambda: vars(model.blocks[0].ln1).pop("w")


def dropout(model):
    model.train().blocks[0].dropout.p = 0.9
    return lambda: setattr(model.eval().blocks[0].dropout, "p", 0.0)


CHANGES = [other_weights, other_module, other_method, other_class, other_number, shadowed_weight, dropout]


@pytest.mark.parametrize("change", CHANGES)
def test_a_changed_model_is_refused(ctx, change):
    stored = ctx.store(*HOOKS)
    change(ctx.model)
    with pytest.raises(AliceError, match="the weights or modules of base were changed"):
        _ = stored[0]


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_that_is_undone_before_the_iteration_ends_does_not_reach_the_store(ctx, change):
    stored = ctx.store(*HOOKS)
    iteration = iter(stored)
    next(iteration)
    undo = change(ctx.model)
    for _ in range(1, len(stored)):
        next(iteration)
    undo()
    assert list(iteration) == []
    same(ctx.store(*HOOKS), ctx.activations(*HOOKS))


class Doubled(TorchFunctionMode):
    """Doubles what every linear layer returns."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        result = func(*args, **(kwargs or {}))
        return 2 * result if func is torch.nn.functional.linear else result


def test_modes_and_replaced_methods_of_classes_are_refused(ctx, monkeypatch):
    stored = ctx.store(*HOOKS)
    with Doubled(), pytest.raises(AliceError, match="has a hook on every module"):
        _ = stored[0]
    with torch.device("cpu"):  # also a mode, and harmless
        _ = stored[0]
    with monkeypatch.context() as patch:
        patch.setattr(type(ctx.model.blocks[0].mlp), "forward", lambda self, x: x * 0)
        with pytest.raises(AliceError, match="has a hook on every module"):
            _ = stored[1]
    same(stored, ctx.activations(*HOOKS))


def test_a_wrong_batch_that_is_not_the_first_is_found_by_chance(ctx, monkeypatch):
    stored = ctx.store(*HOOKS)
    list(stored)
    shard = shards(stored.folder / "hook_embed")[3]
    tensor = 2 * load_file(shard)["hook_embed"]
    write_tensors(shard, {"hook_embed": tensor}, {"crc32": store._checksum("hook_embed", tensor)})
    monkeypatch.setattr(store, "randbelow", lambda count: 3)
    same(ctx.store(*HOOKS), ctx.activations(*HOOKS))


def test_an_iteration_checks_the_model_twice_and_only_if_it_computes(ctx, monkeypatch):
    checked, check = [], type(ctx.named_model).check_unchanged
    _ = ctx.named_model.pristine
    monkeypatch.setattr(type(ctx.named_model), "check_unchanged", lambda self: checked.append(1) or check(self))
    stored = ctx.store(*HOOKS)
    assert len(stored) > 2
    list(stored)
    assert len(checked) == 2
    list(stored)
    assert len(checked) == 2


def test_autocast_does_not_reach_the_store(ctx):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        list(ctx.store("blocks.*.hook_resid_post"))
    same(ctx.store("blocks.*.hook_resid_post"), ctx.activations("blocks.*.hook_resid_post"))


@pytest.mark.filterwarnings("ignore:Mismatch dtype")  # torch warns about speed
def test_another_number_type_has_a_store_of_its_own(ctx):
    first, single = ctx.store("hook_embed").folder, ctx.named_model.fingerprint
    double = tiny_context(ctx.model.double(), texts=40)
    assert double.named_model.fingerprint == single
    assert double.store("hook_embed").folder != first


# How much is kept, and where.


def test_a_request_beyond_the_limit_is_refused_once_it_gets_there(ctx, cache, monkeypatch):
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", "30K")
    with pytest.raises(
        AliceError,
        match=r"of 40 texts at 3 hook points need more than the limit of 30.0 KB; .* ALICE_INTERP_CACHE_LIMIT",
    ):
        list(ctx.store(*HOOKS))
    assert 0 < sum(path.stat().st_size for path in shards(cache)) < 40_000


def test_a_disk_that_is_almost_full_is_one_sentence(ctx, monkeypatch):
    usage = type("Usage", (), {"free": store.KEPT_FREE + 100})
    monkeypatch.setattr(store.shutil, "disk_usage", lambda folder: usage)
    with pytest.raises(AliceError, match=r"has no space for .* 256.0 MB must stay free"):
        list(ctx.store(*HOOKS))


def test_a_limit_that_is_not_a_size_is_refused():
    with pytest.raises(AliceError, match="'lots' is not a size"):
        store.limit({"ALICE_INTERP_CACHE_LIMIT": "lots"})


@pytest.mark.parametrize(("text", "size"), [("", 8 * 2**30), ("500M", 500 * 2**20), ("1.5 gb", 3 * 2**29), ("7", 7)])
def test_limits_are_read_as_people_write_them(text, size):
    assert store.limit({"ALICE_INTERP_CACHE_LIMIT": text}) == size


def test_the_hooks_used_least_recently_make_room_but_never_those_of_the_request(ctx, monkeypatch):
    old, older = ctx.sample(20).store(*HOOKS), ctx.sample(21).store(*HOOKS)
    for stored, age in ((old, 1), (older, 2)):
        list(stored)
        used(stored, hours_ago=age)
    kept, gone = size_of(old), size_of(older)
    new = ctx.store("hook_embed")
    list(new)
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", str(kept + 3 * size_of(new) + 2_000))
    list(ctx.store(*HOOKS))
    assert len(hooks_in(old)) == 3
    assert not older.folder.exists()  # nor is an empty folder left
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", str(size_of(new) + 2_000))
    list(ctx.sample(21).store(*HOOKS))
    assert size_of(older) == gone
    assert not old.folder.exists()


def test_reading_a_store_counts_as_using_it(ctx):
    stored = ctx.store("hook_embed")
    list(stored)
    used(stored, hours_ago=5)
    ctx.store("hook_embed")
    (hook,) = store.stored_hooks(stored.folder.parent)
    assert hook.used > time.time() - 60


@pytest.mark.parametrize("theirs", ["bare", "another marker", "link", "linked hook", "linked marker"])
def test_folders_of_others_are_never_removed(ctx, cache, tmp_path, monkeypatch, theirs):
    list(ctx.store("hook_embed"))
    marker = next(cache.glob(f"*/{store.ABOUT}"))
    precious = tmp_path / "precious"
    folder = precious / "hook_embed"
    folder.mkdir(parents=True)
    (folder / "000000.safetensors").write_bytes(bytes(10_000))
    if theirs != "bare":
        shutil.copy(marker, precious / store.ABOUT)
    if theirs == "another marker":
        (precious / store.ABOUT).write_text(json.dumps({"format": 2}))
    if theirs in ("bare", "another marker"):
        shutil.copytree(precious, cache / "theirs")
        watched = cache / "theirs" / "hook_embed" / "000000.safetensors"
    else:
        place = marker.parent / "linked" if theirs == "linked hook" else cache / "linked"
        if theirs == "linked marker":
            place.mkdir()
            (place / store.ABOUT).symlink_to(marker)
            shutil.copytree(folder, place / "hook_embed")
            watched = place / "hook_embed" / "000000.safetensors"
        else:
            place.symlink_to(folder if theirs == "linked hook" else precious)
            watched = folder / "000000.safetensors"
    for path in cache.rglob("*"):
        os.utime(path, (1, 1), follow_symlinks=False)
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", "250K")
    list(ctx.sample(39).store("blocks.0.hook_resid_post"))
    assert not (marker.parent / "hook_embed").exists()  # ours made room
    assert watched.stat().st_size == 10_000


def test_files_of_others_in_our_folders_stay(ctx, cache, monkeypatch):
    stored = ctx.store("hook_embed")
    list(stored)
    theirs = stored.folder / "hook_embed" / "notes.txt"
    theirs.write_text("mine")
    store.remove_hook(stored.folder / "hook_embed")
    assert theirs.read_text() == "mine"
    assert not shards(stored.folder)


def test_a_store_offers_what_activations_offer(run_context):
    stored, streamed = run_context.store("hook_embed"), run_context.activations("hook_embed")
    members = {*vars(streamed), *vars(type(streamed))}  # not `dir`: nnsight adds a method to every object
    public = {name for name in members if not name.startswith("_")}
    for name in public - {"batches"}:
        assert getattr(stored, name) == getattr(streamed, name), name
    assert len(stored) == len(streamed)
    assert torch.equal(stored[0][1]["hook_embed"], streamed[0][1]["hook_embed"])
    assert not stored[0][1]["hook_embed"].is_inference()


def test_a_store_says_which_checkpoint_and_corpus_it_holds(run_context):
    stored = run_context.store("hook_embed")
    assert stored[0]
    about = json.loads((stored.folder / store.ABOUT).read_text())
    assert about["checkpoint_name"] == run_context.checkpoint
    assert about["corpus"] == {"source": "the given list", "split": "all", "texts": 24, "seed": 0}
