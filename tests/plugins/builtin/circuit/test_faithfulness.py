"""Runs of circuits whose result is known, and areas under known curves."""

import numpy as np
import pytest
import torch
from contrasts_of import contrast_of

from alice.plugins.builtin.circuit.faithfulness import PERCENTS, areas, circuit_stream, sizes


@pytest.mark.parametrize("replacement", ["resample", "mean", "zero"])
def test_all_edges_give_the_clean_run_and_none_the_corrupted_run(model, replacement):
    contrast = contrast_of(model, replacement)
    every = np.ones(len(contrast.graph), dtype=bool)
    mask = contrast.batch.mask
    torch.testing.assert_close(circuit_stream(contrast, every)[mask], model.resid(contrast.ids)[mask].detach())
    torch.testing.assert_close(circuit_stream(contrast, ~every), contrast.corrupted.sum(0), atol=1e-5, rtol=1e-5)


def test_edges_off_every_path_change_nothing(base):
    contrast = contrast_of(base)
    rng = np.random.default_rng(0)
    lost = 0
    for _ in range(8):
        chosen = rng.random(len(contrast.graph)) < 0.3
        connected = contrast.graph.connected(chosen)
        lost += int((chosen & ~connected).sum())
        torch.testing.assert_close(circuit_stream(contrast, chosen), circuit_stream(contrast, connected))
    assert lost


def test_an_edge_carries_only_what_its_own_reader_reads(base):
    contrast = contrast_of(base)
    direct = np.array(
        [label == "embedding → output" for label in contrast.graph.labels(np.arange(len(contrast.graph)))]
    )
    expected = contrast.corrupted.sum(0) - contrast.corrupted[0] + contrast.clean[0]
    torch.testing.assert_close(circuit_stream(contrast, direct), expected, atol=1e-5, rtol=1e-5)


def test_sizes_follow_the_percentages_and_are_at_least_one():
    assert sizes(1997).tolist() == [2, 4, 10, 20, 40, 100, 200, 399, 998, 1997]
    assert sizes(46).tolist() == [1, 1, 1, 1, 1, 2, 5, 9, 23, 46]


def test_areas_of_known_curves():
    share = np.array(PERCENTS) / 100
    cpr, cmd = areas(np.stack([np.ones(len(share)), share, 2 - share]))
    np.testing.assert_allclose(cpr, [0.999, 0.5 - 0.001**2 / 2, 2 * 0.999 - 0.5 + 0.001**2 / 2])
    np.testing.assert_allclose(cmd, [0, 0.999**2 / 2, 0.999**2 / 2])
