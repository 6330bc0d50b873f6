"""The scaling analysis against error rates whose power law is known."""

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from training_folders import write_training

from alice.cli import main
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.scaling import Scaling
from alice.plugins.builtin.scaling.measure import frontier, power_law

MINI = {"d_model": 64, "n_layers": 4, "n_heads": 2, "d_mlp": 192}
SMALL = {"d_model": 128, "n_layers": 8, "n_heads": 4, "d_mlp": 384}
ROOT = Path(__file__).resolve().parents[3]
STEPS = (10, 20, 40, 80, 160, 320)


def law(flops_per_step, factor, exponent):
    """Return error rates that follow a power law of the operations."""
    return [(step, factor * (step * flops_per_step) ** exponent) for step in STEPS]


def write_sizes(folder):
    """Write two sizes on one law, 400 * FLOPs ** -0.5, the larger one with ten times the operations per step."""
    for name, model, cost in (("size-small", SMALL, 1e7), ("size-mini", MINI, 1e6)):
        errors = law(cost, 400, -0.5)
        write_training(folder / name, losses=[(320, 1.0)], errors=errors, flops_per_step=cost, model=model)
    return folder


@pytest.fixture(scope="module")
def trainings(tmp_path_factory):
    """The two sizes, to be read only."""
    return write_sizes(tmp_path_factory.mktemp("trainings"))


def run(*trainings, **options):
    return Scaling(trainings, **options).run(RunContext())


def names(result):
    return {metric.name for metric in result.metrics}


def test_the_exponent_is_recovered(trainings):
    result = run(trainings)
    headline = result.headline_metric()
    assert (headline.name, headline.value) == ("exponent", pytest.approx(-0.5))
    assert headline.error == pytest.approx(0, abs=1e-6)
    assert result.metric("fit-points").value == 12  # of two lines on one law, every point is a new lowest error
    assert "to the power -0.500 ± 0.000" in result.summary
    assert "Not comparable" not in " ".join(result.caveats)


def test_each_size_has_a_line_and_its_last_error_in_percent_smallest_first(trainings):
    result = run(trainings)
    drawn = result.figure("error-by-operations").figure
    assert [trace.name for trace in drawn.data[:2]] == ["mini (0.213M)", "small (1.7M)"]
    assert list(drawn.data[0].x) == [step * 1e6 for step in STEPS]
    assert list(drawn.data[0].y) == pytest.approx([100 * ser for _, ser in law(1e6, 400, -0.5)])
    assert drawn.layout.xaxis.type == drawn.layout.yaxis.type == "log"
    (power,) = [trace for trace in drawn.data if "power law" in trace.name]
    assert list(power.y) == pytest.approx([100 * 400 * x**-0.5 for x in power.x])
    mini, small = result.tables["sizes"].records()
    assert (mini["model"], mini["training"], mini["steps"], mini["flops"]) == ("mini", "size-mini", 320, 320e6)
    assert small["ser"] == small["lowest_ser"] == pytest.approx(100 * 400 * 320e7**-0.5)
    assert result.metric("ser", model="small").value == small["ser"]
    assert result.array("ser", model="small")[-1] == small["ser"]
    assert result.array("flops", model="mini").tolist() == [step * 1e6 for step in STEPS]


def test_only_the_lowest_error_for_its_operations_is_fitted(tmp_path):
    write_sizes(tmp_path)
    worse, model = law(3e6, 900, -0.2), MINI | {"d_mlp": 96}
    write_training(tmp_path / "worse", losses=[(320, 1.0)], errors=worse, flops_per_step=3e6, model=model)
    result = run(tmp_path)
    assert result.metric("exponent").value == pytest.approx(-0.5)
    assert len(result.figure("error-by-operations").figure.data) == 5  # three sizes, the law, the lowest errors


def test_a_slow_start_can_be_left_out(tmp_path):
    errors = [(step, 0.8) for step in (1, 2, 4)] + law(1e6, 400, -0.5)
    write_training(tmp_path / "one", losses=[(320, 1.0)], errors=errors, model=MINI)
    whole, part = (float(run(tmp_path, fit_below=limit).metric("exponent")) for limit in (100.0, 50.0))
    assert part == pytest.approx(-0.5)
    assert whole != pytest.approx(-0.5, abs=0.01)


def test_too_few_points_have_no_exponent(tmp_path):
    write_training(tmp_path / "one", losses=[(20, 1.0)], errors=[(10, 0.5), (20, 0.4)])
    result = run(tmp_path)
    assert names(result) == {"ser", "trainings"}
    assert "too few for a power law" in result.summary


