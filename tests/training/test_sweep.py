"""A sweep resumes what was interrupted, skips what is finished and refuses what was started with other settings."""

import shutil
from dataclasses import replace

import pytest
from trainings import carry_out, same_weights, small_training

from alice.errors import AliceError
from alice.training import sweep
from alice.training.folder import Training, read_metrics


def pools(folder, corpus, **changes):
    """Two trainings that differ in their key pool."""
    changes = {"steps": 8, "log_every": 1, "eval_every": 4, "eval_texts": 4, **changes}
    return [
        small_training(folder / name, corpus, cipher_pool=size, **changes)
        for name, size in (("pool-3", 3), ("pool-all", None))
    ]


def go(trainings, *, given=(), stop_after=None):
    """Carry out a sweep, stopping one step after `stop_after` in all; return what it said and whether all is done."""
    said, steps = [], []

    def train(training, *, resume):
        def stop():
            return stop_after is not None and len(steps) >= stop_after

        return carry_out(
            training, resume=resume, report=lambda row: steps.append(row) if "loss" in row else None, stop=stop
        )

    done = sweep.carry_out(sweep.plan(trainings, given), train, say=said.append)
    return said, done


def rows(folder):
    return [{name: value for name, value in row.items() if name != "seconds"} for row in read_metrics(folder)]


def test_an_interrupted_sweep_ends_as_one_that_was_not(corpus, tmp_path):
    whole, broken = pools(tmp_path / "whole", corpus), pools(tmp_path / "broken", corpus)
    assert go(whole) == (["pool-3: starting", "pool-all: starting"], True)
    assert go(broken, stop_after=3) == (["pool-3: starting"], False)
    assert go(broken, stop_after=7) == (["pool-3: resuming at step 4", "pool-all: starting"], False)
    assert go(broken) == (["pool-3: finished, 8 steps", "pool-all: resuming at step 4"], True)
    for left, right in zip(whole, broken, strict=True):
        assert same_weights(left.folder, right.folder)
        assert rows(left.folder) == rows(right.folder)


def test_what_is_finished_is_not_touched(corpus, tmp_path):
    trainings = pools(tmp_path, corpus)
    go(trainings)
    before = {path: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file()}
    assert go(trainings, stop_after=0) == (["pool-3: finished, 8 steps", "pool-all: finished, 8 steps"], True)
    assert before == {
        path: (path.stat().st_mtime_ns, path.read_bytes()) for path in tmp_path.rglob("*") if path.is_file()
    }


def test_a_larger_budget_resumes_everything_and_a_smaller_one_nothing(corpus, tmp_path):
    go(pools(tmp_path, corpus))
    said = ["pool-3: resuming at step 8", "pool-all: resuming at step 8"]
    assert go(pools(tmp_path, corpus, steps=10), given=["steps"]) == (said, True)
    assert [rows(training.folder)[-1]["step"] for training in pools(tmp_path, corpus)] == [10, 10]
    said = ["pool-3: finished, 10 steps", "pool-all: finished, 10 steps"]
    assert go(pools(tmp_path, corpus, steps=4), given=["steps"]) == (said, True)


@pytest.mark.parametrize("members", [1, 2])
def test_a_sweep_is_not_continued_on_other_texts(corpus, tmp_path, members):
    changing = shutil.copy(corpus, tmp_path / "texts.txt")
    trainings = pools(tmp_path / "sweep", changing, steps=1)
    assert go(trainings[:members])[1]
    changing.write_text("".join(reversed(changing.read_text().splitlines(keepends=True))))
    with pytest.raises(AliceError, match=r"texts.txt is not what .*pool-3 was trained on before; restore it") as caught:
        sweep.plan(trainings, ())
    assert "\n" not in str(caught.value)
    shutil.copy(corpus, changing)
    assert go(trainings)[1]


def test_a_training_killed_before_its_first_checkpoint_starts_over(corpus, tmp_path):
    trainings = pools(tmp_path, corpus)
    trainings[0].describe()
    assert go(trainings) == (["pool-3: resuming at step 0", "pool-all: starting"], True)


@pytest.mark.parametrize(
    ("change", "complaint"),
    [
        ({"recipe": {"lr": 0.5}}, "was started with lr=0.003, not 0.5"),
        ({"recipe": {"cipher_pool": 4}}, "was started with cipher_pool=3, not 4"),
        ({"data": "quotes"}, "was started with other data"),
        ({"model": {"d_mlp": 32}}, "was started with another model"),
    ],
)
def test_a_training_started_with_other_settings_is_refused_before_any_trains(corpus, tmp_path, change, complaint):
    first, second = pools(tmp_path, corpus)
    go([first])
    other = replace(first, data=change.get("data", first.data))
    other = replace(other, recipe=replace(other.recipe, **change.get("recipe", {})))
    other = replace(other, model=replace(other.model, **change.get("model", {})))
    with pytest.raises(AliceError, match=complaint):
        go([second, other])
    assert not second.folder.exists()


def test_how_often_to_measure_changes_only_when_it_is_given(corpus, tmp_path):
    trainings = pools(tmp_path, corpus)
    go(trainings, stop_after=2)
    wanted = [replace(one, recipe=replace(one.recipe, eval_every=2, precision="auto")) for one in trainings]
    kept, changed = (sweep.plan(wanted, given)[0].training.recipe for given in ([], ["eval_every"]))
    assert (kept.eval_every, kept.precision) == (4, "fp32")
    assert (changed.eval_every, changed.precision) == (2, "fp32")


def test_one_training_that_fails_does_not_stop_the_others(corpus, tmp_path):
    def train(training, *, resume):
        if training.folder.name == "pool-3":
            raise AliceError("the loss became nan")
        return carry_out(training, resume=resume)

    trainings = pools(tmp_path, corpus)
    with pytest.raises(AliceError, match=r"1 of 2 trainings failed: pool-3 \(the loss became nan\)"):
        sweep.carry_out(sweep.plan(trainings, ()), train)
    assert rows(trainings[1].folder)[-1]["step"] == 8


def test_the_first_training_decides_the_precision_of_all(corpus, tmp_path):
    trained = []

    def train(training, *, resume):
        trained.append(training.recipe.precision)
        replace(training, recipe=replace(training.recipe, precision="fp32")).describe()
        return True

    sweep.carry_out(sweep.plan(pools(tmp_path, corpus, precision="auto"), ()), train)
    assert trained == ["auto", "fp32"]
    assert Training.open(tmp_path / "pool-all", {}).recipe.precision == "fp32"
