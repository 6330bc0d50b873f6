import json
import signal
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file
from tiny import tiny
from training_runs import carry_out, small_run, write_corpus

from alice import checkpoint, metrics_log, precision
from alice.alphabet import ENGLISH
from alice.cipher import key_pool
from alice.corpus import open_corpus
from alice.errors import AliceError
from alice.model import Alice
from alice.recipe import Recipe
from alice.run_folder import Run
from alice.split import is_test
from alice.trainer import Trainer
from alice.training import training_stream, validation_batches
from alice.training_state import STATE, TrainingState


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    return write_corpus(tmp_path_factory.mktemp("corpus") / "texts.txt")


def losses(folder: Path) -> list[float]:
    return [row["loss"] for row in metrics_log.read(folder) if "loss" in row]


def weights(folder: Path) -> dict[str, torch.Tensor]:
    return load_file(folder / "model.safetensors")


def same_weights(left: Path, right: Path) -> bool:
    a, b = weights(left), weights(right)
    return a.keys() == b.keys() and all(torch.equal(a[name], b[name]) for name in a)


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_training_lowers_the_loss_and_leaves_a_checkpoint(corpus, tmp_path, variant):
    assert carry_out(small_run(tmp_path, corpus, variant=variant, steps=80))
    found = losses(tmp_path)
    assert found[-1] < 0.9 * found[0]
    assert Alice.from_pretrained(tmp_path).config.variant == variant
    rows = [row for row in metrics_log.read(tmp_path) if "ser" in row]
    assert [row["step"] for row in rows] == [15, 30, 45, 60, 75, 80]
    assert 0 <= rows[-1]["ser"]["all"] <= 1


def test_the_same_seed_gives_the_same_weights_and_another_does_not(corpus, tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        carry_out(small_run(tmp_path / name, corpus, variant="bijective", seed=seed))
    assert same_weights(tmp_path / "a", tmp_path / "b")
    assert not same_weights(tmp_path / "a", tmp_path / "c")


def train_command(run: Run) -> list[str]:
    """A program that carries out a run; the kind that can be killed."""
    program = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "from pathlib import Path; from training_runs import carry_out; from alice.run_folder import Run\n"
        "carry_out(Run.open(Path(sys.argv[2]), {}), resume=True)"
    )
    return [sys.executable, "-c", program, str(Path(__file__).parents[1]), str(run.folder)]


def wait_for_step(folder: Path, step: int) -> None:
    for _ in range(1200):
        if any(row["step"] >= step for row in metrics_log.read(folder)):
            return
        time.sleep(0.05)
    raise AssertionError(f"step {step} did not come within a minute")


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


def in_two_processes(folder: Path, *options: str) -> None:
    """Go on with a run in two processes that exchange gradients over gloo."""
    launch = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "alice.cli"]
    command = [*launch, "train", "--out", str(folder), "--resume", "--cpu", "--threads", "1", *options]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("done:") == 1  # of two processes one speaks


def test_two_processes_follow_the_same_loss_curve_as_one(corpus, tmp_path):
    one, two = (small_run(tmp_path / name, corpus, steps=20, log_every=1) for name in ("one", "two"))
    carry_out(one)
    carry_out(two, stop=lambda: True)
    in_two_processes(two.folder)
    state = TrainingState.read(two.folder)
    assert {name.partition("/")[0] for name in state.group("rng")} == {"0", "1"}  # there really were two
    assert losses(two.folder) == pytest.approx(losses(one.folder), rel=1e-4)
    assert len(losses(two.folder)) == 20


def test_two_processes_resume_as_if_never_stopped_and_end_a_budget_in_hours_together(corpus, tmp_path):
    fields = {"variant": "bijective", "steps": 8, "log_every": 8, "eval_every": 8}
    unbroken, broken = (small_run(tmp_path / name, corpus, **fields) for name in ("unbroken", "broken"))
    for run in (unbroken, broken):
        carry_out(run, stop=lambda: True)
        in_two_processes(run.folder, "--steps", "1")  # from here on there are two states of the dice
    in_two_processes(unbroken.folder, "--steps", "8")
    in_two_processes(broken.folder, "--steps", "3")
    in_two_processes(broken.folder, "--steps", "8")
    assert same_weights(unbroken.folder, broken.folder)
    in_two_processes(broken.folder, "--hours", str((TrainingState.read(broken.folder).counters.seconds + 2) / 3600))
    assert metrics_log.read(broken.folder)[-1]["step"] == TrainingState.read(broken.folder).counters.step


def test_a_request_to_stop_saves_and_the_rest_can_follow(corpus, tmp_path):
    calls = iter([False] * 7 + [True])
    assert not carry_out(small_run(tmp_path / "a", corpus, steps=20), stop=lambda: next(calls))
    assert TrainingState.read(tmp_path / "a").counters.step == 7
    assert carry_out(Run.open(tmp_path / "a", {}), resume=True)
    carry_out(small_run(tmp_path / "b", corpus, steps=20))
    assert same_weights(tmp_path / "a", tmp_path / "b")


