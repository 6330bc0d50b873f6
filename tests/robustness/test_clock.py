"""A clock that goes backwards misleads nobody: neither names, nor budgets, nor what is cleared away."""

import os
import time
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from robustness.jobs import Lengths
from trainings import carry_out, small_training, write_corpus

from alice.files import atomic_write
from alice.plugins import provenance, runner
from alice.plugins.conformance import tiny_context
from alice.plugins.runner import run_analysis
from alice.reports.archive import read_report
from alice.training.folder import read_metrics
from alice.training.state import TrainingState

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
DAY = 86_400


@pytest.fixture
def backwards(monkeypatch, tmp_path):
    """Let every look at the clock show an earlier time than the one before, by a day."""
    days = count()
    began = time.time()

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return NOON - timedelta(days=next(days))

    monkeypatch.setattr(time, "time", lambda: began - DAY * next(days))
    for module in (runner, provenance):
        monkeypatch.setattr(module, "datetime", Clock)
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("backwards")
def test_runs_are_written_and_took_no_negative_time(base, tmp_path):
    ctx = tiny_context(base, texts=40)
    runs = [run_analysis(Lengths(), ctx, out=tmp_path / "runs") for _ in range(3)]
    assert len({run.folder for run in runs}) == 3
    assert all(read_report(run.folder).provenance["duration"] >= 0 for run in runs)
    assert len(list((tmp_path / "cache").rglob("*.safetensors"))) > 0
    assert all(run.folder.name in (tmp_path / "runs" / "index.html").read_text() for run in runs)


def test_a_clock_that_stands_still_gives_every_run_a_name(base, tmp_path, monkeypatch):
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path / "cache"))
    still = type("Still", (datetime,), {"now": classmethod(lambda cls, tz=None: NOON)})
    monkeypatch.setattr(runner, "datetime", still)
    names = [run_analysis(Lengths(), tiny_context(base, texts=9), out=tmp_path / "runs").folder.name for _ in range(3)]
    assert names == [f"lengths-base-20300101-120000{number}" for number in ("", "-2", "-3")]


@pytest.mark.usefixtures("backwards")
def test_a_training_by_the_hour_ends_when_its_time_has_passed(tmp_path):
    run = small_training(tmp_path / "run", write_corpus(tmp_path / "texts.txt"), steps=None, hours=1 / 3600, log_every=1)
    assert carry_out(run)
    seconds = [row["seconds"] for row in read_metrics(run.folder)]
    assert seconds == sorted(seconds)
    assert TrainingState.read(run.folder).counters.seconds >= 1


@pytest.mark.parametrize("age", [-10 * DAY, 0, 10 * DAY])
def test_what_a_dead_process_left_goes_and_what_a_living_one_writes_stays_however_old_it_looks(tmp_path, age):
    left, target = tmp_path / ".out.txt.0a1b2c3d.tmp", tmp_path / "out.txt"
    left.touch()
    os.utime(left, (time.time() - age,) * 2)
    with atomic_write(target) as first:
        assert not left.exists()
        (draft,) = tmp_path.glob(".*.tmp")
        os.utime(draft, (time.time() - age,) * 2)
        first.write("first")
        with atomic_write(target) as second:
            second.write("second")
        assert draft.exists()
    assert target.read_text() == "first"
    assert list(tmp_path.iterdir()) == [target]
