import json

import numpy as np
import pytest
from training_folders import write_training

from alice.errors import AliceError
from alice.model.flops import training_flops
from alice.training.records import differences, read_runs

LOSSES = [(10, 3.0), (20, 2.0), (30, 1.0)]


def test_a_run_is_read_as_it_was_logged(tmp_path):
    write_training(tmp_path / "one", losses=LOSSES, errors=[(30, 0.25)], pool=7, flops_per_step=5.0)
    (run,) = read_runs([tmp_path / "one"]).runs
    assert (run.name, run.recipe.cipher_pool, run.data, run.used, run.exact_flops) == ("one", 7, "quotes", 1.0, True)
    assert run.loss.steps.tolist() == [10, 20, 30]
    assert run.loss.values.tolist() == [3, 2, 1]
    assert run.loss.flops.tolist() == [50, 100, 150]
    assert (run.error.steps.tolist(), run.error.values.tolist()) == ([30], [0.25])


def test_a_folder_of_runs_is_read_in_the_order_of_the_numbers_in_their_names(tmp_path):
    for name in ("pool-all", "pool-\N{SUPERSCRIPT TWO}", "pool-100", "pool-20"):
        write_training(tmp_path / name, losses=LOSSES)
    (tmp_path / "notes").mkdir()
    found = read_runs([tmp_path, tmp_path / "pool-20"])  # the second is among the first
    assert [run.name for run in found.runs] == ["pool-20", "pool-100", "pool-all", "pool-\N{SUPERSCRIPT TWO}"]
    assert found.notes == ()


def test_runs_of_one_name_are_numbered(tmp_path):
    folders = [write_training(tmp_path / place / "run", losses=LOSSES) for place in ("a", "b")]
    assert [run.name for run in read_runs(folders).runs] == ["run (1)", "run (2)"]


def test_a_last_line_cut_off_by_a_kill_is_left_out(tmp_path):
    folder = write_training(tmp_path / "one", losses=LOSSES)
    file = folder / "metrics.jsonl"
    file.write_text(file.read_text()[:-20])
    (run,) = read_runs([folder]).runs
    assert run.loss.steps.tolist() == [10, 20]
    assert run.used == pytest.approx(2 / 3)


def test_without_counted_operations_they_are_estimated_and_marked(tmp_path):
    folder = write_training(tmp_path / "old", losses=LOSSES, flops_per_step=None, tokens_per_step=100, max_length=80)
    (run,) = read_runs([folder]).runs
    assert not run.exact_flops
    assert run.loss.flops == pytest.approx(
        [training_flops(run.model, 100 * step, 4000 * step) for step in (10, 20, 30)]
    )


def test_a_run_that_began_before_operations_were_counted_is_estimated_as_a_whole(tmp_path):
    folder = write_training(tmp_path / "old", losses=LOSSES, flops_per_step=None)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps({"step": 40, "tokens": 4000, "flops": 1.0, "loss": 1.0}) + "\n")
    (run,) = read_runs([folder]).runs
    assert not run.exact_flops
    assert np.all(np.diff(run.loss.flops) > 0)


@pytest.mark.parametrize("missing", ["metrics.jsonl", "training.json"])
def test_half_a_run_is_left_out_of_a_folder_and_refused_alone(tmp_path, missing):
    write_training(tmp_path / "whole", losses=LOSSES)
    half = write_training(tmp_path / "half", losses=LOSSES)
    (half / missing).unlink()
    found = read_runs([tmp_path])
    assert [run.name for run in found.runs] == ["whole"]
    assert found.notes == (f"{half} has no {missing}, so it is left out.",)
    with pytest.raises(AliceError, match=f"half has no {missing}"):
        read_runs([half])


def test_folders_without_a_run_say_how_to_make_one(tmp_path):
    with pytest.raises(AliceError, match=r"there is no folder .*gone"):
        read_runs([tmp_path / "gone"])
    (tmp_path / "file").touch()
    with pytest.raises(AliceError, match="file is a file; give a run folder"):
        read_runs([tmp_path / "file"])
    with pytest.raises(AliceError, match="make some with: alice-interp sweep generalization"):
        read_runs([tmp_path])
    write_training(tmp_path / "new", losses=LOSSES)
    (tmp_path / "new" / "metrics.jsonl").write_text("")
    with pytest.raises(AliceError, match="no run has logged anything yet"):
        read_runs([tmp_path])
    with pytest.raises(AliceError, match="no line with a loss yet"):
        read_runs([tmp_path / "new"])


@pytest.mark.parametrize("line", ['{"step": 5, "loss": 1.0}', '{"step": 5, "tokens": 1, "ser": 0.5}'])
def test_a_line_that_makes_no_sense_is_named(tmp_path, line):
    folder = write_training(tmp_path / "one", losses=LOSSES)
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(f"{line}\n")
    with pytest.raises(AliceError, match=r"metrics.jsonl, step 5 cannot be read"):
        read_runs([folder])


def test_runs_that_differ_in_more_than_is_meant_are_not_comparable(tmp_path):
    write_training(tmp_path / "a", losses=LOSSES, pool=10)
    write_training(tmp_path / "b", losses=LOSSES, pool=20, lr=0.5, data="other", eval_every=3, model={"d_mlp": 32})
    runs = read_runs([tmp_path]).runs
    assert differences(runs, besides=["cipher_pool"]) == [
        "Not comparable: the runs differ in data (quotes, other); d_mlp (16, 32); lr (0.0001, 0.5)."
    ]
    assert differences(runs, besides=["cipher_pool", "data", "d_mlp", "lr"]) == []


def test_fields_of_another_variant_do_not_matter(tmp_path):
    write_training(tmp_path / "a", losses=LOSSES)
    write_training(tmp_path / "b", losses=LOSSES, model={"sinkhorn_tau": 1.0, "hyper_layers": 1})
    assert differences(read_runs([tmp_path]).runs) == []


def test_an_unfinished_run_is_told(tmp_path):
    write_training(tmp_path / "a", losses=LOSSES, steps=60)
    (told,) = differences(read_runs([tmp_path]).runs)
    assert "not final: a (50 %)" in told
