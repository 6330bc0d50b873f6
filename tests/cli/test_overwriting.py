"""What a command may write: never onto an input, never into a folder of something else, `--force` where it helps."""

import json
import os
import shutil

import pytest
import torch
import upstream_reference as reference
from click.testing import CliRunner
from trainings import carry_out, small_training, write_corpus
from workbench import save_checkpoint

from alice.cli import main
from alice.model import Alice
from alice.reports import Report, Result

TINY = "--preset mini --steps 1 --precision fp32 --compile no --data texts.txt"
FOLDERS = ("training", "started", "model", "report", "reproduction", "notes")
REFUSED_IN = {
    "ckpt export training --data texts.txt": FOLDERS,
    "ckpt export training --data texts.txt --force": [name for name in FOLDERS if name != "model"],
    "ckpt import theirs.pt": FOLDERS,
    "ckpt import theirs.pt --force": [name for name in FOLDERS if name != "model"],
    f"train {TINY}": FOLDERS,
    f"sweep generalization --pools 10 {TINY}": FOLDERS[:-1],
    "run early-exit --ckpt model --data texts.txt --split all --samples 2": FOLDERS[:-1],
    "bench startup --quick": FOLDERS[:-1],
    "demo": FOLDERS[:-1],
    "plugins new mine": FOLDERS[:-1],
    "reproduce --ckpt model --data texts.txt": [name for name in FOLDERS if name != "reproduction"],
}
"""The commands with a folder as `--out`, and the folders that each refuses; those of a collection may hold notes.

The notes are in a file that is called like one of ours."""


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder of each kind, a corpus and a file of the authors' code."""
    place = tmp_path_factory.mktemp("made")
    training = small_training(place / "training", write_corpus(place / "texts.txt", 1500), steps=1, eval_texts=2)
    carry_out(training)
    (place / "started").mkdir()
    shutil.copy(place / "training" / "training.json", place / "started")
    save_checkpoint(place / "model")
    Report(Result("Depth"), {"analysis": "depth"}).save(place / "runs").stored_in.rename(place / "report")
    documents = {"reproduction": ("reproduce.json", "alice-interp reproduction"), "notes": ("reproduce.json", "mine")}
    for name, (file, mark) in documents.items():
        (place / name).mkdir()
        (place / name / file).write_text(json.dumps({"format": mark}))
    torch.save(reference.file_of(reference.random_state(reference.BASE), reference.BASE), place / "theirs.pt")
    return place


