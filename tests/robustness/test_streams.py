"""Where a program is started from and what it prints to: full, closed, of few characters, or gone."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def run(*words, **how):
    command = [sys.executable, "-m", "alice.cli", *words]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, **how)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no disk that is always full")
@pytest.mark.parametrize("words", [["--help"], ["plugins"], ["ckpt", "show", "base"]])
def test_no_room_for_what_is_printed_is_one_line(words):
    with Path("/dev/full").open("w") as full:
        done = run(*words, stdout=full)
    assert done.returncode == 1
    assert done.stderr == (
        "alice-interp: error: no room left for what is printed; free some space or print elsewhere\n"
    )


def test_closed_input_is_one_line():
    done = run("solve", "-", stdout=subprocess.PIPE, preexec_fn=lambda: os.close(0))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "alice-interp: error: standard input is closed; give a text or --file\n"


def test_a_terminal_of_few_characters_shows_the_others_as_numbers():
    done = run("ckpt", "show", "base", stdout=subprocess.PIPE, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xb1" in done.stdout  # the plus or minus of the error rates


def test_a_folder_that_is_gone_is_one_line(tmp_path):
    place = tmp_path / "gone"
    place.mkdir()
    script = "import os, sys; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); from alice.cli.__main__ import run; run()"
    done = subprocess.run([sys.executable, "-c", script, place], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr == "alice-interp: error: the folder you are in was removed; go to another one\n"
