"""Folders that cannot be written to, and users without a home folder."""

import os
import subprocess
import sys

import pytest
from robustness.commands import NAMES, call

PROGRAM = "import sys; from alice.cli import main; main(sys.argv[1:])"
RUN = "run early-exit --ckpt {inputs}/model --data {inputs}/texts.txt --split all --samples 6 --examples 0"
STORE = "run ngram --ckpt {inputs}/model --data {inputs}/texts.txt --split all --samples 8 --epochs 1 --hidden 8"
COMMANDS = {
    "solve": ["solve", "--ckpt", "{inputs}/model", "RJ HRIF, YF QDAF"],
    "run": RUN.split(),
    "store": STORE.split(),
    "plugins": ["plugins"],
}


@pytest.fixture
def read_only(tmp_path, mount):
    """A read-only folder, also for root."""
    folder = tmp_path / "disk"
    if not mount("ro"):
        folder.chmod(0o500)
        if os.access(folder, os.W_OK):
            pytest.skip("root can write to every folder, and mounting is not permitted")
    return folder


@pytest.mark.parametrize("name", NAMES)
def test_a_read_only_disk_is_one_sentence_that_names_it(inputs, read_only, name):
    error = call(inputs.command(name, read_only))
    assert str(read_only) in error
    assert any(reason in error for reason in ("Read-only", "Permission denied", "cannot be written to"))


@pytest.mark.parametrize("name", [name for name in NAMES if name != "store"])
def test_a_file_in_place_of_the_folder_is_one_sentence(inputs, tmp_path, name):
    (tmp_path / "out").write_text("mine")
    assert str(tmp_path / "out") in call(inputs.command(name, tmp_path / "out"))
    assert (tmp_path / "out").read_text() == "mine"


@pytest.fixture
def impossible(tmp_path):
    """A home folder that cannot be created, not even by root."""
    (tmp_path / "file").touch()
    return str(tmp_path / "file" / "home")


@pytest.mark.parametrize("home", ["unknown", "impossible"])
@pytest.mark.parametrize("name", COMMANDS)
def test_everything_works_without_a_home_folder(inputs, tmp_path, monkeypatch, name, home, impossible):
    monkeypatch.chdir(tmp_path)
    for variable in (*(known for known in os.environ if known.startswith("XDG_")), "HOME", "ALICE_INTERP_CACHE"):
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    if home == "impossible":
        monkeypatch.setenv("HOME", impossible)
    else:
        monkeypatch.setattr("pwd.getpwuid", lambda number: {}[number])  # a user that the system does not know
    assert call([word.format(inputs=inputs.folder) for word in COMMANDS[name]]) == ""


def test_a_new_process_starts_without_a_home_folder(inputs, tmp_path, impossible):
    arguments = [word.format(inputs=inputs.folder) for word in COMMANDS["solve"]]
    environment = {"PATH": os.environ["PATH"], "OMP_NUM_THREADS": "1", "HOME": impossible}
    program = [sys.executable, "-c", PROGRAM, *arguments]
    done = subprocess.run(program, env=environment, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
