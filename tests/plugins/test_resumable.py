"""Pieces of a computation: computed once, kept, verified, and discarded when they no longer hold."""

import json

import numpy as np
import pytest

from alice.errors import AliceError
from alice.plugins.context import resumable


class Counting:
    """A computation that counts how often it runs."""

    def __init__(self, value):
        self.value, self.runs = value, 0

    def __call__(self):
        self.runs += 1
        return np.full(3, float(self.value))


@pytest.fixture
def first(ctx):
    """Three pieces that an earlier run has kept."""
    pieces = ctx.resumable("sums", {"steps": 5})
    for number in range(3):
        pieces.array(f"piece-{number}", Counting(number))
    return pieces


def test_another_run_reads_what_was_kept_and_verifies_one_piece(ctx, first):
    pieces, calls = ctx.resumable("sums", {"steps": 5}), [Counting(number) for number in range(4)]
    found = [pieces.array(f"piece-{number}", call) for number, call in enumerate(calls)]
    assert [call.runs for call in calls] == [1, 0, 0, 1]  # the first to verify, the last because it is new
    np.testing.assert_array_equal(found, np.arange(4)[:, None] * np.ones(3))
    about = json.loads((first.folder / "about.json").read_text())
    assert (about["name"], about["options"], about["model"]) == ("sums", {"steps": 5}, "base")


def test_a_computation_that_changed_is_done_again(ctx, first):
    pieces, calls = ctx.resumable("sums", {"steps": 5}), [Counting(10 + number) for number in range(3)]
    found = [pieces.array(f"piece-{number}", call)[0] for number, call in enumerate(calls)]
    assert found == [10, 11, 12]


def test_other_options_names_texts_and_weights_have_other_pieces(ctx, first, tiny_alice):
    others = [ctx.resumable("sums", {"steps": 6}), ctx.resumable("other", {"steps": 5})]
    others.append(ctx.sample(10).resumable("sums", {"steps": 5}))
    assert first.folder not in {pieces.folder for pieces in others}
    assert len({pieces.folder for pieces in others}) == 3


def test_a_damaged_piece_is_computed_again(ctx, first):
    (first.folder / "piece-1.npy").write_bytes(b"\x93NUMPY broken")
    pieces = ctx.resumable("sums", {"steps": 5})
    damaged, intact = Counting(1), Counting(2)
    assert pieces.array("piece-1", damaged).tolist() == [1, 1, 1]
    pieces.array("piece-2", intact)
    assert damaged.runs == 1


def test_an_interruption_keeps_no_part_of_a_piece(ctx, first):
    def interrupted():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        first.array("piece-3", interrupted)
    assert sorted(path.name for path in first.folder.iterdir()) == [
        "about.json",
        "piece-0.npy",
        "piece-1.npy",
        "piece-2.npy",
    ]


def test_only_the_newest_computations_are_kept_and_nothing_of_others_is_removed(ctx, first, monkeypatch):
    monkeypatch.setattr(resumable, "KEPT", 2)
    theirs = first.folder.parent / "theirs"
    theirs.mkdir()
    (theirs / "piece-0.npy").write_text("mine")
    (first.folder / "notes.txt").write_text("mine")
    second, third = (ctx.resumable(name, {}) for name in ("second", "third"))
    assert second.folder.exists()
    assert third.folder.exists()
    assert [path.name for path in first.folder.iterdir()] == ["notes.txt"]
    assert (theirs / "piece-0.npy").exists()


def test_names_that_could_leave_the_folder_are_refused(first):
    with pytest.raises(AliceError, match=r"a piece cannot be called '\.\./piece'"):
        first.array("../piece", Counting(0))


def test_a_model_that_is_hooked_or_changed_is_refused(ctx):
    with (
        ctx.model.hooks(fwd_hooks=[("hook_embed", lambda value, hook: value)]),
        pytest.raises(AliceError, match="has hooks or changed weights"),
    ):
        ctx.resumable("sums", {})
    _ = ctx.named_model.fingerprint
    ctx.model.embed.weight.data += 1
    with pytest.raises(AliceError, match="has hooks or changed weights"):
        ctx.resumable("sums", {})
