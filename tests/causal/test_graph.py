"""The edges of a model, counted and named by hand."""

import numpy as np
import pytest
from tiny import tiny

from alice.causal import Graph
from alice.checkpoint import bundled, read_config


@pytest.fixture
def graph():
    """The graph of two blocks with two heads each."""
    return Graph(tiny("base").config)


def circuit_of(graph, *labels):
    every = graph.labels(np.arange(len(graph)))
    chosen = np.isin(every, labels)
    assert chosen.sum() == len(labels)
    return chosen


def test_small_has_1997_edges():
    assert len(Graph(read_config(bundled()["base"]))) == 1997


def test_every_writer_has_an_edge_to_each_later_reader_and_to_no_other(graph):
    assert graph.writers == ("embedding", "L0H0", "L0H1", "L0 MLP", "L1H0", "L1H1", "L1 MLP")
    # Each input of a head of block 0 reads the embedding, its MLP also the two heads, and so on.
    assert [graph.before(reader) for reader in graph.readers] == [1] * 6 + [3] + [4] * 6 + [6] + [7]
    assert len(graph) == 6 + 3 + 24 + 6 + 7
    assert graph.labels([0, 6, len(graph) - 1]) == ["embedding → L0H0 q", "embedding → L0 MLP", "L1 MLP → output"]
    assert [tuple(edge) for edge in graph.edges[6:9]] == [(0, 6), (1, 6), (2, 6)]


def test_edges_without_a_path_from_the_embedding_to_the_output_are_not_connected(graph):
    path = circuit_of(graph, "embedding → L0H1 v", "L0H1 → L1 MLP", "L1 MLP → output")
    stray = circuit_of(graph, "embedding → L0H0 q", "L1H0 → output", "L0H1 → L1H1 k")
    np.testing.assert_array_equal(graph.connected(path | stray), path)
    assert not graph.connected(stray).any()
    everything = np.ones(len(graph), dtype=bool)
    np.testing.assert_array_equal(graph.connected(everything), everything)
