"""The user's cache folder: private, and somewhere else without a home."""

import os

import pytest

from alice import cache
from alice.errors import AliceError
from alice.files import remove_temporary


@pytest.fixture
def no_home(tmp_path, monkeypatch):
    """A home that cannot be written to, and a folder of temporary files."""
    (tmp_path / "file").write_text("no folder can be here")
    (tmp_path / "tmp").mkdir()
    monkeypatch.setattr(cache.Path, "home", lambda: tmp_path / "file" / "home")
    monkeypatch.setattr(cache.tempfile, "tempdir", str(tmp_path / "tmp"))
    cache._temporary_folder.cache_clear()
    yield tmp_path / "tmp"
    cache._temporary_folder.cache_clear()


def test_without_a_home_the_cache_is_a_private_folder_with_an_unpredictable_name(no_home):
    first = cache.cache_folder("activations", {})
    assert cache.cache_folder("activations", {}) == first
    assert first.parent == no_home
    assert first.stat().st_mode & 0o777 == 0o700
    cache._temporary_folder.cache_clear()
    assert cache.cache_folder("activations", {}) != first


def test_a_private_folder_is_removed_at_exit(no_home):
    folder = cache.cache_folder("activations", {})
    (folder / "inside").mkdir()
    remove_temporary()
    assert not folder.exists()


@pytest.mark.parametrize("fault", ["file", "link", "writable", "writable for a group", "owner"])
def test_a_folder_that_is_not_ours_alone_is_refused_in_one_sentence(tmp_path, monkeypatch, fault):
    given = tmp_path / "given"
    if fault == "file":
        given.write_text("")
    else:
        given.mkdir()
        (tmp_path / "elsewhere").mkdir()
    if fault == "link":
        (given / "activations").symlink_to(tmp_path / "elsewhere")
    elif fault.startswith("writable"):
        (given / "activations").mkdir()
        (given / "activations").chmod(0o777 if fault == "writable" else 0o770)
    elif fault == "owner":
        monkeypatch.setattr(cache.os, "geteuid", lambda: os.getuid() + 1)
    with pytest.raises(AliceError, match=r"cannot keep data in .*; set ALICE_INTERP_CACHE to a folder"):
        cache.cache_folder("activations", {"ALICE_INTERP_CACHE": str(given)})
