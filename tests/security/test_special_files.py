"""A pipe, a device or a folder where a file is expected is one sentence, and nothing waits or fills the memory."""

import os
import shutil
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest
from click.testing import CliRunner
from training_folders import write_training
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.errors import AliceError
from alice.model.config import ModelConfig
from alice.reports import Report, Result
from alice.training.state import STATE, read_counters

READERS = {
    "model/config.json": "ckpt show model",
    "model/model.safetensors": "solve A --ckpt model",
    "model/card.md": "ckpt show model",
    "theirs.pt": "ckpt import theirs.pt --out ours",
    "texts.txt": "data stats texts.txt",
    "texts.csv": "evaluate --ckpt model --data texts.csv",
    "texts.jsonl": "data prepare texts.jsonl --out out.txt",
    "texts.parquet": "run early-exit --ckpt model --data texts.parquet",
    "texts.txt.gz": "train --preset mini --steps 1 --out new --data texts.txt.gz",
    "lines": "solve --file lines",
    "borg.txt": "run borg --ckpt model --file borg.txt",
    "plain.txt": "reproduce --ckpt model --data quotes --borg texts.txt --borg-plain plain.txt",
    "report/result.json": "report report",
    "report/arrays.npz": "report report",
    "training/training.json": "train --resume --out training",
    "training/metrics.jsonl": "run scaling --trainings training",
}
SECONDS = 20


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    place = tmp_path_factory.mktemp("special")
    save_checkpoint(place / "model")
    save_texts(place / "texts.txt")
    write_training(place / "training", losses=[(1, 3.0), (2, 2.0)])
    Report(Result("Depth"), {"analysis": "depth"}).save(place / "runs").stored_in.rename(place / "report")
    return place


@pytest.fixture
def make(place, monkeypatch):
    """Put a pipe, a device or a folder in the place of a file; a reader that waits for the pipe fails the test."""
    monkeypatch.chdir(place)
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    undone, late = [], []

    def make(name, kind):
        path, kept = Path(name), Path(f"{name}.kept")
        if path.exists():
            path.rename(kept)
            undone.append(lambda: kept.rename(path))
        if kind == "folder":
            path.mkdir()
            undone.append(path.rmdir)
        elif kind == "device":
            path.symlink_to("/dev/zero")
            undone.append(path.unlink)
        else:
            os.mkfifo(path)
            timer = threading.Timer(SECONDS, lambda: (late.append(name), os.close(os.open(path, os.O_RDWR))))
            timer.start()
            undone.append(lambda: (timer.cancel(), path.unlink()))

    yield make
    for undo in reversed(undone):
        undo()
    assert not late


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
@pytest.mark.parametrize("name", READERS)
def test_what_is_not_a_regular_file_is_refused_at_once(make, name, kind):
    make(name, kind)
    done = CliRunner().invoke(main, READERS[name].split())
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.stderr.splitlines()[-1].startswith(("alice-interp: error: ", "Error: "))
    assert Path(name).name in done.stderr


@pytest.mark.parametrize("kind", ["pipe", "device", "folder"])
def test_a_plugin_that_is_not_a_regular_file_is_reported(make, kind):
    make("mine.py", kind)
    done = CliRunner().invoke(main, ["plugins", "--plugin", "mine.py"])
    assert "mine failed: mine.py is a " in done.stdout


def test_a_state_that_is_a_pipe_is_refused(make, place):
    make(f"training/{STATE}", "pipe")
    with pytest.raises(AliceError, match="is a pipe or a device"):
        read_counters(place / "training")


def test_standard_input_may_be_a_pipe(place):
    done = CliRunner().invoke(main, ["solve", "-", "--ckpt", str(place / "model"), "--json"], input="QEB ZXQ\n")
    assert done.exit_code == 0, done.output


@pytest.mark.parametrize(
    ("name", "start", "piece", "words"),
    [
        ("bomb.txt.gz", b"", b"A" * 2**20, "has a line of more than 50,000,000 characters"),
        ("bomb.csv.gz", b'text\n"', b"A" * (2**20 - 1) + b"\n", "field larger than field limit"),
    ],
)
def test_a_small_file_that_unpacks_to_one_endless_text_fits_into_little_memory(tmp_path, name, start, piece, words):
    packer = zlib.compressobj(1, wbits=31)
    with (tmp_path / name).open("wb") as file:
        file.write(packer.compress(start))
        file.writelines(packer.compress(piece) for _ in range(800))
        file.write(packer.flush())
    assert (tmp_path / name).stat().st_size < 5_000_000
    program = (
        "import resource, sys; from alice.text.corpus import open_corpus; from alice.errors import AliceError\n"
        "resource.setrlimit(resource.RLIMIT_AS, (600_000_000, 600_000_000))\n"
        "try: list(open_corpus(sys.argv[1]))\n"
        "except AliceError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", program, tmp_path / name], capture_output=True, text=True, check=True)
    assert words in done.stdout


def test_a_config_cannot_ask_for_endless_normalising():
    with pytest.raises(AliceError, match="sinkhorn_iters=1000000000 is above the limit"):
        ModelConfig.from_dict({"variant": "bijective", "sinkhorn_iters": 10**9})


@pytest.mark.parametrize(
    ("name", "command"), [("big.txt", "solve --file big.txt"), ("model/config.json", "solve A --ckpt model")]
)
def test_a_huge_file_is_one_sentence(place, tmp_path, monkeypatch, name, command):
    shutil.copytree(place / "model", tmp_path / "model")
    monkeypatch.chdir(tmp_path)
    with Path(name).open("wb") as file:
        file.truncate(3 << 30)
    result = CliRunner().invoke(main, command.split())
    assert result.exit_code == 1
    assert len(result.stderr.splitlines()) == 1
    assert name in result.stderr
    assert "it is larger than" in result.stderr
