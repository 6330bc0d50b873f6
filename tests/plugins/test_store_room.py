"""How much the store keeps, where, and for how long."""

import os
import time

import pytest

from alice.errors import AliceError
from alice.plugins import store_room

HOOKS = ("blocks.*.hook_resid_post", "hook_embed")


def test_a_store_beyond_the_limit_is_refused_before_anything_is_written(ctx, cache, monkeypatch):
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", "10K")
    with pytest.raises(
        AliceError, match=r"3 hooks over 40 texts needs .* KB, but the limit is 10.0 KB; .* ALICE_INTERP_CACHE_LIMIT"
    ):
        ctx.store(*HOOKS)
    assert not list(cache.glob("*"))


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


def needs(stored):
    return sum(stored.bytes_needed().values())


def used(stored, *, hours_ago):
    """Let the store, and whatever is in it, have been used some hours ago."""
    for folder in (*stored.folder.iterdir(), stored.folder):
        os.utime(folder, (time.time() - 3600 * hours_ago,) * 2)


def hooks_in(stored):
    return {path.name for path in stored.folder.glob("*") if path.is_dir()}


def test_stores_used_longest_ago_make_room_and_those_of_last_month_go(ctx, monkeypatch):
    old, older = ctx.sample(20).store(*HOOKS), ctx.sample(21).store(*HOOKS)
    for stored, age in ((old, 1), (older, 2)):
        list(stored)
        used(stored, hours_ago=age)
    needed = needs(ctx.store(*HOOKS))
    assert len(hooks_in(old)) == len(hooks_in(older)) == 3
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", str(needed + needs(old) + 5_000))
    ctx.store(*HOOKS)
    assert len(hooks_in(old)) == 3
    assert not hooks_in(older)
    used(old, hours_ago=24 * 31)
    monkeypatch.delenv("ALICE_INTERP_CACHE_LIMIT")
    ctx.store(*HOOKS)
    assert not hooks_in(old)


def test_a_growing_store_makes_room_for_new_hooks_by_those_of_its_own_that_were_used_longest_ago(ctx, monkeypatch):
    stored = ctx.store(*HOOKS)
    list(stored)
    used(stored, hours_ago=2)
    kept = ctx.store("blocks.1.hook_resid_post")
    each = needs(kept)
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", str(3 * each))
    new = ctx.store("blocks.0.hook_resid_pre", "blocks.0.hook_resid_mid")
    assert hooks_in(new) == {"blocks.0.hook_resid_mid", "blocks.0.hook_resid_pre"}
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", str(4 * each))
    ctx.store(*HOOKS)
    with pytest.raises(AliceError, match=r"5 hooks over 40 texts needs .*, but the limit is"):
        ctx.store(*HOOKS, "blocks.0.hook_resid_pre", "blocks.0.hook_resid_mid")
    assert {"hook_embed", "blocks.1.hook_resid_post"} < hooks_in(new)


def test_stores_of_an_older_version_count_and_go_when_their_time_has_come(ctx, cache, monkeypatch):
    old = cache / "0123456789abcdef"
    old.mkdir(parents=True)
    (old / "000000.safetensors").write_bytes(bytes(10_000))
    needed = needs(ctx.store(*HOOKS))
    assert old.exists()
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", str(needed + 9_000))
    ctx.store(*HOOKS)
    assert not old.exists()


def test_a_note_of_the_size_that_cannot_be_read_is_written_anew(ctx):
    folder = ctx.store("hook_embed").folder / "hook_embed"
    right = store_room.noted(folder)
    (folder / store_room.NEEDED).write_text("")
    assert store_room.noted(folder) is None
    ctx.store("hook_embed")
    assert store_room.noted(folder) == right > 0


def test_without_a_home_the_store_is_among_the_temporary_files(tmp_path, monkeypatch):
    monkeypatch.setattr(store_room.tempfile, "gettempdir", lambda: str(tmp_path))
    monkeypatch.setattr(store_room.Path, "home", lambda: tmp_path / "file" / "home")
    (tmp_path / "file").write_text("no folder can be here")
    assert store_room.root({}) == tmp_path / f"alice-interp-{os.getuid()}" / "activations"


def test_a_folder_that_cannot_be_made_is_one_sentence(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AliceError, match=r"cannot keep activations in .*; set ALICE_INTERP_CACHE to a folder of yours"):
        store_room.root({"ALICE_INTERP_CACHE": str(tmp_path / "file")})


def test_a_store_that_is_still_being_filled_counts_with_all_that_it_needs(ctx, monkeypatch):
    filling, new = ctx.sample(39).store(*HOOKS), ctx.sample(38)
    monkeypatch.setenv("ALICE_INTERP_CACHE_LIMIT", str(needs(filling) + needs(filling) // 2))
    used(filling, hours_ago=48)
    new.store(*HOOKS)
    assert len(hooks_in(filling)) == 3
    used(filling, hours_ago=0)
    new.store(*HOOKS)
    assert len(hooks_in(filling)) < 3
