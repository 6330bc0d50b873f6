import json
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from trainings import write_corpus

from alice.cli import main
from alice.training.folder import read_metrics

FAST = ["--preset", "mini", "--threads", "1", "--precision", "fp32", "--compile", "no", "--device", "cpu"]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return str(write_corpus(tmp_path_factory.mktemp("corpus") / "texts.txt"))


def run(*arguments):
    return CliRunner().invoke(main, ["train", *map(str, arguments)])


def test_a_training_ends_with_a_checkpoint_and_a_log(corpus, tmp_path):
    out = tmp_path / "mine"
    result = run("--out", out, "--data", corpus, "--steps", 3, "--eval-every", 2, "--log-every", 1, *FAST)
    assert result.exit_code == 0, result.output
    assert result.stdout == f"done: {out}\n"
    assert "step 3 of 3" in result.stderr
    assert sorted(path.name for path in out.iterdir()) == [
        "config.json", "metrics.jsonl", "model.safetensors", "training-state.safetensors", "training.json",
    ]  # fmt: skip
    assert run("--out", out, "--resume", "--steps", 5).exit_code == 0
    assert read_metrics(out)[-1]["step"] == 5


def test_the_default_folder_is_below_trainings(corpus, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run("--data", corpus, "--variant", "bijective", "--steps", 1, "--eval-texts", 4, *FAST)
    assert result.stdout == "done: trainings/bijective-mini\n"
    assert (tmp_path / "trainings" / "bijective-mini" / "training.json").exists()


def test_a_signal_saves_and_says_how_to_continue(corpus, tmp_path):
    out = tmp_path / "mine"
    command = [sys.executable, "-m", "alice.cli", "train", "--out", str(out), "--data", corpus, "--steps", "100000"]
    with subprocess.Popen([*command, *FAST, "--log-every", "1"], stderr=subprocess.PIPE, text=True) as process:
        for _ in range(12_000):  # ten minutes: on a busy machine, importing torch takes one
            if (out / "metrics.jsonl").exists() and len(read_metrics(out)) > 3:
                break
            time.sleep(0.05)
        process.send_signal(signal.SIGTERM)
        _, errors = process.communicate(timeout=60)
    assert process.returncode == 143
    assert f"alice-interp train --out {out} --resume" in errors
    assert "Traceback" not in errors
    steps = read_metrics(out)[-1]["step"]
    assert run("--out", out, "--resume", "--steps", steps + 2).exit_code == 0
    assert read_metrics(out)[-1]["step"] == steps + 2


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--resume"], "does not hold a training to resume"),
        (["--resume", "--preset", "mini"], "leave those options out"),
        (["--steps", "5", "--hours", "1"], "one budget"),
        (["--steps", "5", "--lr", "-1"], "must be greater than 0"),
        (["--steps", "5", "--data", "quots"], "did you mean 'quotes'"),
        (["--steps", "5", "--device", "nonsense"], "cannot compute on the device 'nonsense'"),
        (["--steps", "5", "--init", "nowhere"], "there is no checkpoint 'nowhere'"),
        (["--steps", "5", "--allow-changed-data"], "add --resume or leave it out"),
    ],
)
def test_a_mistake_is_one_line(corpus, tmp_path, arguments, complaint):
    data = [] if "--data" in arguments or "--resume" in arguments else ["--data", corpus]
    result = run("--out", tmp_path / "mine", *arguments, *data, "--precision", "fp32")
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert "Traceback" not in result.stderr
    assert not (tmp_path / "mine").exists()


