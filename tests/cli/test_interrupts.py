"""Ctrl-C gives one line wherever it comes, and leaves nothing half written."""

import signal
import threading
import traceback

import pytest
from click.testing import CliRunner
from interrupting import interrupt
from workbench import save_checkpoint, save_texts, write_plugin

from alice.cli import demo, main
from alice.cli.signals import no_interrupts
from alice.plugins.builtin.early_exit import EarlyExit

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
    return not any(runs.rglob("*.tmp"))


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
    announced, last = result.stderr.splitlines()
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
