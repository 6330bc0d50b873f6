"""Ctrl-C and SIGTERM: one line wherever they come, nothing half written, and a training that saves before it ends."""

import signal
import threading
import traceback

import pytest
from click.testing import CliRunner
from interrupting import interrupt
from trainings import write_corpus
from workbench import save_checkpoint, save_texts, write_plugin

from alice.cli import demo, main
from alice.cli.signals import no_interrupts, stop_on_signals
from alice.plugins.builtin.early_exit import EarlyExit
from alice.training.folder import read_metrics
from alice.training.loop import Trainer
from alice.training.state import TrainingState

WAITING = "import sys, time; print('waiting', file=sys.stderr, flush=True); time.sleep(600)"


@pytest.fixture
def place(tmp_path):
    save_checkpoint(tmp_path / "model")
    save_texts(tmp_path / "texts.txt")
    write_plugin(tmp_path / "mine.py", body=WAITING)
    return tmp_path


DATA = ("--ckpt", "model", "--data", "texts.txt", "--split", "all")


def no_drafts(runs):
    """Say whether no temporary file is left."""
    return not any(runs.rglob("*.alice-interp-draft"))


def test_an_interrupted_analysis_is_one_line_and_leaves_no_half_written_report(place):
    arguments = ["-m", "alice.cli", "run", "count", "--plugin", "mine.py", *DATA]
    assert interrupt(place, arguments, "waiting") == (130, "alice-interp: interrupted\n")
    assert no_drafts(place / "runs")


def test_an_interrupted_demo_runs_no_further_analysis(place, monkeypatch):
    def interrupted(self, ctx):
        raise KeyboardInterrupt

    monkeypatch.chdir(place)
    monkeypatch.setattr(demo, "CRYPTOGRAMS", ())
    monkeypatch.setattr(demo, "ANALYSES", (demo.Small("early-exit", ("model",)), demo.Small("speed", ("model",))))
    monkeypatch.setattr(EarlyExit, "run", interrupted)
    result = CliRunner().invoke(main, ["demo"])
    explorer, announced, last = result.stderr.splitlines()
    assert explorer.startswith("explorer of model: ")
    assert (result.exit_code, last) == (130, "alice-interp: interrupted")
    assert announced.startswith("[1/2] early-exit (model): ")
    assert no_drafts(place / "runs")


def test_an_interrupted_preparation_leaves_no_file(place):
    program = (
        "import sys, time; from alice.cli import data, main\n"
        "def texts(self, corpus, tally):\n"
        "    yield 'A TEXT'; print('waiting', file=sys.stderr, flush=True); time.sleep(600)\n"
        "data.Choice.texts = texts\nmain(['data', 'prepare', 'texts.txt', '--out', 'out.txt'])"
    )
    before = sorted(place.iterdir())
    assert interrupt(place, ["-c", program], "waiting") == (130, "alice-interp: interrupted\n")
    assert sorted(place.iterdir()) == before


def test_interrupts_are_ignored_in_the_block_and_arrive_afterwards():
    with no_interrupts():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_other_threads_may_use_the_block_too():
    faults = []

    def ask():
        try:
            with no_interrupts():
                pass
        except ValueError:
            faults.append(traceback.format_exc())

    thread = threading.Thread(target=ask)
    thread.start()
    thread.join()
    assert faults == []


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
    command = ["-m", "alice.cli", "train", "--out", "my training", "--steps", "1"]
    assert interrupt(tmp_path, command, "waiting") == (130, "alice-interp: interrupted\n")
    assert not (tmp_path / "my training").exists()


@pytest.fixture
def train(tmp_path):
    corpus = str(write_corpus(tmp_path / "texts.txt"))
    arguments = ["train", "--out", str(tmp_path / "my training"), "--data", corpus, "--log-every", "1", *MINI]
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
    assert not (tmp_path / "my training").exists()


def test_a_training_in_its_first_step_which_compiles_ends_at_once_and_can_be_resumed(train, tmp_path, monkeypatch):
    folder = tmp_path / "my training"
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "_step", interrupted(Trainer._step, signal.SIGINT))
        result = train()
    assert (result.exit_code, result.stderr) == (130, "alice-interp: interrupted\n")
    assert TrainingState.read(folder).counters.step == 0
    assert not list(folder.glob(".*.alice-interp-draft"))
    assert CliRunner().invoke(main, ["train", "--out", str(folder), "--resume"]).exit_code == 0
    assert read_metrics(folder)[-1]["step"] == 6


def test_a_training_past_its_first_step_ends_the_step_and_saves(train, tmp_path, monkeypatch):
    monkeypatch.setattr(Trainer, "_step", interrupted(Trainer._step, signal.SIGINT, after=2))
    result = train()
    assert result.exit_code == 130
    folder = tmp_path / "my training"
    assert result.stderr.endswith(f"continue with: alice-interp train --out '{folder}' --resume\n")
    assert TrainingState.read(tmp_path / "my training").counters.step == 3


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