def test_a_changed_corpus_is_one_line_unless_allowed(tmp_path, monkeypatch):
    write_corpus(tmp_path / "texts.txt")
    monkeypatch.chdir(tmp_path)
    small = ["--steps", 1, "--eval-texts", 4, *FAST]
    assert run("--out", "mine", "--data", "texts.txt", *small).exit_code == 0
    assert str(tmp_path / "texts.txt") in (tmp_path / "mine" / "training.json").read_text()
    (tmp_path / "texts.txt").rename(tmp_path / "moved.txt")
    assert run("--out", "mine", "--data", "moved.txt", "--resume", "--steps", 2).exit_code == 0
    write_corpus(tmp_path / "moved.txt", 399)
    refused = run("--out", "mine", "--resume", "--steps", 3)
    assert refused.exit_code == 1
    assert "is not what mine was trained on before" in refused.stderr
    assert run("--out", "mine", "--resume", "--steps", 3, "--allow-changed-data").exit_code == 0


def test_a_model_that_does_not_fit_into_memory_is_one_line(corpus, tmp_path, monkeypatch):
    monkeypatch.setattr("alice.training.memory.free_memory", lambda device: 10**9)
    result = run("--out", tmp_path / "mine", "--data", corpus, "--preset", "308m")
    assert result.exit_code == 1
    assert "needs at least 4.9 GB of memory, and 1.0 GB are free; choose a smaller preset" in result.stderr
    assert not (tmp_path / "mine").exists()


@pytest.mark.parametrize("error", [MemoryError(), RuntimeError("DefaultCPUAllocator: can't allocate memory: 9 bytes")])
def test_memory_that_runs_out_is_one_line(corpus, tmp_path, monkeypatch, error):
    def fail(*args, **options):
        raise error

    monkeypatch.setattr("alice.training.setup.Alice", fail)
    result = run("--out", tmp_path / "mine", "--data", corpus, "--steps", 1, *FAST)
    assert result.exit_code == 1
    assert "there is not enough memory" in result.stderr
    assert not (tmp_path / "mine").exists()


def test_resume_needs_a_folder():
    assert "--resume needs the training folder" in run("--resume").stderr


def test_help_lists_every_field_of_the_recipe():
    shown = CliRunner().invoke(main, ["train", "--help"]).stdout
    for option in ("--steps", "--hours", "--cipher-pool", "--ema", "--schedule", "--weight-decay", "--batch-texts"):
        assert option in shown


def about(folder):
    return json.loads((folder / "training.json").read_text())


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_the_authors_recipe_trains_in_a_folder_of_its_own(corpus, tmp_path, monkeypatch, variant):
    monkeypatch.chdir(tmp_path)
    small = ["--steps", 2, "--batch-texts", 8, "--eval-texts", 4, *FAST]
    result = run("--data", corpus, "--variant", variant, "--recipe", "authors", *small)
    assert result.stdout == f"done: trainings/{variant}-mini-authors\n", result.output
    described = about(tmp_path / "trainings" / f"{variant}-mini-authors")
    assert described["recipe"]["weight_decay_on"] == "all"
    assert (described["model"]["whole_vocab"], described["model"]["sinkhorn_iters"]) == (True, 5)


def test_options_change_single_settings_of_a_recipe(corpus, tmp_path):
    changes = ["--no-whole-vocab", "--attention-dropout", 0.2, "--sinkhorn-tau", 3, "--loss-weight", "text"]
    changes += ["--relabel", "frequency"]
    small = ["--steps", 1, "--batch-texts", 8, "--eval-texts", 4, *FAST]
    result = run("--out", tmp_path / "mine", "--data", corpus, "--recipe", "authors", *changes, *small)
    assert result.exit_code == 0, result.output
    described = about(tmp_path / "mine")
    assert described["recipe"]["loss_weight"] == "text"
    model = described["model"]
    assert (model["whole_vocab"], model["attention_dropout"], model["sinkhorn_tau"]) == (False, 0.2, 3.0)
    assert model["stochastic_depth_linear"]
    assert model["relabel"] == "frequency"


@pytest.mark.parametrize("option", [["--recipe", "paper"], ["--whole-vocab"], ["--cross-heads", "2"]])
def test_a_resumed_training_keeps_its_model_and_recipe(tmp_path, option):
    assert "leave those options out" in run("--out", tmp_path, "--resume", *option).stderr
