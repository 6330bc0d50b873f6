"""A training that stopped, or was killed, goes on as if it never had; and nothing is overwritten."""

import json
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from tiny import tiny
from training_runs import carry_out, losses, same_weights, small_run, write_corpus

from alice.checkpoint import folder as checkpoint
from alice.errors import AliceError
from alice.model import Alice
from alice.training import log as metrics_log
from alice.training import precision
from alice.training.folder import Run
from alice.training.state import STATE, TrainingState


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "texts.txt")


def train_command(run: Run) -> list[str]:
    """A program that carries out a run; the kind that can be killed."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path; from training_runs import carry_out; from alice.training.folder import Run\n"
        "carry_out(Run.open(Path(sys.argv[2]), {}), resume=True)"
    )
    return [sys.executable, "-c", program, str(Path(__file__).parents[1]), str(run.folder)]


def wait_for_step(folder: Path, step: int) -> None:
    for _ in range(12_000):
        if any(row["step"] >= step for row in metrics_log.read(folder)):
            return
        time.sleep(0.05)
    raise AssertionError(f"step {step} did not come within ten minutes")


def test_a_killed_run_resumes_bit_for_bit(corpus, tmp_path):
    fields = {"variant": "bijective", "steps": 400, "model": {"dropout": 0.1}, "ema": 0.9, "save_minutes": 0.0}
    unbroken, broken = (small_run(tmp_path / name, corpus, **fields) for name in ("unbroken", "broken"))
    carry_out(unbroken)
    carry_out(broken, stop=lambda: True)  # leaves a run at step 0
    with subprocess.Popen(train_command(broken)) as process:
        wait_for_step(broken.folder, 60)
        process.send_signal(signal.SIGKILL)
    killed_at = TrainingState.read(broken.folder).counters.step
    assert 0 < killed_at < 400
    Alice.from_pretrained(broken.folder)  # what it left is usable
    (broken.folder / ".model.safetensors.0a1b2c3d.tmp").write_bytes(b"half")  # as a kill in a write would leave it
    assert carry_out(Run.open(broken.folder, {}), resume=True)
    assert same_weights(unbroken.folder, broken.folder)
    assert losses(unbroken.folder) == losses(broken.folder)
    assert not list(broken.folder.glob(".*.tmp"))


@pytest.mark.parametrize("muon_lr", [0.0, 1e-2])
def test_a_request_to_stop_saves_and_the_rest_can_follow(corpus, tmp_path, muon_lr):
    calls = iter([False] * 7 + [True])
    assert not carry_out(small_run(tmp_path / "a", corpus, steps=20, muon_lr=muon_lr), stop=lambda: next(calls))
    assert TrainingState.read(tmp_path / "a").counters.step == 7
    assert carry_out(Run.open(tmp_path / "a", {}), resume=True)
    carry_out(small_run(tmp_path / "b", corpus, steps=20, muon_lr=muon_lr))
    assert same_weights(tmp_path / "a", tmp_path / "b")


def test_a_run_can_be_given_a_larger_budget(corpus, tmp_path):
    carry_out(small_run(tmp_path, corpus, steps=10))
    longer = Run.open(tmp_path, {"steps": 25})
    assert carry_out(longer, resume=True)
    assert TrainingState.read(tmp_path).counters.step == 25


def test_a_full_disk_is_one_sentence_and_the_last_checkpoint_stays(corpus, tmp_path, monkeypatch):
    carry_out(small_run(tmp_path, corpus, steps=10))
    before = (tmp_path / STATE).read_bytes()

    def full(tensors, metadata=None):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save", full)
    with pytest.raises(AliceError, match="no room left to write"):
        carry_out(Run.open(tmp_path, {"steps": 12}), resume=True)
    assert (tmp_path / STATE).read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [({"lr": 0.5}, "was started with lr=0.003, not 0.5"), ({"cipher_pool": 4}, "cipher_pool=None, not 4")],
)
def test_what_would_make_it_another_run_is_refused_on_resume(corpus, tmp_path, changes, complaint):
    carry_out(small_run(tmp_path, corpus, steps=2))
    with pytest.raises(AliceError, match=complaint):
        Run.open(tmp_path, changes)


def test_a_state_that_does_not_fit_the_config_is_refused(corpus, tmp_path):
    carry_out(small_run(tmp_path, corpus, steps=2))
    about = json.loads((tmp_path / "training.json").read_text())
    about["model"]["n_layers"] = 2
    (tmp_path / "training.json").write_text(json.dumps(about))
    with pytest.raises(AliceError, match="do not fit the config"):
        carry_out(Run.open(tmp_path, {}), resume=True)


def test_a_run_is_never_started_over_another(corpus, tmp_path):
    carry_out(small_run(tmp_path, corpus, steps=2))
    with pytest.raises(AliceError, match="holds a run already; add --resume"):
        carry_out(small_run(tmp_path, corpus, steps=2))


def test_a_model_in_the_folder_is_never_overwritten(corpus, tmp_path):
    tiny("base").save_pretrained(tmp_path)
    before = (tmp_path / "model.safetensors").read_bytes()
    with pytest.raises(AliceError, match="holds a model already"):
        carry_out(small_run(tmp_path, corpus, steps=2))
    assert (tmp_path / "model.safetensors").read_bytes() == before


def test_a_run_that_died_before_its_first_checkpoint_starts_over(corpus, tmp_path):
    run = small_run(tmp_path / "died", corpus, steps=5)
    run.describe()
    assert carry_out(Run.open(run.folder, {}), resume=True)
    carry_out(small_run(tmp_path / "lived", corpus, steps=5))
    assert same_weights(tmp_path / "died", tmp_path / "lived")


def test_what_auto_settled_on_stays_with_the_run(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("alice.training.precision.choose", lambda *args: precision.Choice("fp32", "a test says so"))
    said = []
    carry_out(small_run(tmp_path, corpus, steps=2, precision="auto", compile="auto"), say=said.append)
    assert "precision fp32: a test says so" in said
    recipe = Run.open(tmp_path, {}).recipe
    assert (recipe.precision, recipe.compile) == ("fp32", "no")


def test_a_folder_that_cannot_be_made_is_one_sentence(corpus, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AliceError, match="cannot make the folder"):
        carry_out(small_run(tmp_path / "file" / "run", corpus))


def test_there_must_be_something_to_resume(tmp_path):
    with pytest.raises(AliceError, match="holds no run to resume"):
        Run.open(tmp_path, {})


def test_a_damaged_state_is_one_sentence(corpus, tmp_path):
    carry_out(small_run(tmp_path, corpus, steps=2))
    (tmp_path / STATE).write_bytes(b"not a state")
    with pytest.raises(AliceError, match="cannot be read"):
        carry_out(Run.open(tmp_path, {}), resume=True)
