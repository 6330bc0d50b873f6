import json

import numpy as np
import pytest
from training_folders import write_training

from alice.errors import AliceError
from alice.model.flops import training_flops
from alice.training.records import differences, read_trainings

LOSSES = [(10, 3.0), (20, 2.0), (30, 1.0)]


def test_a_training_is_read_as_it_was_logged(tmp_path):
    write_training(tmp_path / "one", losses=LOSSES, errors=[(30, 0.25)], pool=7, flops_per_step=5.0)
    (training,) = read_trainings([tmp_path / "one"]).trainings
    assert (training.name, training.recipe.cipher_pool, training.data, training.used, training.exact_flops) == (
        "one",
        7,
        "quotes",
        1.0,
        True,
    )
    assert training.loss.steps.tolist() == [10, 20, 30]
    assert training.loss.values.tolist() == [3, 2, 1]
    assert training.loss.flops.tolist() == [50, 100, 150]
    assert (training.error.steps.tolist(), training.error.values.tolist()) == ([30], [0.25])


def test_a_folder_of_trainings_is_read_in_the_order_of_the_numbers_in_their_names(tmp_path):
    for name in ("pool-all", "pool-\N{SUPERSCRIPT TWO}", "pool-100", "pool-20"):
        write_training(tmp_path / name, losses=LOSSES)
    (tmp_path / "notes").mkdir()
    found = read_trainings([tmp_path, tmp_path / "pool-20"])  # the second is among the first
    assert [one.name for one in found.trainings] == ["pool-20", "pool-100", "pool-all", "pool-\N{SUPERSCRIPT TWO}"]
    assert found.notes == ()


def test_trainings_with_the_same_name_can_be_renamed(tmp_path):
    folders = [write_training(tmp_path / place / "mine", losses=LOSSES) for place in ("a", "b")]
    found = read_trainings(folders)
    assert [one.name for one in found.trainings] == ["mine", "mine"]
    assert [one.name for one in found.renamed(["first", "second"]).trainings] == ["first", "second"]


def test_a_last_line_truncated_by_a_kill_is_left_out(tmp_path):
    folder = write_training(tmp_path / "one", losses=LOSSES)
    file = folder / "metrics.jsonl"
    file.write_text(file.read_text()[:-20])
    (training,) = read_trainings([folder]).trainings
    assert training.loss.steps.tolist() == [10, 20]
    assert training.used == pytest.approx(2 / 3)


def test_without_counted_operations_they_are_estimated_and_marked(tmp_path):
    folder = write_training(tmp_path / "old", losses=LOSSES, flops_per_step=None, tokens_per_step=100, max_length=80)
    (training,) = read_trainings([folder]).trainings
    assert not training.exact_flops
    assert training.loss.flops == pytest.approx(
        [training_flops(training.model, 100 * step, 4000 * step) for step in (10, 20, 30)]
    )


def test_a_training_that_began_before_operations_were_counted_is_estimated_as_a_whole(tmp_path):
    folder = write_training(tmp_path / "old", losses=LOSSES, flops_per_step=None)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"step": 40, "tokens": 4000, "flops": 1.0, "loss": 1.0}) + "\n")
    (training,) = read_trainings([folder]).trainings
    assert not training.exact_flops
    assert np.all(np.diff(training.loss.flops) > 0)


@pytest.mark.parametrize("missing", ["metrics.jsonl", "training.json"])
def test_an_incomplete_training_is_left_out_of_a_folder_and_refused_alone(tmp_path, missing):
    write_training(tmp_path / "whole", losses=LOSSES)
    half = write_training(tmp_path / "half", losses=LOSSES)
    (half / missing).unlink()
    found = read_trainings([tmp_path])
    assert [one.name for one in found.trainings] == ["whole"]
    assert found.notes == (f"{half} has no {missing}, so it is left out.",)
    with pytest.raises(AliceError, match=f"half has no {missing}"):
        read_trainings([half])


def test_folders_without_a_training_say_how_to_make_one(tmp_path):
    with pytest.raises(AliceError, match=r"there is no folder .*gone"):
        read_trainings([tmp_path / "gone"])
    (tmp_path / "file").touch()
    with pytest.raises(AliceError, match="file is a file; give a training folder"):
        read_trainings([tmp_path / "file"])
    with pytest.raises(AliceError, match="make some with: alice-interp sweep generalization"):
        read_trainings([tmp_path])
    write_training(tmp_path / "new", losses=LOSSES)
    (tmp_path / "new" / "metrics.jsonl").write_text("")
    with pytest.raises(AliceError, match="no training has logged anything yet"):
        read_trainings([tmp_path])
    with pytest.raises(AliceError, match="no line with a loss yet"):
        read_trainings([tmp_path / "new"])


@pytest.mark.parametrize("line", ['{"step": 5, "loss": 1.0}', '{"step": 5, "tokens": 1, "ser": 0.5}'])
def test_an_invalid_line_is_named(tmp_path, line):
    folder = write_training(tmp_path / "one", losses=LOSSES)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(AliceError, match=r"metrics.jsonl, step 5 cannot be read"):
        read_trainings([folder])


def test_trainings_that_differ_in_more_than_is_meant_are_not_comparable(tmp_path):
    write_training(tmp_path / "a", losses=LOSSES, pool=10)
    write_training(tmp_path / "b", losses=LOSSES, pool=20, lr=0.5, data="other", eval_every=3, model={"d_mlp": 32})
    found = read_trainings([tmp_path]).trainings
    assert differences(found, besides=["cipher_pool"]) == [
        "Not comparable: the trainings differ in data (quotes, other); d_mlp (16, 32); lr (0.0001, 0.5)."
    ]
    assert differences(found, besides=["cipher_pool", "data", "d_mlp", "lr"]) == []


def test_fields_of_another_variant_do_not_matter(tmp_path):
    write_training(tmp_path / "a", losses=LOSSES)
    write_training(tmp_path / "b", losses=LOSSES, model={"sinkhorn_tau": 1.0, "hyper_layers": 1})
    assert differences(read_trainings([tmp_path]).trainings) == []


def test_an_unfinished_training_is_mentioned(tmp_path):
    write_training(tmp_path / "a", losses=LOSSES, steps=60)
    (sentence,) = differences(read_trainings([tmp_path]).trainings)
    assert "not final: a (50 %)" in sentence
