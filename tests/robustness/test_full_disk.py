"""A full disk is one sentence, whatever is being written; what was there stays whole, and nothing half is left."""

import os
import resource
from contextlib import contextmanager

import pytest
from robustness.commands import NAMES, call
from robustness.killing import drafts_in

from alice.checkpoint.folder import TRAINING
from alice.model import Alice
from alice.plugins import store
from alice.training.state import TrainingState

SIZE = 24 * 2**20
ROOM = (0, 5_000, 60_000, 1_000_000)
"""Bytes that are left."""


@pytest.fixture
def disk(tmp_path, mounted, monkeypatch):
    """A small disk of its own."""
    if not mounted(f"size={SIZE}"):
        pytest.skip("a small disk takes the right to mount one")
    monkeypatch.setattr(store, "KEPT_FREE", 0)
    return tmp_path / "disk"


@contextmanager
def left(disk, room):
    """Fill a disk but for some bytes."""
    free = os.statvfs(disk).f_bavail * os.statvfs(disk).f_bsize
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        os.posix_fallocate(file.fileno(), 0, free - room)
    yield
    ballast.unlink()


@contextmanager
def largest_file(size):
    """Let no file grow beyond a size, which writers are told as they are told of a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != "ballast"}


@pytest.mark.parametrize("name", NAMES)
def test_a_full_disk_is_one_sentence_and_once_there_is_room_the_command_works(desk, disk, name):
    told = []
    for room in ROOM:
        with left(disk, room):
            told.append(call(command(desk, name, disk)))
        assert drafts_in(disk) == []
    assert told[0], "the disk was not full enough"
    assert all("room left" in line or "No space left" in line or " left; free some" in line for line in told if line)
    assert call(command(desk, name, disk)) == ""


def command(desk, name, disk):
    """Return a command, or how to go on where it has begun."""
    begun = name == "train" and (disk / "run" / TRAINING).exists()
    return desk.command("resume" if begun else name, disk)


@pytest.mark.parametrize("name", NAMES)
def test_a_file_that_may_not_grow_is_told_like_a_full_disk(desk, tmp_path, monkeypatch, name):
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path / "cache"))
    with largest_file(100):
        assert "no room left to write" in call(desk.command(name, tmp_path))
    assert drafts_in(tmp_path) == []


def test_what_was_there_before_stays_as_it_was(desk, disk):
    for name in NAMES:
        assert call(desk.command(name, disk)) == ""
    before = contents(disk)
    with left(disk, 0):
        for name in ("resume", "run", "export", "prepare", "pack"):
            assert call(desk.command(name, disk)), name
    after = contents(disk)
    assert {path.relative_to(disk) for path in before if before[path] != after.get(path)} == set()
    assert before.keys() == after.keys()
    assert TrainingState.read(disk / "run").counters.step == 2
    Alice.from_pretrained(disk / "run")
    assert call(desk.command("resume", disk)) == ""
