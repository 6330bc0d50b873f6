"""Ctrl-C before there is anything to save ends the program at once: while it loads, and while a training starts."""

import signal

import pytest
from click.testing import CliRunner
from interrupting import interrupt
from trainings import write_corpus

from alice.cli import main
from alice.cli.signals import stop_on_signals
from alice.training.folder import read_metrics
from alice.training.loop import Trainer
from alice.training.state import TrainingState

SLOW_MODULE = """
import os, sys, time
print("waiting", file=sys.stderr, flush=True)
try:
    time.sleep(600)
except BaseException:
    os.abort()  # as C++ code does that receives an exception from Python during initialisation
"""
MINI = [
    "--preset",
    "mini",
    "--threads",
    "1",
    "--precision",
    "fp32",
    "--compile",
    "no",
    "--device",
    "cpu",
    "--steps",
    "6",
]


@pytest.mark.parametrize("module", ["click", "torch"])
def test_it_is_one_line_while_a_slow_package_is_imported(tmp_path, monkeypatch, module):
    (tmp_path / f"{module}.py").write_text(SLOW_MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    command = ["-m", "alice.cli", "train", "--out", "my run", "--steps", "1"]
    assert interrupt(tmp_path, command, "waiting") == (130, "alice-interp: interrupted\n")
    assert not (tmp_path / "my run").exists()


@pytest.fixture
def train(tmp_path):
    corpus = str(write_corpus(tmp_path / "texts.txt"))
    arguments = ["train", "--out", str(tmp_path / "my run"), "--data", corpus, "--log-every", "1", *MINI]
    return lambda: CliRunner().invoke(main, arguments)


def interrupted(function, number, *, after=0):
    """Return the function, interrupted by a signal in its call number `after`, counted from 0."""
    calls = iter(range(1000))

    def instead(*args, **kwargs):
        if next(calls) == after:
            signal.raise_signal(number)
        return function(*args, **kwargs)

    return instead


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_a_training_that_still_reads_its_corpus_ends_at_once_and_leaves_no_folder(
    train, tmp_path, monkeypatch, number, code
):
    from alice.training import setup as training

    monkeypatch.setattr(training, "validation_batches", interrupted(training.validation_batches, number))
    result = train()
    assert result.exit_code == code
    assert result.stderr == ("alice-interp: interrupted\n" if number == signal.SIGINT else "")
    assert not (tmp_path / "my run").exists()


def test_a_training_in_its_first_step_which_compiles_ends_at_once_and_can_be_resumed(train, tmp_path, monkeypatch):
    run = tmp_path / "my run"
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_step", interrupted(Trainer._step, signal.SIGINT))
        result = train()
    assert (result.exit_code, result.stderr) == (130, "alice-interp: interrupted\n")
    assert TrainingState.read(run).counters.step == 0
    assert not list(run.glob(".*.tmp"))
    assert CliRunner().invoke(main, ["train", "--out", str(run), "--resume"]).exit_code == 0
    assert read_metrics(run)[-1]["step"] == 6


def test_a_training_past_its_first_step_ends_the_step_and_saves(train, tmp_path, monkeypatch):
    monkeypatch.setattr(Trainer, "_step", interrupted(Trainer._step, signal.SIGINT, after=2))
    result = train()
    assert result.exit_code == 130
    folder = tmp_path / "my run"
    assert result.stderr.endswith(f"continue with: alice-interp train --out '{folder}' --resume\n")
    assert TrainingState.read(tmp_path / "my run").counters.step == 3


def test_a_signal_interrupts_until_the_loop_runs_then_it_is_noted_and_a_second_one_interrupts():
    with stop_on_signals() as stop:
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        assert not stop()
        signal.raise_signal(signal.SIGINT)
        assert stop()
        assert stop.signal == signal.SIGINT
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


def test_a_signal_before_the_next_loop_runs_interrupts_at_once():
    with stop_on_signals() as stop:
        assert not stop()
        stop.begin()
        with pytest.raises(SystemExit, match="143"):
            signal.raise_signal(signal.SIGTERM)
        assert not stop()