@pytest.fixture
def copied(made, tmp_path, monkeypatch):
    """A copy to write into."""
    shutil.copytree(made, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    return tmp_path / "copy"


def contents(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def invoke(command, *more, code=0):
    result = CliRunner().invoke(main, [*command.split(), *map(str, more)])
    assert result.exit_code == code, result.output
    return result


def refused(command, *more):
    """Return the one sentence with which a command refuses."""
    sentence = invoke(command, *more, code=1).stderr
    assert sentence.startswith("alice-interp: error: ")
    assert sentence.count("\n") == 1
    return sentence


@pytest.mark.parametrize(("command", "folder"), [(one, name) for one, names in REFUSED_IN.items() for name in names])
def test_a_folder_of_something_else_is_refused_and_stays(made, monkeypatch, command, folder):
    monkeypatch.chdir(made)
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    before = contents(made)
    assert folder in refused(command, "--out", folder)
    assert contents(made) == before


@pytest.mark.parametrize("folder", ["training", "model", "report"])
@pytest.mark.parametrize("command", REFUSED_IN)
def test_nothing_is_put_below_a_folder_of_something_else(made, monkeypatch, command, folder):
    monkeypatch.chdir(made)
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    before = contents(made)
    assert f"{folder}/a/new is inside" in refused(command, "--out", f"{folder}/a/new")
    assert contents(made) == before
    assert not (made / folder / "a").exists()


@pytest.mark.parametrize("name", ["metrics.jsonl", "card.md", "training.json", "notes.pt"])
def test_an_import_never_replaces_the_folder_around_its_input(copied, name):
    shutil.copy("theirs.pt", copied / "model" / name)
    before = contents(copied)
    assert "is read by this command" in refused("ckpt import --force --out model", f"model/{name}")
    assert contents(copied) == before


def test_an_export_never_replaces_the_folder_around_its_texts(copied):
    (copied / "model" / "metrics.jsonl").write_text('{"text": "a text to measure on, of some length"}')
    before = contents(copied)
    assert "is read by this command" in refused("ckpt export training --force --out model --data model/metrics.jsonl")
    assert contents(copied) == before


def test_a_training_is_not_put_into_the_folder_that_it_starts_from(copied):
    (copied / "theirs").mkdir()
    shutil.copytree("model", copied / "theirs" / "model")
    (copied / "theirs" / "model" / "model.safetensors").rename(copied / "weights")  # then it is not a checkpoint
    sentence = refused(f"train {TINY} --init theirs/model --out theirs/model/sub")
    assert "is inside theirs/model, which is read by this command" in sentence


@pytest.mark.parametrize("command", ["ckpt export training --data texts.txt", "ckpt import theirs.pt"])
def test_a_checkpoint_is_replaced_only_with_force_and_nothing_of_it_is_left(copied, command):
    assert "add --force" in refused(command, "--out", "model")
    invoke("ckpt export training --data texts.txt --out other")
    invoke(command, "--force", "--out", "other")
    imported = "import" in command
    assert (copied / "other" / "training.json").exists() != imported
    assert (copied / "other" / "metrics.jsonl").exists() != imported
    assert Alice.from_pretrained("other").config.d_model == (reference.BASE["dim"] if imported else 16)


@pytest.mark.parametrize("damage", ["nan", "shape"])
def test_weights_are_checked_before_an_import_touches_the_folder(copied, damage):
    state = reference.random_state(reference.BASE)
    state["norm.weight"] = state["norm.weight"] * float("nan") if damage == "nan" else torch.ones(3)
    torch.save(reference.file_of(state, reference.BASE), "theirs.pt")
    before = contents(copied)
    refused("ckpt import theirs.pt --force --out model")
    refused("ckpt import theirs.pt --out new")
    assert contents(copied) == before
    assert not (copied / "new").exists()


def test_an_exported_checkpoint_is_not_resumed_as_a_training(copied):
    invoke("ckpt export training --data texts.txt --out exported")
    before = contents(copied)
    assert "is a checkpoint, not a training" in refused("train --resume --out exported")
    assert contents(copied) == before


@pytest.mark.parametrize("out", ["texts.txt", "./texts.txt", "notes/../texts.txt", "linked.txt", "same.txt"])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_a_corpus_is_never_written_onto_itself(copied, out, force):
    (copied / "linked.txt").symlink_to("texts.txt")
    os.link(copied / "texts.txt", copied / "same.txt")
    before = contents(copied)
    assert "is read by this command" in refused("data prepare texts.txt --out", out, *force)
    assert contents(copied) == before


@pytest.mark.parametrize("out", ["train.txt", "new.txt", "new.csv"])
@pytest.mark.parametrize("source", ["hf:./data", "hf:data:train", "--multilingual data"])
def test_a_dataset_folder_is_not_written_into(copied, source, out):
    (copied / "data").mkdir()
    for name in ("train.txt", "la.txt"):
        shutil.copy("texts.txt", copied / "data" / name)
    before = contents(copied)
    assert "is read by this command" in refused(f"data prepare {source} --force --out data/{out}")
    assert contents(copied) == before


def test_an_existing_file_is_replaced_only_with_force(copied):
    (copied / "out.txt").write_text("mine")
    assert "add --force" in refused("data prepare texts.txt --out out.txt")
    assert (copied / "out.txt").read_text() == "mine"
    invoke("data prepare texts.txt --force --out out.txt")
    assert (copied / "out.txt").read_text() != "mine"


@pytest.mark.parametrize("name", ["result.json", "arrays.npz", "entry.json"])
@pytest.mark.parametrize("force", [(), ("--force",)])
def test_the_page_of_a_report_never_replaces_the_report_itself(copied, name, force):
    os.link(copied / "report" / name, copied / "same.html")
    before = contents(copied)
    refused("report report --out", copied / "report" / name, *force)
    if name != "entry.json":  # writing a page does not read it
        assert "is read by this command" in refused("report report --out same.html", *force)
    assert contents(copied) == before


def test_a_file_that_is_not_a_page_of_ours_is_replaced_only_with_force(copied):
    (copied / "page.html").write_text("mine")
    assert "add --force" in refused("report report --out page.html")
    refused("report report --force --out training/config.json")
    assert (copied / "page.html").read_text() == "mine"
    invoke("report report --force --out page.html")
    invoke("report report --out page.html")
    assert "<h1>Depth</h1>" in (copied / "page.html").read_text()


def test_the_page_of_another_report_is_replaced_only_with_force(copied):
    shutil.copytree("report", "other")
    (copied / "other" / "report.html").write_bytes((copied / "report" / "report.html").read_bytes() + b"<!-- other -->")
    before = contents(copied)
    assert "add --force" in refused("report report --out other/report.html")
    assert contents(copied) == before
    invoke("report report --force --out other/report.html")
    assert b"<!-- other -->" not in (copied / "other" / "report.html").read_bytes()
    invoke("report report --out report/report.html")


def test_a_drawing_script_of_somebody_else_is_refused_before_anything_is_computed(copied, monkeypatch):
    (copied / "notes" / "plotly.min.js").write_text("/* my own */")
    monkeypatch.setattr("alice.plugins.runner.analyse", lambda *args, **options: pytest.fail("it computed"))
    before = contents(copied)
    command = "run early-exit --ckpt model --data texts.txt --split all --samples 2"
    assert "plotly.min.js is not a script of plotly" in refused(command, "--out", "notes")
    assert contents(copied) == before
