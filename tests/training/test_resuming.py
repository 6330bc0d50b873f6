"""A training that stopped or was killed continues as if it had not; and nothing is overwritten."""

import json
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from tiny import tiny
from trainings import carry_out, losses, same_weights, small_training, weights

from alice.checkpoint import folder as checkpoint
from alice.errors import AliceError
from alice.model import Alice
from alice.training import precision
from alice.training.folder import KEPT, STEPS, Training, kept_checkpoints, read_metrics
from alice.training.state import STATE, TrainingState

LATER_IN_RECIPES = (
    *("batch_lengths", "bijective_loss", "held_out", "keep_steps", "loss_weight", "pieces", "weight_decay_on"),
)
LATER_IN_MODELS = (
    *("attention_dropout", "hyper_dropout", "hyper_sees_padding", "query_init", "relabel", "stochastic_depth_linear"),
)
"""Settings that the first version did not have."""
KILLED = """
import os, signal, sys
sys.path.insert(0, sys.argv[1])
from pathlib import Path
from trainings import carry_out
from alice.training.folder import Training
from alice.training.loop import Trainer
save = Trainer.save
def killed(self):
    if self.counters.step == 30:  # already logged
        os.kill(os.getpid(), signal.SIGKILL)
    save(self)
Trainer.save = killed
carry_out(Training.open(Path(sys.argv[2]), {}), resume=True)
"""


@pytest.fixture
def folder(trained, tmp_path):
    """A copy of the finished training."""
    return Path(shutil.copytree(trained, tmp_path / "copy"))


def test_a_training_of_an_earlier_version_resumes_with_the_settings_that_it_had(corpus, tmp_path):
    unbroken, old = (
        small_training(tmp_path / name, corpus, variant="dynamic", steps=12, held_out="test") for name in ("new", "old")
    )
    carry_out(unbroken)
    carry_out(old, stop=lambda: True)  # after its first step
    about, config = (json.loads((old.folder / name).read_text()) for name in ("training.json", "config.json"))
    for settings, later in (
        (about["recipe"], LATER_IN_RECIPES),
        (about["model"], LATER_IN_MODELS),
        (config, LATER_IN_MODELS),
    ):
        for name in later:
            del settings[name]
    (old.folder / "training.json").write_text(json.dumps(about))
    (old.folder / "config.json").write_text(json.dumps(config))
    said = []
    assert carry_out(Training.open(old.folder, {}), resume=True, say=said.append)
    assert same_weights(unbroken.folder, old.folder)
    assert said[-1].endswith("so it still measures on the test split")


def test_the_weights_of_chosen_steps_are_kept(corpus, trained, tmp_path):
    training = small_training(tmp_path / "kept", corpus, steps=20, keep_steps="0,7,20")
    carry_out(training)
    assert {path.name for path in (training.folder / STEPS).iterdir()} == {"0", "7", "20"}
    assert same_weights(training.folder / STEPS / "20", trained)
    assert not same_weights(training.folder / STEPS / "7", trained)
    assert Alice.from_pretrained(training.folder / STEPS / "0").config == training.model
    assert list(kept_checkpoints(training.folder)) == [0, 7, 20]
    assert kept_checkpoints(training.folder)[20] == training.folder
    norms = {row["step"]: row[KEPT] for row in read_metrics(training.folder) if KEPT in row}
    assert norms == {
        step: pytest.approx(sum(float(weight.square().sum()) for weight in weights(path).values()) ** 0.5)
        for step, path in kept_checkpoints(training.folder).items()
    }


def test_a_killed_training_resumes_bit_for_bit(corpus, tmp_path):
    fields = {"variant": "bijective", "steps": 60, "model": {"dropout": 0.1}, "ema": 0.9, "save_minutes": 0.0}
    fields["keep_steps"] = "log"
    unbroken, broken = (small_training(tmp_path / name, corpus, **fields) for name in ("unbroken", "broken"))
    carry_out(unbroken)
    broken.describe()
    killed = subprocess.run([sys.executable, "-c", KILLED, str(Path(__file__).parents[1]), str(broken.folder)])
    assert killed.returncode == -signal.SIGKILL
    assert TrainingState.read(broken.folder).counters.step == 29
    assert read_metrics(broken.folder)[-1]["step"] == 30
    Alice.from_pretrained(broken.folder)  # what it left is usable
    (broken.folder / ".model.safetensors.0a1b2c3d.alice-interp-draft").write_bytes(
        b"half"
    )  # as a kill during a write leaves it
    assert carry_out(Training.open(broken.folder, {}), resume=True)
    assert same_weights(unbroken.folder, broken.folder)
    assert losses(unbroken.folder) == losses(broken.folder)
    steps = sorted(int(path.name) for path in (broken.folder / STEPS).iterdir())
    assert steps == [0, 1, 2, 4, 8, 16, 32]
    assert all(same_weights(*(one.folder / STEPS / str(step) for one in (unbroken, broken))) for step in steps)
    assert [row["step"] for row in read_metrics(broken.folder) if KEPT in row] == steps
    assert not list(broken.folder.glob(".*.alice-interp-draft"))


