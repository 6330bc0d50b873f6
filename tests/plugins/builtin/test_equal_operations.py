"""Sizes at equal operations against error rates whose law is known."""

import json
import shutil

import numpy as np
import pytest
from training_folders import write_training

from alice.model import ModelConfig
from alice.plugins import RunContext
from alice.plugins.builtin.scaling import Scaling
from alice.plugins.builtin.scaling.equal_operations import fit, paper_flops, paper_model
from alice.training.presets import CPU_SIZES, PAPER_SIZES

SIZES = {name: vars(size) for name, size in (CPU_SIZES | PAPER_SIZES).items() if name in ("mini", "0.5m", "small")}


def weights_of(name):
    return ModelConfig(**SIZES[name]).block_weights


def write_sizes(folder, size, compute, seeds=(0, 1, 2), turned=1):
    """Write trainings of three sizes on a law to different operations, with seeds a little above or below it.

    With `turned` = -1, seeds that are above for the other sizes are below for the largest.
    """
    for name, per_step in (("mini", 1e8), ("0.5m", 2e8), ("small", 8e8)):
        for seed in seeds:
            side = turned if name == "small" else 1
            scale = 2e4 * (1 + 0.02 * side * (seed - 1)) * weights_of(name) ** -size
            errors = [(step, scale * (step * per_step) ** -compute) for step in (100, 200, 400, 800, 1600, 3200)]
            write_training(
                folder / f"{name}-seed-{seed}", losses=[(3200, 1.0)], errors=errors, flops_per_step=per_step,
                model=SIZES[name], seed=seed,
            )  # fmt: skip
    return folder


def run(folder):
    return Scaling((folder,)).run(RunContext())


def test_the_exponents_of_a_law_are_recovered(tmp_path):
    result = run(write_sizes(tmp_path, 0.2, 0.3))
    size, compute = result.metric("size-exponent"), result.metric("operations-exponent")
    assert size.value == pytest.approx(-0.2, abs=1e-3)
    assert compute.value == pytest.approx(-0.3, abs=1e-3)
    rows = result.tables["equal-operations"].records()
    assert [row["model"] for row in rows] == ["mini", "0.5m", "small"]
    assert {row["flops"] for row in rows} == {3.2e11}  # what the smallest one has spent
    mean = 100 * 2e4 * weights_of("small") ** -0.2 * 3.2e11**-0.3
    assert rows[-1]["ser"] == pytest.approx(mean, rel=1e-3)
    assert rows[-1]["low"] < rows[-1]["ser"] < rows[-1]["high"]


def test_the_prediction_is_what_the_law_says_of_the_papers_model(tmp_path):
    result = run(write_sizes(tmp_path, 0.2, 0.3))
    found = result.metric("predicted-ser")
    assert found.value == pytest.approx(
        100 * 2e4 * paper_model().block_weights ** -0.2 * paper_flops() ** -0.3, rel=0.01
    )
    assert found.interval[0] < found.value < found.interval[1]
    assert "Extrapolated to the paper's 85M" in result.summary
    assert any("extrapolation" in caveat for caveat in result.caveats)


@pytest.mark.parametrize(("size", "verdict"), [(0.2, "the larger model wins"), (-0.2, "the larger model does not win")])
def test_it_says_which_size_wins_at_equal_operations(tmp_path, size, verdict):
    assert verdict in run(write_sizes(tmp_path, size, 0.3)).summary


def test_the_summary_does_not_say_that_an_error_falls_with_weights_that_raise_it(tmp_path):
    summary = run(write_sizes(tmp_path, -0.2, 0.3)).summary
    assert "goes as the weights to the power 0.2 " in summary
    assert "falls as the weights" not in summary


def test_a_law_predicts_a_size_that_it_was_not_fitted_to(tmp_path):
    result = run(write_sizes(tmp_path, 0.2, 0.3))
    held_out, measured = result.metric("held-out-ser"), result.tables["equal-operations"].records()[-1]
    assert held_out.value == pytest.approx(measured["ser"], rel=1e-3)
    assert held_out.interval[0] < held_out.value < held_out.interval[1]
    assert result.metric("law-misfit").value == pytest.approx(1, abs=1e-3)


def test_the_summary_says_that_a_size_is_far_from_the_law_of_the_others(tmp_path):
    write_sizes(tmp_path, -0.2, 0.3)
    for log in tmp_path.glob("small-*/metrics.jsonl"):  # where it follows no such law: a third of the errors
        rows = [json.loads(line) for line in log.read_text().splitlines()]
        for row in rows:
            row |= {"ser": {"all": row["ser"]["all"] / 3}} if "ser" in row else {}
        log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    result = run(tmp_path)
    measured = result.tables["equal-operations"].records()[-1]["ser"]
    assert result.metric("held-out-ser").value == pytest.approx(3 * measured, rel=1e-3)
    assert result.metric("law-misfit").value > 1.2
    assert f"fitted without small, it predicts {3 * measured:.3g}" in result.summary


