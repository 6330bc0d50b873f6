"""What the benchmarks are made of: timing by turns, matrix products, the plain model, peak memory."""

import subprocess
import sys

import pytest
import torch
from tiny import tiny

from alice.bench.hooks import PlainAlice
from alice.bench.measuring import Products, compare, flops, forward_shapes, take_turns, training_shapes
from alice.bench.memory import peak_of_this_process
from alice.model.flops import forward_flops, training_flops


def test_contestants_take_turns_and_the_first_round_does_not_count():
    turns = []
    times = take_turns({"a": lambda: turns.append("a"), "b": lambda: turns.append("b")}, rounds=3)
    assert turns == ["a", "b"] * 4
    assert [len(times["a"]), len(times["b"])] == [3, 3]


def test_a_ratio_is_the_median_over_the_rounds_with_its_quartiles():
    times = {"a": [1.0, 2.0, 3.0, 4.0, 50.0], "b": [1.0] * 5}
    found = compare("case", times, "a", "b", factor=2.0)
    assert (found.low, found.value, found.high) == (4.0, 6.0, 8.0)


def test_the_products_have_the_flops_of_the_model_without_attention():
    config = tiny("base").config
    tokens = 50
    assert config.n_layers * flops(forward_shapes(config, tokens)) == forward_flops(config, tokens, 0)
    assert config.n_layers * flops(training_shapes(config, tokens)) == training_flops(config, tokens, 0)
    Products(training_shapes(config, tokens))()


@pytest.mark.parametrize("padded", [False, True])
def test_the_plain_model_computes_the_same_as_the_hooked_one(padded):
    model = tiny("base")
    ids = torch.randint(1, model.config.d_vocab, (3, 20), generator=torch.Generator().manual_seed(1))
    if padded:
        ids[0, 15:] = 0
    found, expected = PlainAlice(model).eval()(ids), model(ids)
    torch.testing.assert_close(found[ids != 0], expected[ids != 0], rtol=1e-4, atol=1e-5)


def test_the_peak_memory_of_a_child_process_does_not_include_its_parent():
    parent = peak_of_this_process()  # which has imported torch
    script = "from alice.bench.memory import peak_of_this_process; print(peak_of_this_process())"
    child = int(subprocess.run([sys.executable, "-c", script], check=True, capture_output=True).stdout)
    assert 1_000 < child < parent / 2
