"""Whether checkpoints had the same training, and whether they have seen validation texts."""

from dataclasses import replace
from shutil import rmtree

import pytest
from tiny import tiny
from trainings import carry_out, small_training

from alice.checkpoint.folder import write_json
from alice.training.folder import Training, saw_validation, training_differences


@pytest.fixture(scope="module")
def variant(tmp_path_factory, corpus):
    """The bijective model with the same training as `trained`."""
    training = small_training(tmp_path_factory.mktemp("equal") / "bijective", corpus, variant="bijective", steps=20)
    carry_out(training)
    return training.folder


def exported(training, folder):
    folder.mkdir()
    write_json(folder / "training.json", Training.open(training, {}).summary())
    return folder


def test_variants_with_the_same_texts_recipe_and_steps_are_alike(trained, variant, tmp_path):
    assert training_differences({"base": trained, "bijective": variant}) == ""
    assert training_differences({"base": trained, "bijective": exported(variant, tmp_path / "out")}) == ""


def test_another_budget_start_or_recipe_is_named(trained, variant, corpus, tmp_path):
    more = small_training(tmp_path / "more", corpus, steps=25)
    carry_out(more)
    found = training_differences({"base": more.folder, "bijective": variant})
    assert found.startswith("base: 25 steps, ")
    assert "; bijective: 20 steps, " in found
    other = replace(small_training(tmp_path / "other", corpus, steps=20, seed=1))
    carry_out(other)
    assert training_differences({"base": other.folder, "bijective": variant})
    assert training_differences({"base": "base", "bijective": "bijective"}).endswith("some of them of base")


def test_without_a_record_nothing_is_known(trained, tmp_path):
    tiny("base").save_pretrained(tmp_path / "plain")
    found = training_differences({"base": trained, "plain": tmp_path / "plain", "given": None})
    assert found.endswith("; plain: no record of its training; given: no record of its training")


def test_models_of_earlier_versions_and_what_starts_from_them_have_seen_validation_texts(trained, corpus, tmp_path):
    assert saw_validation("base")
    assert not saw_validation(trained)
    old = small_training(tmp_path / "old", corpus, steps=1, held_out="test")
    carry_out(old)
    new = replace(small_training(tmp_path / "new", corpus, steps=1), init=str(old.folder))
    said = []
    carry_out(new, say=said.append)
    assert saw_validation(new.folder)
    assert any("was trained on validation texts" in line for line in said)
    assert new.summary()["saw_validation"] is True
    rmtree(old.folder)
    assert saw_validation(new.folder)  # it is recorded, since the weights it started from may be replaced
