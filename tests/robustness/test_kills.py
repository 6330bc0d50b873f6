"""`kill -9` at any moment: the next start works, what was there is whole, and no temporary files pile up."""

import numpy as np
import pytest
from robustness.jobs import CACHE, RUNS, STEPS, TRAINING, analyse, gallery, train
from robustness.killing import KILLS, drafts_in, finish, kill_at, kill_within
from trainings import carry_out, losses, same_weights, small_training

from alice.checkpoint.folder import CONFIG, METRICS
from alice.model import Alice
from alice.reports.archive import read_report
from alice.reports.gallery import is_gallery, read_entries
from alice.training.folder import read_metrics
from alice.training.state import STATE, TrainingState

pytestmark = pytest.mark.long


def whole_runs(place):
    """Return the names of the runs, all of which must be whole."""
    folders = [path for path in (place / RUNS).iterdir() if path.is_dir() and not path.name.startswith(".")]
    results = [read_report(folder).result for folder in folders]
    assert all(result.metric("batches").value == len(result.arrays["sums"]) > 1 for result in results)
    return {folder.name for folder in folders}


def step_of(place):
    """Return how far the training has come, all of which must be readable."""
    folder = place / TRAINING
    if not (folder / STATE).exists():
        return 0
    if (folder / CONFIG).exists():  # the state comes first, then the checkpoint to use
        Alice.from_pretrained(folder)
    if (folder / METRICS).exists():
        read_metrics(folder)
    return TrainingState.read(folder).counters.step


def test_a_training_killed_again_and_again_ends_as_if_it_never_had_been(place, tmp_path_factory):
    unbroken = small_training(tmp_path_factory.mktemp("unbroken"), place / "texts.txt", steps=STEPS, eval_texts=4)
    carry_out(unbroken)
    rng, reached, killed = np.random.default_rng(1), 0, 0
    for _ in range(KILLS):
        killed += kill_within(1.0, rng, train, place)
        now = step_of(place)
        assert now >= reached
        assert len(drafts_in(place)) <= 1
        reached = now
    assert killed
    finish(train, place)
    assert same_weights(unbroken.folder, place / TRAINING)
    assert losses(unbroken.folder) == losses(place / TRAINING)
    assert drafts_in(place) == []


def test_an_analysis_killed_again_and_again_leaves_whole_runs_and_a_store_to_go_on_from(place):
    finish(analyse, place)
    seconds = finish(analyse, place)
    rng, known, killed = np.random.default_rng(2), whole_runs(place), 0
    for number in range(KILLS):
        if number % 2:  # half of them while the store is filled, the others while it is read
            for shard in (place / CACHE).rglob("*.safetensors"):
                shard.unlink()
        killed += kill_within(seconds * 1.2, rng, analyse, place)
        now = whole_runs(place)
        assert known <= now
        assert len(drafts_in(place)) <= 3
        known = now
    finish(analyse, place)
    assert killed
    assert known < whole_runs(place)
    assert drafts_in(place) == []


def test_a_gallery_killed_again_and_again_shows_all_runs_in_the_end(place):
    for _ in range(3):
        finish(analyse, place)
    known, seconds, rng = whole_runs(place), finish(gallery, place), np.random.default_rng(3)
    killed = 0
    for _ in range(KILLS):
        killed += kill_within(seconds, rng, gallery, place)
        assert whole_runs(place) == known
        assert is_gallery(place / RUNS / "index.html")
        assert len(drafts_in(place)) <= 1 + len(known)
    finish(gallery, place)
    assert killed
    assert drafts_in(place) == []
    assert {entry.name for entry in read_entries(place / RUNS) if not entry.problem} == known


@pytest.mark.parametrize("work", [analyse, train])
def test_a_kill_at_any_step_of_writing_is_mended_by_the_next_start(place, work):
    finish(analyse, place)
    known = whole_runs(place)
    steps = range(1, 200) if KILLS > 6 else range(1, 200, 17)
    for step in steps:
        if not kill_at(step, place, work):
            assert step > 1, "it wrote nothing"
            break
        now = whole_runs(place)
        assert known <= now
        step_of(place)
        known = now
    finish(work, place)
    assert drafts_in(place) == []
