"""Sizes at equal operations against error rates whose law is known."""

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
