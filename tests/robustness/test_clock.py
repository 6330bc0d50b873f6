"""A clock that goes backwards or stops affects neither names, nor time limits, nor the removal of stale files."""

import os
import time
from datetime import UTC, datetime, timedelta
from itertools import count

import pytest
from robustness.jobs import Norms
from trainings import carry_out, small_training, write_corpus

from alice.files import atomic_write
from alice.plugins import provenance
from alice.plugins.conformance import tiny_context
from alice.plugins.runner import run_analysis
from alice.reports import publish, read_report
from alice.training.folder import read_metrics
from alice.training.state import TrainingState

NOON = datetime(2030, 1, 1, 12, tzinfo=UTC)
DAY = 86_400


@pytest.fixture
def backwards(monkeypatch, tmp_path):
    """A clock that is a day earlier each time it is read."""
    days = count()
    started = time.time()

    class Clock(datetime):
        @classmethod
        def now(cls, tz=None):
            return NOON - timedelta(days=next(days))

    monkeypatch.setattr(time, "time", lambda: started - DAY * next(days))
    for module in (publish, provenance):
        monkeypatch.setattr(module, "datetime", Clock)
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path / "cache"))


@pytest.mark.usefixtures("backwards")
def test_reports_are_stored_and_durations_are_not_negative(base, tmp_path):
    ctx = tiny_context(base, texts=40)
    folders = [run_analysis(Norms(), ctx, out=tmp_path / "runs").folder for _ in range(3)]
    assert len(set(folders)) == 3
    assert all(read_report(folder).provenance["duration"] >= 0 for folder in folders)
    assert len(list((tmp_path / "cache").rglob("*.safetensors"))) > 0
    entries = (tmp_path / "runs" / "entries.js").read_text()
    assert all(folder.name in entries for folder in folders)


def test_reports_of_the_same_second_get_different_names(base, tmp_path, monkeypatch):
    monkeypatch.setenv("ALICE_INTERP_CACHE", str(tmp_path / "cache"))
    stopped = type("Stopped", (datetime,), {"now": classmethod(lambda cls, tz=None: NOON)})
    monkeypatch.setattr(publish, "datetime", stopped)
    ctx = tiny_context(base, texts=9)
    names = [run_analysis(Norms(), ctx, out=tmp_path / "runs").folder.name for _ in range(3)]
    assert names == [f"norms-base-20300101-120000{suffix}" for suffix in ("", "-2", "-3")]


@pytest.mark.usefixtures("backwards")
def test_a_training_with_a_time_limit_ends_when_the_time_has_passed(tmp_path):
    training = small_training(
        tmp_path / "training", write_corpus(tmp_path / "texts.txt"), steps=None, hours=0.5 / 3600, log_every=1
    )
    assert carry_out(training)
    seconds = [row["seconds"] for row in read_metrics(training.folder)]
    assert seconds == sorted(seconds)
    assert TrainingState.read(training.folder).counters.seconds >= 0.5


@pytest.mark.parametrize("age", [-10 * DAY, 0, 10 * DAY])
def test_stale_temporary_files_are_told_from_locked_ones_whatever_their_date(tmp_path, age):
    stale, target = tmp_path / ".out.txt.0a1b2c3d.alice-interp-draft", tmp_path / "out.txt"
    stale.touch()
    os.utime(stale, (time.time() - age,) * 2)
    with atomic_write(target) as first:
        assert not stale.exists()
        (locked,) = tmp_path.glob(".*.alice-interp-draft")
        os.utime(locked, (time.time() - age,) * 2)
        first.write("first")
        with atomic_write(target) as second:
            second.write("second")
        assert locked.exists()
    assert target.read_text() == "first"
    assert list(tmp_path.iterdir()) == [target]
