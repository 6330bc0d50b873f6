"""The scaling analysis against error rates whose power law is known."""

import pytest
from click.testing import CliRunner
from training_folders import write_training

from alice.cli import main
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.scaling import Scaling

MINI = {"d_model": 64, "n_layers": 4, "n_heads": 2, "d_mlp": 192}
SMALL = {"d_model": 128, "n_layers": 8, "n_heads": 4, "d_mlp": 384}
STEPS = (10, 20, 40, 80, 160, 320)


def law(flops_per_step, factor, exponent):
    """Return error rates that follow a power law of the operations."""
    return [(step, factor * (step * flops_per_step) ** exponent) for step in STEPS]


@pytest.fixture
def runs(tmp_path):
    """Two sizes on one law, 400 * FLOPs ** -0.5, the larger one with ten times the operations a step."""
    for name, model, cost in (("size-small", SMALL, 1e7), ("size-mini", MINI, 1e6)):
        write_training(
            tmp_path / name, losses=[(320, 1.0)], errors=law(cost, 400, -0.5), flops_per_step=cost, model=model
        )
    return tmp_path


def test_the_exponent_is_found_again(runs):
    result = Scaling((runs,)).run(RunContext())
    assert result.headline_metric() == ("exponent", pytest.approx(-0.5))
    assert result.metrics["standard error of the exponent"] == pytest.approx(0, abs=1e-6)
    assert result.metrics["points of the fit"] == 12  # of two lines on one law every point is a new best
    assert "to the power -0.500 ± 0.000" in result.summary
    assert "Not comparable" not in " ".join(result.caveats)


def test_a_line_for_each_size_smallest_first(runs):
    result = Scaling((runs,)).run(RunContext())
    drawn = result.figures["error-by-operations"].figure
    assert [trace.name for trace in drawn.data[:2]] == ["mini (0.213M)", "small (1.7M)"]
    assert list(drawn.data[0].x) == [step * 1e6 for step in STEPS]
    assert list(drawn.data[0].y) == pytest.approx([ser for _, ser in law(1e6, 400, -0.5)])
    assert drawn.layout.xaxis.type == drawn.layout.yaxis.type == "log"
    (mini, small) = result.tables["sizes"].rows
    assert mini[:4] == ("mini (0.213M)", "size-mini", 320, 320e6)
    assert small[4] == pytest.approx(400 * 320e7**-0.5)


def test_only_the_best_for_its_operations_is_fitted(runs):
    worse = law(3e6, 900, -0.2)
    write_training(runs / "worse", losses=[(320, 1.0)], errors=worse, flops_per_step=3e6, model=MINI | {"d_mlp": 96})
    result = Scaling((runs,)).run(RunContext())
    assert result.metrics["exponent"] == pytest.approx(-0.5)
    assert len(result.figures["error-by-operations"].figure.data) == 5  # three sizes, the law, the frontier


def test_a_slow_start_can_be_left_out(tmp_path):
    errors = [(step, 0.8) for step in (1, 2, 4)] + law(1e6, 400, -0.5)
    write_training(tmp_path / "run", losses=[(320, 1.0)], errors=errors, model=MINI)
    whole, part = (Scaling((tmp_path,), fit_below=limit).run(RunContext()).metrics for limit in (1.0, 0.5))
    assert part["exponent"] == pytest.approx(-0.5)
    assert whole["exponent"] != pytest.approx(-0.5, abs=0.01)


def test_too_few_points_have_no_exponent(tmp_path):
    write_training(tmp_path / "run", losses=[(20, 1.0)], errors=[(10, 0.5), (20, 0.4)])
    result = Scaling((tmp_path,)).run(RunContext())
    assert "exponent" not in result.metrics
    assert "too few for a power law" in result.summary
    assert result.metrics["runs"] == 1


def test_points_without_a_logarithm_are_not_fitted(tmp_path):
    errors = [(0, 0.9), *law(1e6, 400, -0.5), (640, 0.0)]
    write_training(tmp_path / "run", losses=[(640, 1.0)], errors=errors, flops_per_step=1e6, model=MINI)
    drawn = Scaling((tmp_path,)).run(RunContext()).figures["error-by-operations"].figure
    assert [list(trace.x) for trace in drawn.data if "power law" in trace.name] == [[10e6, 320e6]]


def test_runs_of_one_name_keep_their_numbers(tmp_path):
    folders = tuple(write_training(tmp_path / place / "run", losses=[(20, 1.0)]) for place in ("a", "b"))
    rows = Scaling(folders).run(RunContext()).tables["configurations"].rows
    assert [row[1] for row in rows[:2]] == ["run (1)", "run (2)"]


def test_a_run_that_was_not_measured_yet_has_no_line(tmp_path):
    write_training(tmp_path / "run", losses=[(20, 1.0)])
    assert "Nothing was measured yet" in Scaling((tmp_path,)).run(RunContext()).summary


def test_the_papers_configurations_stand_beside(runs):
    table = Scaling((runs,)).run(RunContext()).tables["configurations"]
    assert table.rows[0] == ("ours", "mini", "0.213M", 64, 4, 2, 192)
    assert ("paper", "85M", "84.9M", 768, 12, 12, 2048) in table.rows
    assert sum(row[0] == "paper" for row in table.rows) == 6


def test_estimated_operations_and_other_recipes_are_told(runs):
    write_training(runs / "old", losses=[(320, 1.0)], errors=[(320, 0.5)], flops_per_step=None, lr=0.3, model=MINI)
    caveats = " ".join(Scaling((runs,)).run(RunContext()).caveats)
    assert "The log of old has no count of operations" in caveats
    assert "Not comparable: the runs differ in lr" in caveats


def test_an_error_rate_beyond_reason_is_refused():
    with pytest.raises(AliceError, match="no error rate"):
        Scaling(fit_below=0)


def test_it_keeps_the_rules_of_an_analysis(check_analysis, runs):
    check_analysis(Scaling, runs=(runs,))


def test_without_runs_it_says_how_to_make_some(monkeypatch):
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    result = CliRunner().invoke(main, ["run", "scaling"])
    assert result.exit_code == 1
    assert result.stderr == (
        "alice-interp: error: scaling needs --runs; make such runs with: alice-interp sweep scaling --out DIR\n"
    )
