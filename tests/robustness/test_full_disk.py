"""A full disk is one sentence, whatever is being written; existing files stay intact, and nothing partial is left."""

import os
import resource
from contextlib import contextmanager

import pytest
from robustness.commands import NAMES, call
from robustness.jobs import run_set
from robustness.killing import LONG, temporary_files

from alice.checkpoint.folder import TRAINING
from alice.errors import AliceError
from alice.model import Alice
from alice.plugins.context import store
from alice.training.state import TrainingState

SIZE = 24 * 2**20
FREE = (0, 5_000, 60_000, 1_000_000) if LONG else (0, 60_000)
"""Bytes left on the disk."""


@pytest.fixture
def disk(tmp_path, mount, monkeypatch):
    """A small disk."""
    if not mount(f"size={SIZE}"):
        pytest.skip("mounting a small disk is not permitted")
    monkeypatch.setattr(store, "KEPT_FREE", 0)
    return tmp_path / "disk"


@contextmanager
def filled(disk, free):
    """Fill a disk except for some bytes."""
    available = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, available - free)
    yield
    ballast.unlink()


@contextmanager
def largest_file(size):
    """Limit the size of files; writers get an error like that of a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "ballast"}


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_is_one_sentence_and_with_free_space_the_command_works(inputs, disk, name):
    errors = []
    for free in FREE:
        with filled(disk, free):
            errors.append(call(command(inputs, name, disk)))
        assert temporary_files(disk) == []
    assert errors[0], "the disk was not full enough"
    assert all("room left" in line or "No space left" in line or " left; free some" in line for line in errors if line)
    assert call(command(inputs, name, disk)) == ""


def command(inputs, name, disk):
    """Return a command, or the one that resumes what it began."""
    begun = name == "train" and (disk / "training" / TRAINING).exists()
    return inputs.command("resume" if begun else name, disk)


@pytest.mark.parametrize("name", NAMES)
def test_a_limit_on_the_size_of_files_is_reported_like_a_full_disk(inputs, tmp_path, monkeypatch, name):
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path / "cache"))
    with largest_file(100):
        assert "no room left to write" in call(inputs.command(name, tmp_path))
    assert temporary_files(tmp_path) == []


def test_a_full_disk_under_the_cache_does_not_stop_a_search(inputs, disk):
    with filled(disk, 0):
        assert call(inputs.command("solve", disk)) == ""
    assert [path for path in disk.rglob("*") if path.is_file()] == []


def test_a_run_set_that_does_not_fit_leaves_the_one_before(place):
    run_set(place)
    before = contents(place)
    with largest_file(100), pytest.raises(AliceError, match="no room left to write"):
        run_set(place)
    assert contents(place) == before


def test_existing_files_stay_intact(inputs, disk):
    for name in NAMES:
        assert call(inputs.command(name, disk)) == ""
    before = contents(disk)
    with filled(disk, 0):
        for name in ("resume", "run", "export", "prepare", "pack", "explore"):
            assert call(inputs.command(name, disk)), name
    after = contents(disk)
    assert {path.relative_to(disk) for path in before if before[path] != after.get(path)} == set()
    assert before.keys() == after.keys()
    assert TrainingState.read(disk / "training").counters.step == 2
    Alice.from_pretrained(disk / "training")
    assert call(inputs.command("resume", disk)) == ""
