"""Ctrl-C anywhere is one line, and leaves nothing half done."""

import signal
import threading
import traceback

import pytest
from interrupting import interrupt
from workbench import save_checkpoint, save_texts, write_plugin

from alice.cli.signals import no_interrupts

DEMO = """
from alice.cli import demo, main
demo.CRYPTOGRAMS = ()
demo.ANALYSES = (demo.Small("early-exit", ("base",), {"samples": 100_000}),)
main(["demo"])
"""
WAITING = "import sys, time; print('waiting', file=sys.stderr, flush=True); time.sleep(600)"


@pytest.fixture
def place(tmp_path):
    save_checkpoint(tmp_path / "model")
    save_texts(tmp_path / "texts.txt")
    write_plugin(tmp_path / "mine.py", body=WAITING)
    return tmp_path


DATA = ("--ckpt", "model", "--data", "texts.txt", "--split", "all")


@pytest.mark.parametrize(
    ("arguments", "ready"),
    [
        (["-m", "alice.cli", "run", "count", "--plugin", "mine.py", *DATA], "waiting"),
        (["-c", DEMO], "[1/1] early-exit"),
    ],
    ids=["run", "demo"],
)
def test_an_interrupted_analysis_is_one_line_and_leaves_no_half_written_run(place, arguments, ready):
    assert interrupt(place, arguments, ready) == (130, "alice-interp: interrupted\n")
    left = list((place / "runs").rglob("*.tmp")) if (place / "runs").exists() else []
    assert left == []


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


def test_while_no_interrupts_are_wanted_none_comes_and_afterwards_they_do():
    with no_interrupts():
        signal.raise_signal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)


def test_other_threads_may_ask_for_no_interrupts_too():
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