def test_two_sizes_predict_no_third(tmp_path):
    write_sizes(tmp_path, 0.2, 0.3)
    for folder in tmp_path.glob("0.5m-*"):
        shutil.rmtree(folder)
    result = run(tmp_path)
    assert "held-out-ser" not in [metric.name for metric in result.metrics]
    assert "fitted without" not in result.summary


def test_trainings_of_one_size_have_one_colour(tmp_path):
    drawn = run(write_sizes(tmp_path, 0.2, 0.3)).figure("error-by-operations").figure
    styles = [(trace.line.color, trace.line.dash) for trace in drawn.data[:9]]
    assert len({color for color, _ in styles}) == 3
    assert all(len({color for color, _ in styles[first : first + 3]}) == 1 for first in (0, 3, 6))
    assert len(set(styles)) == 9


def test_seeds_that_disagree_decide_nothing(tmp_path):
    assert "do not decide" in run(write_sizes(tmp_path, 0.0, 0.3, turned=-1)).summary


def test_one_seed_has_no_interval(tmp_path):
    result = run(write_sizes(tmp_path, 0.2, 0.3, seeds=(1,)))
    assert result.metric("size-exponent").interval is None
    assert "needs a second seed" in result.summary


def test_one_size_is_not_compared(tmp_path):
    write_training(tmp_path / "mini", losses=[(10, 1.0)], errors=[(10, 0.5), (20, 0.4)], model=SIZES["mini"])
    result = run(tmp_path)
    assert "equal-operations" not in result.tables
    assert "size-exponent" not in [metric.name for metric in result.metrics]


def test_a_law_without_noise_is_fitted_exactly():
    weights, flops = np.array([1e5, 1e6]), np.array([1e10, 1e11, 1e12])
    ser = 3 * weights[:, None, None] ** -0.1 * flops[None, None] ** -0.05
    law = fit(weights, flops, np.repeat(ser, 2, axis=1))
    assert (law.factor, law.size, law.compute) == pytest.approx((3, 0.1, 0.05))


def test_a_size_that_was_measured_too_late_is_named_instead_of_compared(tmp_path):
    write_sizes(tmp_path, 0.2, 0.3)
    log = tmp_path / "small-seed-1" / "metrics.jsonl"
    late = [line for line in log.read_text().splitlines() if json.loads(line)["step"] >= 400]
    log.write_text("".join(f"{line}\n" for line in late))
    result = run(tmp_path)
    assert "equal-operations" not in result.tables
    (said,) = [caveat for caveat in result.caveats if "not compared at equal operations" in caveat]
    assert "small-seed-1 had spent more than a 4th" in said
    assert "small-seed-0" not in said


def test_sizes_without_a_common_seed_are_not_compared_and_the_report_says_so(tmp_path):
    write_sizes(tmp_path, 0.2, 0.3, seeds=(0,))
    other = write_sizes(tmp_path / "more", 0.2, 0.3, seeds=(1,))
    shutil.rmtree(tmp_path / "small-seed-0")
    for name in ("mini", "0.5m"):
        shutil.rmtree(other / f"{name}-seed-1")
    result = Scaling((tmp_path, other)).run(RunContext())
    assert any("no seed was used for all sizes" in caveat for caveat in result.caveats)


def test_a_second_training_of_a_size_and_seed_is_named_and_does_not_count(tmp_path):
    wanted = run(write_sizes(tmp_path, 0.2, 0.3)).tables["equal-operations"].records()
    worse = [(step, 0.9) for step in (100, 200, 400, 800, 1600, 3200)]
    where = tmp_path / "small-seed-1-worse"
    write_training(where, losses=[(3200, 1.0)], errors=worse, flops_per_step=8e8, model=SIZES["small"], seed=1)
    result = run(tmp_path)
    assert result.tables["equal-operations"].records() == wanted
    assert any("of another training: small-seed-1-worse." in caveat for caveat in result.caveats)


@pytest.mark.parametrize(("schedule", "warned"), [("constant", False), ("wsd", True)])
def test_a_decaying_learning_rate_makes_the_comparison_unfair(tmp_path, schedule, warned):
    for name, per_step in (("mini", 1e8), ("small", 8e8)):
        errors = [(step, (step * per_step) ** -0.02) for step in (100, 200, 400, 800, 1600, 3200)]
        write_training(
            tmp_path / name, losses=[(3200, 1.0)], errors=errors, flops_per_step=per_step, model=SIZES[name],
            schedule=schedule,
        )  # fmt: skip
    assert any("favours the trainings that end there" in caveat for caveat in run(tmp_path).caveats) == warned


def test_the_summary_tells_sizes_rather_than_seeds_and_writes_large_factors_out(tmp_path):
    summary = run(write_sizes(tmp_path, 0.2, 0.3)).summary
    assert "mini-seed-0, mini-seed-1, mini-seed-2 (0.213M) end at " in summary
    assert summary.count("% after") == 3
    assert f"and {float(f'{paper_flops() / 3.2e11:.2g}'):,.0f} times the operations" in summary
