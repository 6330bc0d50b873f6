"""A training in two processes is the same training."""

import subprocess
import sys
from pathlib import Path

import pytest
from training_runs import carry_out, losses, same_weights, small_run, write_corpus

from alice.training import log as metrics_log
from alice.training.state import TrainingState


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "texts.txt")


def in_two_processes(folder: Path, *options: str) -> None:
    """Go on with a run in two processes that exchange gradients over gloo."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "alice.cli"]
    command = [*launch, "train", "--out", str(folder), "--resume", "--cpu", "--threads", "1", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done:") == 1  # of two processes one speaks


def test_two_processes_follow_the_same_loss_curve_as_one(corpus, tmp_path):
    # With Muon, whose steps each process works out for itself from the gradients of both.
    one, two = (small_run(tmp_path / name, corpus, steps=20, log_every=1, muon_lr=3e-3) for name in ("one", "two"))
    carry_out(one)
    carry_out(two, stop=lambda: True)
    in_two_processes(two.folder)
    state = TrainingState.read(two.folder)
    assert {name.partition("/")[0] for name in state.group("rng")} == {"0", "1"}  # there really were two
    assert losses(two.folder) == pytest.approx(losses(one.folder), rel=1e-4)
    assert len(losses(two.folder)) == 20


def test_two_processes_resume_as_if_never_stopped_and_end_a_budget_in_hours_together(corpus, tmp_path):
    fields = {"variant": "bijective", "steps": 8, "log_every": 8, "eval_every": 8}
    unbroken, broken = (small_run(tmp_path / name, corpus, **fields) for name in ("unbroken", "broken"))
    for run in (unbroken, broken):
        carry_out(run, stop=lambda: True)
    in_two_processes(unbroken.folder, "--steps", "8")
    in_two_processes(broken.folder, "--steps", "3")
    in_two_processes(broken.folder, "--steps", "8")
    assert same_weights(unbroken.folder, broken.folder)
    in_two_processes(broken.folder, "--hours", str((TrainingState.read(broken.folder).counters.seconds + 2) / 3600))
    assert metrics_log.read(broken.folder)[-1]["step"] == TrainingState.read(broken.folder).counters.step
