"""The generalization analysis against curves written by hand."""

import json
import math
from pathlib import Path

import pytest
from click.testing import CliRunner
from training_folders import write_training

from alice.cli import main
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.generalization import Generalization


def line(first, last, count=60, every=10):
    """Return values on a straight line, which smoothing leaves as they are."""
    return [(every * (n + 1), first + (last - first) * n / (count - 1)) for n in range(count)]


@pytest.fixture
def runs(tmp_path):
    """Three pools: one learnt by heart, one that generalises, one with fresh keys."""
    write_training(tmp_path / "pool-10", losses=line(3, 0.05), errors=[(300, 0.6), (600, 0.7)], pool=10)
    write_training(tmp_path / "pool-2000", losses=line(3, 0.5), errors=[(300, 0.5), (600, 0.05)], pool=2000)
    write_training(tmp_path / "pool-all", losses=line(3, 0.4), errors=[(300, 0.5), (600, 0.04)])
    return tmp_path


def rows(table):
    return [dict(zip(table.columns, row, strict=True)) for row in table.rows]


def test_each_pool_has_a_line_and_a_row_of_its_last_values(runs):
    result = Generalization((runs,)).run(RunContext())
    first, second, third = rows(result.tables["pools"])
    assert [row["pool"] for row in (first, second, third)] == ["10", "2,000", "all"]
    assert first["steps"] == 600
    assert first["training loss"] == pytest.approx(0.05)
    assert first["accuracy"] == pytest.approx(0.3)
    assert (first["best accuracy"], first["at step"]) == (pytest.approx(0.4), 300)
    assert first["gap"] == pytest.approx(math.exp(-0.05) - 0.3)
    assert second["gap"] == pytest.approx(math.exp(-0.5) - 0.95)
    drawn = result.figures["training"].figure.data
    assert [trace.name for trace in drawn] == ["10 keys", "2,000 keys", "all keys"] * 2
    assert [trace.showlegend for trace in drawn] == [True] * 3 + [False] * 3
    assert list(drawn[4].y) == pytest.approx([0.5, 0.95])
    assert list(drawn[4].x) == [300, 600]


def test_the_smallest_pool_that_generalises_is_found(runs):
    result = Generalization((runs,)).run(RunContext())
    assert result.headline_metric() == ("smallest pool with 90 % on unseen keys", "2,000")
    assert "has 2,000 keys; the next smaller one here, 10 keys, does not." in result.summary
    strict = Generalization((runs,), threshold=0.955).run(RunContext())
    assert strict.headline_metric()[1] == "all"
    hopeless = Generalization((runs,), threshold=1.0).run(RunContext())
    assert hopeless.headline_metric()[1] == "none"
    assert "No run gets 100 %" in hopeless.summary


def test_the_paper_stands_beside(runs):
    result = Generalization((runs,)).run(RunContext())
    found = {row["pool"]: row for row in rows(result.tables["paper"])}
    assert list(found)[:3] == ["10", "100", "250"]
    assert found["1,000"]["generalises in the paper"] == "no"
    assert found["1,500"]["generalises in the paper"] == "yes"
    assert found["10"]["generalises here"] == "no"
    assert found["2,000"] == {
        "pool": "2,000",
        "generalises in the paper": None,
        "generalises here": "yes",
        "our accuracy": pytest.approx(0.95),
    }
    assert "between 1,000 and 1,500 keys" in result.summary


def test_runs_that_cannot_be_compared_are_told(runs):
    assert not any("Not comparable" in caveat for caveat in Generalization((runs,)).run(RunContext()).caveats)
    other = write_training(runs / "pool-50", losses=line(3, 1), pool=50, lr=0.3)
    told = [caveat for caveat in Generalization((runs,)).run(RunContext()).caveats if "Not comparable" in caveat]
    assert told == ["Not comparable: the runs differ in lr (0.0001, 0.3)."]
    alone = Generalization((other,)).run(RunContext())
    assert alone.tables["pools"].rows[0][4] is None  # nothing measured yet
    assert alone.headline_metric()[1] == "not measured"
    assert "No run gets" not in alone.summary
    assert set(alone.figures) == {"training"}


def test_a_pool_that_was_not_measured_is_not_said_to_fail(runs):
    write_training(runs / "pool-50", losses=line(3, 1), pool=50)
    assert "the next smaller one here, 10 keys, does not." in Generalization((runs,)).run(RunContext()).summary


def test_two_runs_of_one_pool_are_told_apart(tmp_path):
    for name in ("a", "b"):
        write_training(tmp_path / name, losses=line(3, 1), errors=[(600, 0.5)], pool=10)
    drawn = Generalization((tmp_path,)).run(RunContext()).figures["training"].figure.data
    assert [trace.name for trace in drawn[:2]] == ["10 keys, a", "10 keys, b"]


def test_noise_is_smoothed(tmp_path):
    noisy = [(step, loss + 0.5 * (-1) ** step) for step, loss in line(3, 1, count=200, every=1)]
    write_training(tmp_path / "run", losses=noisy)
    result = Generalization((tmp_path,), window=21).run(RunContext())
    raw, smooth = result.arrays["loss-1"][1:]
    middle = slice(20, -20)
    expected = [loss for _, loss in line(3, 1, count=200)]
    assert abs(smooth - expected)[middle].max() < 0.1 < abs(raw - expected)[middle].min()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [({"window": 0}, "leaves nothing to smooth over"), ({"threshold": 0}, "no accuracy"), ({"threshold": 2}, "no acc")],
)
def test_options_that_make_no_sense_are_refused_at_once(options, complaint):
    with pytest.raises(AliceError, match=complaint):
        Generalization(**options)


def test_it_keeps_the_rules_of_an_analysis(check_analysis, runs):
    check_analysis(Generalization, runs=(runs,))


def test_it_runs_from_the_command_line(runs, tmp_path, monkeypatch):
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    out = tmp_path / "out"
    result = CliRunner().invoke(main, ["run", "generalization", "--runs", str(runs), "--out", str(out)])
    assert result.exit_code == 0, result.output
    headline, report = result.stdout.splitlines()
    assert headline == "smallest pool with 90 % on unseen keys: 2,000"
    options = json.loads((Path(report).parent / "result.json").read_text())["provenance"]["options"]
    assert options["runs"] == [str(runs)]