def test_points_without_a_logarithm_are_not_fitted(tmp_path):
    errors = [(0, 0.9), *law(1e6, 400, -0.5), (640, 0.0)]
    write_training(tmp_path / "one", losses=[(640, 1.0)], errors=errors, flops_per_step=1e6, model=MINI)
    drawn = run(tmp_path).figure("error-by-operations").figure
    assert [list(trace.x) for trace in drawn.data if "power law" in trace.name] == [[10e6, 320e6]]


def test_trainings_that_share_a_name_or_a_size_are_told_apart(tmp_path):
    folders = [write_training(tmp_path / place / "one", losses=[(20, 1.0)]) for place in ("a", "b")]
    assert [row["model"] for row in run(*folders).tables["sizes"].records()] == ["one (1)", "one (2)"]
    # A training of another size that is called like a preset.
    write_training(tmp_path / "c" / "mini", losses=[(20, 1.0)], model=SMALL | {"d_mlp": 96})
    write_training(tmp_path / "c" / "other", losses=[(20, 1.0)], model=MINI)
    assert {row["model"] for row in run(tmp_path / "c").tables["sizes"].records()} == {"mini", "other"}


def test_a_training_that_was_not_measured_yet_has_no_line(tmp_path):
    write_training(tmp_path / "one", losses=[(20, 1.0)])
    result = run(tmp_path)
    assert "Nothing was measured yet" in result.summary
    assert names(result) == {"trainings"}


def test_the_papers_configurations_are_next_to_ours(trainings):
    rows = run(trainings).tables["configurations"].rows
    assert rows[0] == ("mini", "ours", 212992, 64, 4, 2, 192)
    assert ("85M", "paper", 84934656, 768, 12, 12, 2048) in rows
    assert sum(row[1] == "paper" for row in rows) == 6


def test_estimated_operations_and_other_recipes_are_named(tmp_path):
    write_sizes(tmp_path)
    write_training(tmp_path / "old", losses=[(320, 1.0)], errors=[(320, 0.5)], flops_per_step=None, lr=0.3, model=MINI)
    caveats = " ".join(run(tmp_path).caveats)
    assert "The log of old has no operation counts" in caveats
    assert "Not comparable" in caveats
    assert "differ in lr" in caveats


@pytest.mark.parametrize(("schedule", "comparable"), [("constant", True), ("cosine", False)])
def test_numbers_of_steps_may_differ_where_the_learning_rate_does_not_decay(tmp_path, schedule, comparable):
    for name, model, steps in (("mini", MINI, 320), ("small", SMALL, 160)):
        write_training(tmp_path / name, losses=[(steps, 1.0)], errors=[(steps, 0.5)], model=model, schedule=schedule)
    assert ("differ in steps" not in " ".join(run(tmp_path).caveats)) == comparable


def write_encodings(folder, errors, seeds=(0, 1, 2), model=MINI):
    """Write trainings whose last error is that of their encoding, and of their seed a percent more each."""
    for encoding, ser in errors.items():
        for seed in seeds:
            measured = [(10, 0.5), (20, ser + 0.01 * seed)]
            write_training(
                folder / f"{encoding}-{seed}", losses=[(20, 1.0)], errors=measured, seed=seed,
                model=model | {"relabel": encoding},
            )  # fmt: skip
    return folder


def test_encodings_are_compared_seed_by_seed(tmp_path):
    write_encodings(tmp_path, {"frequency": 0.25, "none": 0.3})
    # Minus those of none, 30, 31 and 32 %: -2, -5 and -8 points, of standard deviation 3.
    for seed, ser in enumerate((0.28, 0.26, 0.24)):
        folder, model = tmp_path / f"recurrence-{seed}", MINI | {"relabel": "recurrence"}
        write_training(folder, losses=[(20, 1.0)], errors=[(10, 0.5), (20, ser)], seed=seed, model=model)
    result = run(tmp_path)
    first, last, _ = [row for row in result.tables["encoding-differences"].records() if row["step"] == 20]
    assert (first["encoding"], first["reference"]) == ("frequency", "none")
    assert [first[name] for name in ("difference", "low", "high")] == pytest.approx([-5, -5, -5])
    half = 4.303 * 3 / 3**0.5  # Student's quantile with two degrees of freedom
    assert [last[name] for name in ("difference", "low", "high")] == pytest.approx([-5, -5 - half, -5 + half], rel=1e-3)
    assert result.metric("difference-from-none", model="frequency").value == pytest.approx(-5)
    assert result.metric("difference-from-none", model="recurrence").error == pytest.approx(3 / 3**0.5)
    ends = {row["encoding"]: row for row in result.tables["encodings"].records()}
    assert [ends["none"][name] for name in ("seeds", "ser", "lowest", "highest")] == pytest.approx([3, 31, 30, 32])
    assert "-5.00 percentage points (95 % interval -5.00 to -5.00), a difference" in result.summary
    assert "no difference that these seeds show" in result.summary
    assert "Not comparable" not in " ".join(result.caveats)
    drawn = result.figure("error-by-encoding").figure
    assert [trace.name for trace in drawn.data if trace.showlegend] == ["none", "frequency", "recurrence"]
    assert list(drawn.data[1].y) == pytest.approx([50, 26])


