"""Two processes that write to the same folder spoil nothing; those that died bar nobody."""

import os
import signal
import time

import pytest
from robustness.jobs import RUNS, TRAINING, analyse, train
from robustness.killing import drafts_in, finish, start
from trainings import carry_out, small_training

from alice.errors import AliceError
from alice.files import held
from alice.reports.archive import read_report
from alice.reports.gallery import read_entries
from alice.training.folder import Training
from alice.training.state import TrainingState


def test_a_second_training_in_a_folder_is_refused_in_one_sentence_and_the_first_goes_on(place):
    folder = place / TRAINING
    asked = []

    def second():
        if not asked:
            asked.append(True)
            for resume, run in (
                (True, Training.open(folder, {})),
                (False, small_training(folder, place / "texts.txt")),
            ):
                with pytest.raises(AliceError, match=r"another process is training in|already holds a training"):
                    carry_out(run, resume=resume)
        return False

    assert carry_out(small_training(folder, place / "texts.txt", steps=10), stop=second)
    assert TrainingState.read(folder).counters.step == 10
    assert carry_out(Training.open(folder, {"steps": 12}), resume=True)  # nobody is there any more


def test_two_trainings_that_begin_at_once_are_not_one(place, monkeypatch):
    """The other begins and ends while this one still reads its corpus."""
    from alice.training import setup as training

    folder, validation = place / TRAINING, training.validation_batches

    def meanwhile(*args):
        monkeypatch.setattr(training, "validation_batches", validation)
        carry_out(small_training(folder, place / "texts.txt", steps=3))
        return validation(*args)

    monkeypatch.setattr(training, "validation_batches", meanwhile)
    with pytest.raises(AliceError, match="already holds a training"):
        carry_out(small_training(folder, place / "texts.txt", steps=5))
    assert TrainingState.read(folder).counters.step == 3


def test_a_stopped_process_keeps_its_folder_and_a_killed_one_does_not(place):
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


def test_analyses_at_the_same_time_all_leave_their_run_and_one_gallery(place):
    processes = [start(analyse, place) for _ in range(4)]
    for process in processes:
        process.join()
        assert process.exitcode == 0
    entries = read_entries(place / RUNS)
    assert len(entries) == 4
    assert all(read_report(place / RUNS / entry.name).metric("batches").value > 1 for entry in entries)
    finish(analyse, place)
    assert (place / RUNS / "entries.js").read_text().count("addReport(") == 5
    assert drafts_in(place) == []
