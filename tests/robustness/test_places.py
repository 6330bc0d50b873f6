"""Folders that cannot be written to, and a user without a home."""

import os
import subprocess
import sys

import pytest
from robustness.commands import NAMES, call

PROGRAM = "import sys; from alice.cli import main; main(sys.argv[1:])"


@pytest.fixture
def read_only(tmp_path, mounted):
    """A folder of a disk that takes nothing, as everybody sees it, even root."""
    folder = tmp_path / "disk"
    if not mounted("ro"):
        folder.chmod(0o500)
        if os.access(folder, os.W_OK):
            pytest.skip("nothing is read-only for root, and mounting is not allowed")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_disk_that_takes_nothing_is_one_sentence_that_names_it(desk, read_only, name):
    complaint = call(desk.command(name, read_only))
    assert str(read_only) in complaint
    assert "Read-only" in complaint or "Permission denied" in complaint


@pytest.mark.parametrize("name", [name for name in NAMES if name != "store"])
def test_a_file_in_place_of_the_folder_is_one_sentence(desk, tmp_path, name):
    (tmp_path / "out").write_text("mine")
    assert str(tmp_path / "out") in call(desk.command(name, tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "mine"


COMMANDS = {
    "solve": ["solve", "--ckpt", "{desk}/model", "RJ HRIF, YF QDAF"],
    "run": [
        "run",
        "ngram",
        "--ckpt",
        "{desk}/model",
        "--data",
        "{desk}/texts.txt",
        "--split",
        "all",
        "--samples",
        "30",
    ],
    "plugins": ["plugins"],
}


@pytest.fixture
def nowhere(tmp_path):
    """A home that cannot be made, not even by root."""
    (tmp_path / "file").touch()
    return str(tmp_path / "file" / "home")


@pytest.mark.parametrize("home", ["unknown", "nowhere"])
@pytest.mark.parametrize("name", COMMANDS)
def test_without_a_home_everything_works(desk, tmp_path, monkeypatch, name, home, nowhere):
    monkeypatch.chdir(tmp_path)
    for variable in (*(known for known in os.environ if known.startswith("XDG_")), "HOME", "ALICE_INTERP_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if home == "nowhere":
        monkeypatch.setenv("HOME", nowhere)
    else:
        monkeypatch.setattr("pwd.getpwuid", lambda number: {}[number])  # a user that the system does not know
    assert call([word.format(desk=desk.folder) for word in COMMANDS[name]]) == ""


def test_a_new_process_without_a_home_starts(desk, tmp_path, nowhere):
    words = [word.format(desk=desk.folder) for word in COMMANDS["solve"]]
    bare = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", "HOME": nowhere}
    program = [sys.executable, "-c", PROGRAM, *words]
    done = subprocess.run(program, env=bare, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
