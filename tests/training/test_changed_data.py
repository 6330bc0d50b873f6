"""A training notices when its corpus is not the one that it started with."""

import json
import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from trainings import carry_out, small_training, write_corpus

from alice.errors import AliceError
from alice.training.folder import Training
from alice.training.records import differences, read_trainings
from alice.training.state import TrainingState


def described(folder):
    return json.loads((folder / "training.json").read_text())


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a corpus and a training of two steps on it, started with a relative path."""
    place = tmp_path_factory.mktemp("place")
    write_corpus(place / "texts.txt")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(place)
        carry_out(small_training(Path("mine"), Path("texts.txt"), steps=2))
    return place


@pytest.fixture
def copy(place, tmp_path):
    """A copy of the training, whose corpus is copied, too."""
    copy = Path(shutil.copytree(place, tmp_path / "copy"))
    about = described(copy / "mine")
    about["data"] = str(copy / "texts.txt")
    (copy / "mine" / "training.json").write_text(json.dumps(about))
    return copy


def test_a_relative_path_is_found_from_another_working_directory(copy, tmp_path, monkeypatch):
    write_corpus(tmp_path / "texts.txt", 300)  # another file of that name
    monkeypatch.chdir(tmp_path)
    assert carry_out(Training.open(copy / "mine", {"steps": 3}), resume=True)
    assert described(copy / "mine")["data"] == str(copy / "texts.txt")


def test_changed_contents_are_refused_and_nothing_is_written(copy):
    write_corpus(copy / "texts.txt", 399)
    before = {path.name: path.read_bytes() for path in (copy / "mine").iterdir()}
    with pytest.raises(AliceError, match=r"is not what .* was trained on before; .* --allow-changed-data") as caught:
        carry_out(Training.open(copy / "mine", {"steps": 3}), resume=True)
    assert "\n" not in str(caught.value)
    options = shlex.split(str(caught.value).partition(": alice-interp train ")[2])
    assert options == [
        "--resume",
        "--out",
        str(copy / "mine"),
        "--data",
        str(copy / "texts.txt"),
        "--allow-changed-data",
    ]
    assert {path.name: path.read_bytes() for path in (copy / "mine").iterdir()} == before


def test_changed_contents_can_be_allowed_and_are_recorded(copy):
    first = described(copy / "mine")["data_sha256"]
    write_corpus(copy / "texts.txt", 399)
    changed = Training.open(copy / "mine", {"steps": 3})
    assert carry_out(changed, resume=True, allow_changed_data=True)
    about = described(copy / "mine")
    assert about["earlier_data"] == [{"data_sha256": first, "until": 2}]
    assert about["data_sha256"] != first
    assert carry_out(Training.open(copy / "mine", {"steps": 4}), resume=True)  # asked once
    assert described(copy / "mine")["earlier_data"] == about["earlier_data"]
    assert Training.open(copy / "mine", {}).summary()["earlier_data"] == about["earlier_data"]


def test_a_corpus_that_was_moved_is_recognised(copy):
    (copy / "texts.txt").rename(copy / "moved.txt")
    with pytest.raises(AliceError, match=r"there is no file .*texts.txt.* give its place with --data"):
        carry_out(Training.open(copy / "mine", {"steps": 3}), resume=True)
    moved = replace(Training.open(copy / "mine", {"steps": 3}), data=str(copy / "moved.txt"))
    assert carry_out(moved, resume=True)
    assert described(copy / "mine")["data"] == str(copy / "moved.txt")


def test_a_training_of_an_older_version_gets_a_fingerprint(copy):
    about = described(copy / "mine")
    sha256 = about.pop("data_sha256")
    (copy / "mine" / "training.json").write_text(json.dumps(about))
    assert carry_out(Training.open(copy / "mine", {"steps": 3}), resume=True)
    assert described(copy / "mine")["data_sha256"] == sha256
    assert TrainingState.read(copy / "mine").counters.step == 3


def test_no_path_of_this_machine_is_exported_or_shown(place):
    summary = Training.open(place / "mine", {}).summary()
    assert summary["data"] == "texts.txt"
    assert str(place) not in json.dumps(summary)
    (record,) = read_trainings([place / "mine"]).trainings
    assert record.data == "texts.txt"


def test_trainings_on_other_texts_of_the_same_name_are_not_comparable(copy, place):
    write_corpus(copy / "texts.txt", 399)
    carry_out(small_training(copy / "other", copy / "texts.txt", steps=2))
    (sentence,) = differences(read_trainings([place / "mine", copy / "other"]).trainings)
    assert "differ in data_sha256" in sentence
