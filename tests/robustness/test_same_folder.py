"""Several processes can share a folder without damage, and killed processes leave no locks."""

import os
import signal
import time

import pytest
from robustness.jobs import REPORTS, TRAINING, analyse, explorer, languages, run_set, train
from robustness.killing import finish, start, temporary_files
from trainings import carry_out, small_training

from alice.errors import AliceError
from alice.files import held
from alice.reports import read_report
from alice.reports.gallery import read_entries
from alice.training.folder import Training
from alice.training.state import TrainingState


def test_a_second_training_in_a_folder_is_refused_and_the_first_continues(place):
    folder = place / TRAINING
    tried = []

    def second():
        if not tried:
            tried.append(True)
            new = small_training(folder, place / "texts.txt")
            for resume, training in ((True, Training.open(folder, {})), (False, new)):
                with pytest.raises(AliceError, match=r"another process is training in|is already a training"):
                    carry_out(training, resume=resume)
        return False

    assert carry_out(small_training(folder, place / "texts.txt", steps=10), stop=second)
    assert TrainingState.read(folder).counters.step == 10
    assert carry_out(Training.open(folder, {"steps": 12}), resume=True)  # the lock is free again


def test_of_two_trainings_that_start_at_once_the_later_is_refused(place, monkeypatch):
    """The other one starts and ends while this one still reads its corpus."""
    from alice.training import setup

    folder, validation = place / TRAINING, setup.validation_batches

    def meanwhile(*args):
        monkeypatch.setattr(setup, "validation_batches", validation)
        carry_out(small_training(folder, place / "texts.txt", steps=3))
        return validation(*args)

    monkeypatch.setattr(setup, "validation_batches", meanwhile)
    with pytest.raises(AliceError, match="is already a training"):
        carry_out(small_training(folder, place / "texts.txt", steps=5))
    assert TrainingState.read(folder).counters.step == 3


def test_a_stopped_process_keeps_its_lock_and_a_killed_one_does_not(place):
    process = start(train, place)
    while not (place / TRAINING / "metrics.jsonl").exists():
        assert process.is_alive()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGSTOP)
    with pytest.raises(BlockingIOError), held(place / TRAINING):
        pass
    process.kill()
    process.join()
    finish(train, place)


def test_analyses_that_run_at_the_same_time_all_store_their_reports_in_one_gallery(place):
    processes = [start(analyse, place) for _ in range(4)]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    listed = read_entries(place / REPORTS)
    assert len(listed) == 4
    assert all(read_report(place / REPORTS / one.name).metric("batches").value > 1 for one in listed)
    assert (place / REPORTS / "entries.js").read_text().count("addReport(") == 4
    assert temporary_files(place) == []


@pytest.mark.parametrize("job", [explorer, languages, run_set])
def test_processes_that_write_the_same_file_leave_one_complete_file(place, job):
    finish(job, place)
    before = {path: path.read_bytes() for path in place.rglob("*") if path.is_file()}
    for path in (place / "cache").rglob("*.npz"):
        path.unlink()
    processes = [start(job, place) for _ in range(3)]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    assert {path: path.read_bytes() for path in place.rglob("*") if path.is_file()} == before