@pytest.mark.parametrize("muon_lr", [0.0, 1e-2])
def test_a_request_to_stop_saves_and_the_training_can_be_resumed(corpus, trained, tmp_path, muon_lr):
    calls = iter([False] * 6 + [True])
    assert not carry_out(small_training(tmp_path / "a", corpus, steps=20, muon_lr=muon_lr), stop=lambda: next(calls))
    assert TrainingState.read(tmp_path / "a").counters.step == 7
    assert carry_out(Training.open(tmp_path / "a", {}), resume=True)
    if muon_lr:
        carry_out(small_training(tmp_path / "b", corpus, steps=20, muon_lr=muon_lr))
    assert same_weights(tmp_path / "a", tmp_path / "b" if muon_lr else trained)


def test_a_training_can_be_given_a_larger_budget(folder):
    assert carry_out(Training.open(folder, {"steps": 25}), resume=True)
    assert TrainingState.read(folder).counters.step == 25


def test_a_full_disk_is_one_sentence_and_the_last_checkpoint_stays(folder, monkeypatch):
    before = (folder / STATE).read_bytes()

    def full(tensors, metadata=None):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(checkpoint, "save", full)
    with pytest.raises(AliceError, match="no room left"):
        carry_out(Training.open(folder, {"steps": 22}), resume=True)
    assert (folder / STATE).read_bytes() == before


@pytest.mark.parametrize(
    ("changes", "complaint"),
    [({"lr": 0.5}, "was started with lr=0.003, not 0.5"), ({"cipher_pool": 4}, "cipher_pool=None, not 4")],
)
def test_changes_that_would_make_it_another_training_are_refused(trained, changes, complaint):
    with pytest.raises(AliceError, match=complaint):
        Training.open(trained, changes)


def test_a_state_that_does_not_fit_the_config_is_refused(folder):
    described = json.loads((folder / "training.json").read_text())
    described["model"]["n_layers"] = 2
    (folder / "training.json").write_text(json.dumps(described))
    with pytest.raises(AliceError, match="do not fit the config"):
        carry_out(Training.open(folder, {}), resume=True)


def test_a_training_of_an_older_version_without_later_fields_can_be_resumed(folder):
    described = json.loads((folder / "training.json").read_text())
    del described["recipe"]["muon_lr"], described["before"]
    (folder / "training.json").write_text(json.dumps(described))
    assert Training.open(folder, {}).summary()["totals"]["steps"] == 20


def test_a_training_is_never_started_over_another_or_over_a_model(corpus, trained, tmp_path):
    with pytest.raises(AliceError, match="is already a training; add --resume"):
        carry_out(small_training(trained, corpus, steps=2))
    tiny("base").save_pretrained(tmp_path)
    before = (tmp_path / "model.safetensors").read_bytes()
    with pytest.raises(AliceError, match="is a checkpoint; choose another folder"):
        carry_out(small_training(tmp_path, corpus, steps=2))
    assert (tmp_path / "model.safetensors").read_bytes() == before


def test_a_training_killed_before_its_first_checkpoint_starts_over(corpus, trained, tmp_path):
    training = small_training(tmp_path, corpus, steps=20)
    training.describe()
    assert carry_out(Training.open(training.folder, {}), resume=True)
    assert same_weights(tmp_path, trained)


def test_decisions_of_auto_are_saved_with_the_training(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("alice.training.precision.choose", lambda *args: precision.Choice("fp32", "a test says so"))
    said = []
    carry_out(small_training(tmp_path, corpus, steps=2, precision="auto", compile="auto"), say=said.append)
    assert "precision fp32: a test says so" in said
    recipe = Training.open(tmp_path, {}).recipe
    assert (recipe.precision, recipe.compile) == ("fp32", "no")


def test_a_folder_that_cannot_be_created_is_one_sentence(corpus, tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(AliceError, match=r"cannot (make|create) the folder"):
        carry_out(small_training(tmp_path / "file" / "new", corpus))


def test_there_must_be_something_to_resume(tmp_path):
    with pytest.raises(AliceError, match="does not hold a training to resume"):
        Training.open(tmp_path, {})
