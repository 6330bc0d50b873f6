"""The generalization analysis against curves written by hand."""

import json
import math
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from training_folders import write_training

from alice.cli import main
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.generalization import Generalization
from alice.plugins.builtin.generalization.measure import smooth


def line(first, last, count=60, every=10):
    """Return values on a straight line, which smoothing leaves as they are."""
    return [(every * (n + 1), first + (last - first) * n / (count - 1)) for n in range(count)]


def write_pools(folder):
    """Write three trainings: one that memorised its pool, one that generalises, one with unlimited keys."""
    write_training(folder / "pool-10", losses=line(3, 0.05), errors=[(300, 0.6), (600, 0.7)], pool=10)
    write_training(folder / "pool-2000", losses=line(3, 0.5), errors=[(300, 0.5), (600, 0.05)], pool=2000)
    write_training(folder / "pool-all", losses=line(3, 0.4), errors=[(300, 0.5), (600, 0.04)])
    return folder


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    """The three trainings, to be read only."""
    return write_pools(tmp_path_factory.mktemp("trainings"))


def run(*trainings, **options):
    return Generalization(trainings, **options).run(RunContext())


def names(result):
    return [metric.name for metric in result.metrics]


def test_each_pool_has_a_line_and_a_row_of_its_last_values(trainings):
    result = run(trainings)
    first, second, third = result.tables["pools"].records()
    assert [row["pool"] for row in (first, second, third)] == [10, 2000, None]
    assert (first["model"], first["steps"]) == ("pool-10", 600)
    assert first["training_loss"] == pytest.approx(0.05)
    assert first["accuracy"] == pytest.approx(0.3)
    assert (first["best_accuracy"], first["best_step"]) == (pytest.approx(0.4), 300)
    assert first["gap"] == pytest.approx(math.exp(-0.05) - 0.3)
    assert second["gap"] == pytest.approx(math.exp(-0.5) - 0.95)
    drawn = result.figure("training").figure.data
    assert [trace.name for trace in drawn] == ["10 keys", "2,000 keys", "all keys"] * 2
    assert [trace.showlegend for trace in drawn] == [True] * 3 + [False] * 3
    assert list(drawn[4].y) == pytest.approx([0.5, 0.95])
    assert list(drawn[4].x) == [300, 600]
    assert result.array("accuracy", model="pool-2000").tolist() == pytest.approx([0.5, 0.95])
    assert result.array("accuracy-steps", model="pool-2000").tolist() == [300, 600]


def test_the_smallest_pool_that_generalises_is_found(trainings):
    result = run(trainings)
    headline = result.headline_metric()
    assert (headline.name, headline.value) == ("smallest-pool", 2000)
    assert result.metric("best-accuracy").value == pytest.approx(0.96)
    assert "has 2,000 keys; the next smaller one, 10 keys, does not." in result.summary
    assert result.metric("generalises").value is True
    unlimited = run(trainings, threshold=0.955)
    assert names(unlimited) == ["generalises", "best-accuracy", "trainings"]  # all keys are not a pool with a size
    assert unlimited.metric("generalises").value is True
    hopeless = run(trainings, threshold=1.0)
    assert names(hopeless) == names(unlimited)
    assert hopeless.metric("generalises").value is False
    assert "No training gets 100 %" in hopeless.summary


def test_the_pools_of_the_paper_are_next_to_ours(trainings):
    result = run(trainings)
    found = {row["pool"]: row for row in result.tables["paper"].records()}
    assert list(found)[:3] == [10, 100, 250]
    assert found[1000]["generalises_in_paper"] is False
    assert found[1500]["generalises_in_paper"] is True
    assert found[10]["generalises"] is False
    assert found[2000] == {
        "pool": 2000,
        "generalises_in_paper": None,
        "generalises": True,
        "accuracy": pytest.approx(0.95),
    }
    assert "between 1,000 and 1,500 keys" in result.summary


def test_trainings_that_cannot_be_compared_are_named(tmp_path):
    write_pools(tmp_path)
    assert not any("Not comparable" in caveat for caveat in run(tmp_path).caveats)
    other = write_training(tmp_path / "pool-50", losses=line(3, 1), pool=50, lr=0.3)
    result = run(tmp_path)
    (caveat,) = [caveat for caveat in result.caveats if "Not comparable" in caveat]
    assert "lr (0.0001, 0.3)" in caveat
    assert "the next smaller one, 10 keys, does not." in result.summary  # 50 keys were not measured
    alone = run(other)
    assert alone.tables["pools"].records()[0]["accuracy"] is None
    assert names(alone) == ["trainings"]
    assert "No training gets" not in alone.summary
    assert set(alone.figures) == {"training"}


