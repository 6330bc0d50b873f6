"""`ckpt export`: the card has the numbers that `evaluate` gives for the exported checkpoint."""

import json
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from safetensors.torch import load_file, save_file
from trainings import carry_out, small_training, write_corpus

from alice.cli import main


@pytest.fixture(scope="module")
def training(tmp_path_factory):
    place = tmp_path_factory.mktemp("trainings")
    training = small_training(place / "mine", write_corpus(place / "texts.txt", 1500), steps=5, eval_texts=4)
    carry_out(training)
    return training


def invoke(*arguments):
    return CliRunner().invoke(main, [*map(str, arguments)])


def test_the_card_has_the_error_rates_of_evaluate(training, tmp_path):
    done = invoke("ckpt", "export", training.folder, "--out", tmp_path / "tiny", "--data", training.data)
    assert done.exit_code == 0, done.output
    assert done.stdout == f"done: {tmp_path / 'tiny'}\n"
    card = (tmp_path / "tiny" / "card.md").read_text()
    assert "`alice-interp evaluate --ckpt tiny --data texts.txt`" in card
    measured = json.loads(invoke("evaluate", "--ckpt", tmp_path / "tiny", "--data", training.data, "--json").stdout)
    rows = {row.split(" | ")[0].lstrip("| "): row.split(" | ")[2] for row in card.splitlines() if row.startswith("| ")}
    mean = measured["mean"]["all"]
    assert rows["all"] == f"{mean['mean']:.2f} ± {mean['error']:.2f}"


def test_a_card_can_be_measured_on_a_whole_corpus(training, tmp_path):
    held_out = write_corpus(tmp_path / "held-out.txt", 40)
    done = invoke("ckpt", "export", training.folder, "--out", tmp_path / "tiny", "--data", held_out, "--split", "all")
    assert done.exit_code == 0, done.output
    card = (tmp_path / "tiny" / "card.md").read_text()
    assert "over 40 texts under unseen keys" in card
    assert "`alice-interp evaluate --ckpt tiny --data held-out.txt --split all`" in card


def test_a_training_is_not_exported_onto_itself(training):
    before = (training.folder / "model.safetensors").read_bytes()
    done = invoke("ckpt", "export", training.folder, "--out", training.folder, "--data", training.data)
    assert done.exit_code == 1
    assert "is read by this command" in done.stderr
    assert (training.folder / "model.safetensors").read_bytes() == before


def test_a_folder_that_is_not_a_training_is_one_line(tmp_path):
    (tmp_path / "empty").mkdir()
    done = invoke("ckpt", "export", tmp_path / "empty", "--out", tmp_path / "out")
    assert done.exit_code == 1
    assert "empty is not the folder of a training (no training.json); give one that `train` wrote" in done.stderr


@pytest.fixture
def copy(training, tmp_path):
    return Path(shutil.copytree(training.folder, tmp_path / "copy"))


def refused(copy, training, complaint):
    done = invoke("ckpt", "export", copy, "--out", copy.parent / "out", "--data", training.data)
    assert done.exit_code == 1
    assert complaint in done.stderr
    assert done.stderr.count("\n") == 1
    assert not (copy.parent / "out").exists()


def test_a_missing_or_damaged_log_is_one_line(training, copy):
    (copy / "metrics.jsonl").write_bytes(b"\xff\n{}\n")
    refused(copy, training, "line 1 is not JSON")
    (copy / "metrics.jsonl").unlink()
    refused(copy, training, "has no metrics.jsonl")


def test_a_weight_too_large_for_half_precision_is_one_line(training, copy):
    weights = load_file(copy / "model.safetensors")
    weights["ln_final.w"][0] = 1e6
    save_file(weights, copy / "model.safetensors")
    refused(copy, training, "ln_final.w has a weight of 1e+06, and float16 ends at 65504")