def test_one_seed_has_no_interval_and_other_recipes_are_not_compared(tmp_path):
    write_encodings(tmp_path / "one", {"none": 0.3, "frequency": 0.25}, seeds=[4])
    result = run(tmp_path / "one")
    assert result.tables["encoding-differences"].records()[-1]["low"] is None
    assert "without an interval" in result.summary
    write_training(tmp_path / "two" / "a", losses=[(20, 1.0)], errors=[(20, 0.3)], lr=0.1)
    write_training(tmp_path / "two" / "b", losses=[(20, 1.0)], errors=[(20, 0.3)], model={"relabel": "frequency"})
    other = run(tmp_path / "two")
    assert "encodings" not in other.tables
    assert "differ in relabel (none, frequency); lr" in " ".join(other.caveats)


def test_encodings_of_several_sizes_are_compared_size_by_size(tmp_path):
    for name, model in (("mini", MINI), ("small", SMALL)):
        write_encodings(tmp_path / name, {"none": 0.3, "recurrence": 0.3}, model=model)
    result = run(tmp_path / "mini", tmp_path / "small")
    assert result.metric("difference-from-none", model="small-recurrence").value == pytest.approx(0)
    assert {row["size"] for row in result.tables["encodings"].records()} == {"mini", "small"}


def test_the_shipped_trainings_give_the_differences_in_the_documentation():
    result = run(ROOT / "examples" / "encodings")
    page = (ROOT / "docs" / "analyses" / "scaling.md").read_text()
    last = [row for row in result.tables["encoding-differences"].records() if row["step"] == 2048]
    assert len(last) == 3
    for row in last:
        shown = f"{row['difference']:+.1f} | {row['low']:+.1f} to {row['high']:+.1f} |"
        assert f"| `{row['encoding']}` minus `{row['reference']}` | {shown}" in page
    assert "Not comparable" not in " ".join(result.caveats)


def test_trainings_without_renaming_are_reported_as_before(trainings):
    result = run(trainings)
    assert list(result.figures) == ["error-by-operations"]
    assert list(result.tables) == ["sizes", "configurations"]


@pytest.mark.parametrize("limit", [0, 101])
def test_a_limit_that_is_not_a_percentage_is_refused(limit):
    with pytest.raises(AliceError, match="not a SER in percent"):
        Scaling(fit_below=limit)


def test_without_trainings_it_says_how_to_make_some(monkeypatch):
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")
    result = CliRunner().invoke(main, ["run", "scaling"])
    assert result.exit_code == 1
    assert result.stderr == (
        "alice-interp: error: scaling needs --trainings; make some with: alice-interp sweep scaling --out DIR, "
        "or give bundled:sizes\n"
    )


def test_the_frontier_is_what_no_earlier_point_reaches():
    x = np.array([1.0, 2.0, 3.0, 2.0, 4.0, 5.0])
    y = np.array([0.9, 0.5, 0.6, 0.7, 0.4, 0.4])
    assert frontier(x, y).tolist() == [0, 1, 4]
    assert frontier(np.zeros(0), np.zeros(0)).tolist() == []


def test_a_power_law_is_recovered():
    x = np.logspace(6, 12, 9)
    found = power_law(x, 3 * x**-0.5)
    assert found is not None
    assert found.exponent == pytest.approx(-0.5)
    assert found.factor == pytest.approx(3)
    assert found.exponent_error == pytest.approx(0, abs=1e-6)
    assert found.r_squared == pytest.approx(1)
    assert found(x) == pytest.approx(3 * x**-0.5)


def test_the_error_of_an_exponent_grows_with_the_noise():
    x = np.logspace(6, 12, 50)
    rng = np.random.default_rng(0)
    found = [power_law(x, x**-0.5 * np.exp(rng.normal(scale=scale, size=50))) for scale in (0.01, 0.1)]
    assert found[0].exponent_error < found[1].exponent_error
    assert abs(found[1].exponent + 0.5) < 3 * found[1].exponent_error


def test_too_few_points_have_no_power_law():
    x = np.array([1.0, 10.0, 100.0, 1000.0])
    assert power_law(x, 1 / x) is not None
    assert power_law(x[:3], 1 / x[:3]) is None
    assert power_law(x, np.array([1.0, 0.1, 0.01, 0.0])) is None  # an error of zero has no logarithm
    assert power_law(np.ones(5), np.arange(1.0, 6.0)) is None
