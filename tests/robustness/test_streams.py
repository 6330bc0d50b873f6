"""Standard output that is full or ASCII only, closed standard input, and a current folder that was removed."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ERROR = "alice-interp: error:"


def run(*arguments, **options):
    command = [sys.executable, "-m", "alice.cli", *arguments]
    return subprocess.run(command, stderr=subprocess.PIPE, text=True, **options)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
@pytest.mark.parametrize("arguments", [["--help"], ["plugins"], ["ckpt", "show", "base"]])
def test_full_standard_output_is_one_line(arguments):
    with Path("/dev/full").open("w") as full:
        done = run(*arguments, stdout=full)
    assert done.returncode == 1
    assert (
        done.stderr == "alice-interp: error: no space left for the output; free some space or redirect it elsewhere\n"
    )


def test_closed_standard_input_is_one_line():
    done = run("solve", "-", stdout=subprocess.PIPE, preexec_fn=lambda: os.close(0))
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == f"{ERROR} standard input is closed; give a text or --file\n"


def test_an_ascii_terminal_shows_other_characters_as_escapes():
    done = run("ckpt", "show", "base", stdout=subprocess.PIPE, env=os.environ | {"PYTHONIOENCODING": "ascii"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "\\xb1" in done.stdout  # the plus-minus sign of the error rates


def test_a_removed_current_folder_is_one_line(tmp_path):
    place = tmp_path / "removed"
    place.mkdir()
    script = "import os, sys; os.chdir(sys.argv[1]); os.rmdir(sys.argv[1]); from alice.cli.__main__ import run; run()"
    done = subprocess.run([sys.executable, "-c", script, place], capture_output=True, text=True)
    assert done.returncode == 1
    assert (
        done.stderr
        == "alice-interp: error: the current folder cannot be used (No such file or directory); change to another one\n"
    )