def test_a_run_can_be_given_a_larger_budget(corpus, tmp_path):
    carry_out(small_run(tmp_path, corpus, steps=10))
    longer = Run.open(tmp_path, {"steps": 25})
    assert carry_out(longer, resume=True)
    assert TrainingState.read(tmp_path).counters.step == 25


def test_a_budget_in_hours_ends_with_the_learning_rate_at_nothing(corpus, tmp_path):
    run = small_run(tmp_path, corpus, steps=None, hours=3 / 3600, schedule="wsd", log_every=1)
    begun = time.monotonic()
    assert carry_out(run)
    rates = [row["lr"] for row in metrics_log.read(tmp_path) if "lr" in row]
    assert max(rates) == pytest.approx(3e-3)
    assert rates[-1] < 0.15 * max(rates)
    assert TrainingState.read(tmp_path).counters.seconds >= 3
    assert time.monotonic() - begun < 60


def test_a_loss_that_is_no_number_stops_the_run_and_keeps_the_last_good_checkpoint(corpus, tmp_path):
    run = small_run(tmp_path, corpus, steps=200, lr=1e30, clip=0.0)
    with pytest.raises(AliceError, match=r"the loss became (nan|inf) at step \d+; the last checkpoint .* is whole"):
        carry_out(run)
    assert all(value.isfinite().all() for value in weights(tmp_path).values())


def test_a_gradient_that_is_no_number_never_reaches_a_checkpoint(corpus, tmp_path, monkeypatch):
    clip = Trainer._clip

    def poisoned(self):
        if self.counters.step == 5:
            next(self.model.parameters()).grad.fill_(float("nan"))
        return clip(self)

    monkeypatch.setattr(Trainer, "_clip", poisoned)
    with pytest.raises(AliceError, match="the gradient became nan at step 6"):
        carry_out(small_run(tmp_path, corpus, save_minutes=0.0))
    assert TrainingState.read(tmp_path).counters.step == 5
    assert all(value.isfinite().all() for value in weights(tmp_path).values())


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
    monkeypatch.setattr("alice.precision.choose", lambda *args: precision.Choice("fp32", "a test says so"))
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


def test_an_average_of_the_weights_is_what_is_kept(corpus, tmp_path):
    carry_out(small_run(tmp_path / "plain", corpus, steps=20))
    carry_out(small_run(tmp_path / "ema", corpus, steps=20, ema=0.9))
    trained = TrainingState.read(tmp_path / "ema").group("weights")
    plain, kept = weights(tmp_path / "plain"), weights(tmp_path / "ema")
    assert all(torch.equal(trained[name], plain[name]) for name in plain)  # averaging does not touch the training
    assert not all(torch.equal(kept[name], plain[name]) for name in plain)


def test_a_run_can_start_from_the_weights_of_another(corpus, tmp_path):
    carry_out(small_run(tmp_path / "first", corpus, steps=20))
    start = str(tmp_path / "first")
    carry_out(replace(small_run(tmp_path / "second", corpus, steps=1, lr=1e-12), init=start))
    first, second = weights(tmp_path / "first"), weights(tmp_path / "second")
    assert all(torch.allclose(first[name], second[name], atol=1e-6) for name in first)
    with pytest.raises(AliceError, match=r"do not fit|has shape"):
        carry_out(replace(small_run(tmp_path / "third", corpus, model={"d_model": 32}), init=start))


def test_training_uses_the_pool_and_validation_never_does(corpus):
    recipe = replace(Recipe(steps=1), cipher_pool=3)
    texts = open_corpus(str(corpus), alphabet=ENGLISH)
    pool = {tuple(key) for key in key_pool(3, recipe.seed).tolist()}
    batches = training_stream(texts, recipe).start()
    assert {tuple(key) for _ in range(5) for key in next(batches).keys.tolist()} == pool
    validation = [tuple(key) for batch in validation_batches(texts, recipe) for key in batch.keys.tolist()]
    assert not pool & set(validation)
    assert len(set(validation)) == len(validation)


def test_a_corpus_without_test_texts_is_refused(tmp_path):
    lonely = next(text for text in (f"THIS IS LONELY TEXT {c}." for c in "ABCDEF") if not is_test(text))
    (tmp_path / "few.txt").write_text(lonely + "\n")
    with pytest.raises(AliceError, match="no text on the test side"):
        carry_out(small_run(tmp_path / "run", tmp_path / "few.txt"))


def test_a_tracker_gets_every_number_and_a_missing_one_is_named(corpus, tmp_path, monkeypatch):
    logged = []
    monkeypatch.setattr("accelerate.Accelerator.log", lambda self, values, step: logged.append((step, values)))
    carry_out(small_run(tmp_path / "run", corpus, steps=5, eval_every=5))
    assert [step for step, _ in logged] == [5, 5]
    assert "loss" in logged[0][1]
    assert 0 <= logged[1][1]["ser/all"] <= 1
    monkeypatch.setattr("alice.training.find_spec", lambda name: None)
    with pytest.raises(AliceError, match="pip install tensorboard"):
        carry_out(small_run(tmp_path / "other", corpus), trackers=["tensorboard"])