def test_two_trainings_on_one_pool_are_told_apart(tmp_path):
    for name in ("a", "b"):
        write_training(tmp_path / name, losses=line(3, 1), errors=[(600, 0.5)], pool=10)
    drawn = run(tmp_path).figure("training").figure.data
    assert [trace.name for trace in drawn[:2]] == ["10 keys, a", "10 keys, b"]


def test_trainings_whose_names_differ_only_in_a_hyphen_keep_their_arrays(tmp_path):
    for place, name in enumerate(("pool 10", "pool-10")):
        write_training(tmp_path / name, losses=line(3, 0.05), errors=[(600, 0.1 * place)], pool=10)
    assert {key.partition("@")[2] for key in run(tmp_path).arrays} == {"pool-10-1", "pool-10-2"}


def test_noise_is_smoothed(tmp_path):
    noisy = [(step, loss + 0.5 * (-1) ** step) for step, loss in line(3, 1, count=200, every=1)]
    write_training(tmp_path / "noisy", losses=noisy)
    result = run(tmp_path, window=21)
    raw, smoothed = (result.array(name, model="noisy") for name in ("loss", "smoothed-loss"))
    middle = slice(20, -20)
    expected = [loss for _, loss in line(3, 1, count=200)]
    assert abs(smoothed - expected)[middle].max() < 0.1 < abs(raw - expected)[middle].min()


def test_smoothing_keeps_a_cubic_and_removes_noise():
    x = np.linspace(-1, 1, 400)
    cubic = 1 + x - 2 * x**2 + 3 * x**3
    assert smooth(cubic, 31) == pytest.approx(cubic)
    noise = np.random.default_rng(0).normal(size=400)
    found = smooth(cubic + noise, 31)
    assert found.shape == (400,)
    assert np.abs(found - cubic).mean() < 0.4 * np.abs(noise).mean()


@pytest.mark.parametrize("points", [1, 9, 40, 49, 50, 61, 200])
def test_a_short_curve_is_smoothed_over_a_tenth_of_it_or_not_at_all(points):
    values = np.arange(points) % 2.0
    found = smooth(values, 51)
    assert len(found) == points
    assert found is not values
    assert np.array_equal(found, values) == (points < 50)


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"window": 0}, "window=0 is too small"),
        ({"threshold": 0}, "not an accuracy"),
        ({"threshold": 2}, "not an accuracy"),
    ],
)
def test_options_that_make_no_sense_are_refused_at_once(options, complaint):
    with pytest.raises(AliceError, match=complaint):
        Generalization(**options)


def test_it_runs_from_the_command_line(trainings, tmp_path, monkeypatch):
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    out = tmp_path / "out"
    result = CliRunner().invoke(main, ["run", "generalization", "--trainings", str(trainings), "--out", str(out)])
    assert result.exit_code == 0, result.output
    headline, report = result.stdout.splitlines()
    assert headline == "smallest pool with 90 % on unseen keys: 2000 keys"
    options = json.loads((Path(report).parent / "result.json").read_text())["provenance"]["options"]
    assert options["trainings"] == [str(trainings)]


def test_seeds_of_one_pool_are_drawn_as_their_mean(tmp_path):
    for pool in (10, 100):
        for seed, error in ((0, 0.4), (1, 0.6)):
            write_training(
                tmp_path / f"pool-{pool}-seed-{seed}", losses=line(3, 1), errors=[(300, 0.9), (600, error)], pool=pool,
                seed=seed,
            )  # fmt: skip
    result = run(tmp_path)
    drawn = result.figure("training").figure.data
    assert [trace.name for trace in drawn] == ["10 keys", "100 keys"] * 2
    assert list(drawn[2].y) == pytest.approx([0.1, 0.5])
    assert len(result.tables["pools"].records()) == 4
    assert result.metric("best-accuracy").value == pytest.approx(0.5)
    assert "10 keys: loss 1.000, accuracy 0.500" in result.summary
    assert not any("Not comparable" in caveat for caveat in result.caveats)
