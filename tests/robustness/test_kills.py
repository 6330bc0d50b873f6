"""`kill -9` at any moment: the next start works, stored files are complete, and temporary files do not pile up."""

import numpy as np
import pytest
from robustness.jobs import (
    CACHE,
    CORPUS,
    EXPLORER,
    REPORTS,
    RUN_SET,
    TRAINING,
    analyse,
    explorer,
    gallery,
    languages,
    run_set,
    train,
)
from robustness.killing import KILLS, LONG, finish, kill_at, kill_within, temporary_files
from trainings import losses, same_weights, write_corpus

from alice.checkpoint.folder import CONFIG, METRICS
from alice.files import remove
from alice.model import Alice
from alice.reports import read_report
from alice.reports.gallery import is_gallery, read_entries
from alice.training.folder import read_metrics
from alice.training.state import STATE, TrainingState

pytestmark = pytest.mark.long


def complete_reports(place):
    """Return the names of the reports, all of which must be complete."""
    folders = [path for path in (place / REPORTS).iterdir() if path.is_dir() and not path.name.startswith(".")]
    for folder in folders:
        report = read_report(folder)
        assert report.metric("batches").value == len(report.array("norms")) > 1
    return {folder.name for folder in folders}


def step_of(place):
    """Return the step of the training, all files of which must be readable."""
    folder = place / TRAINING
    if not (folder / STATE).exists():
        return 0
    if (folder / CONFIG).exists():  # the state is written before the checkpoint
        Alice.from_pretrained(folder)
    if (folder / METRICS).exists():
        read_metrics(folder)
    return TrainingState.read(folder).counters.step


def test_a_killed_training_resumes_and_ends_with_the_same_weights(place, tmp_path_factory):
    unbroken = tmp_path_factory.mktemp("unbroken")
    write_corpus(unbroken / CORPUS)
    seconds = finish(train, unbroken)
    rng, reached, killed = np.random.default_rng(1), 0, 0
    for _ in range(KILLS):
        killed += kill_within(min(seconds, 1.0), rng, train, place)
        now = step_of(place)
        assert now >= reached
        assert len(temporary_files(place)) <= 1
        reached = now
    assert killed
    finish(train, place)
    assert same_weights(unbroken / TRAINING, place / TRAINING)
    assert losses(unbroken / TRAINING) == losses(place / TRAINING)
    assert temporary_files(place) == []


def test_a_killed_analysis_leaves_complete_reports_and_a_usable_store(place):
    finish(analyse, place)
    seconds = finish(analyse, place)
    rng, known, killed = np.random.default_rng(2), complete_reports(place), 0
    for number in range(KILLS):
        if number % 2:  # half of them while the store is filled, the others while it is read
            for shard in (place / CACHE).rglob("*.safetensors"):
                shard.unlink()
        killed += kill_within(seconds * 1.2, rng, analyse, place)
        now = complete_reports(place)
        assert known <= now
        assert len(temporary_files(place)) <= 3
        known = now
    finish(analyse, place)
    assert killed
    assert known < complete_reports(place)
    assert temporary_files(place) == []


def test_a_killed_gallery_shows_all_reports_in_the_end(place):
    for _ in range(3):
        finish(analyse, place)
    known, seconds, rng = complete_reports(place), finish(gallery, place), np.random.default_rng(3)
    killed = 0
    for _ in range(KILLS):
        killed += kill_within(seconds, rng, gallery, place)
        assert complete_reports(place) == known
        assert is_gallery(place / REPORTS / "index.html")
        assert len(temporary_files(place)) <= 1 + len(known)
    finish(gallery, place)
    assert killed
    assert temporary_files(place) == []
    assert {listed.name for listed in read_entries(place / REPORTS) if not listed.problem} == known


@pytest.mark.parametrize("job", [analyse, train])
def test_a_kill_before_any_write_is_repaired_by_the_next_start(place, job):
    finish(analyse, place)
    known = complete_reports(place)
    for write in range(1, 200, 1 if LONG else 29):
        if not kill_at(write, place, job):
            assert write > 1, "it wrote nothing"
            break
        now = complete_reports(place)
        assert known <= now
        step_of(place)
        known = now
    finish(job, place)
    assert temporary_files(place) == []


def complete_files(place, *, of):
    """Return the contents of all files except drafts, by path below a folder."""
    files = (path for path in (place / of).rglob("*") if path.is_file() and path not in temporary_files(place))
    return {path.relative_to(place): path.read_bytes() for path in files} | _file(place, of)


def _file(place, name):
    return {name: (place / name).read_bytes()} if (place / name).is_file() else {}


@pytest.mark.parametrize(("job", "written"), [(explorer, EXPLORER), (languages, CACHE), (run_set, RUN_SET)])
def test_a_file_that_a_kill_interrupts_is_missing_or_complete(place, job, written):
    finish(job, place)
    whole = complete_files(place, of=written)
    for write in range(1, 100):
        if write % 2:  # half of the kills replace what is there
            remove(place / written)
        killed = kill_at(write, place, job)
        assert killed or write > 1, "it wrote nothing"
        assert complete_files(place, of=written).items() <= whole.items()
        if not killed and write % 2:
            break
    finish(job, place)
    assert complete_files(place, of=written) == whole
    assert temporary_files(place) == []
