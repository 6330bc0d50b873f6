"""The model as a graph: what writes to the residual stream, what reads it, and the edges between the two.

The embedding, the heads and the feed-forward layers write; the query, key and value inputs of each head, the inputs of
the feed-forward layers and the output read. There is an edge from each writer to every reader that comes after it.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from alice.causal.parts import Part, parts_of
from alice.model import ModelConfig
from alice.statistics import Ints

Input = Literal["q", "k", "v", "mlp", "output"]
HEAD_INPUTS: tuple[Input, ...] = ("q", "k", "v")
EMBEDDING, OUTPUT = "embedding", "output"
Chosen = NDArray[np.bool_]
"""Which edges belong to a circuit, (edge,)."""


@dataclass(frozen=True)
class Reader:
    """One input of a node."""

    input: Input
    """Which input it is."""
    part: Part | None
    """The head or feed-forward layer that it belongs to; None for the output."""

    @property
    def node(self) -> str:
        """Label of the node that reads, such as `L3H1`."""
        return OUTPUT if self.part is None else self.part.label

    @property
    def label(self) -> str:
        """Its name, such as `L3H1 q`, `L3 MLP` or `output`."""
        return f"{self.node} {self.input}" if self.input in HEAD_INPUTS else self.node


class Graph:
    """Writers, readers and the edges between them, for a number of blocks and heads."""

    def __init__(self, config: ModelConfig) -> None:
        self.n_layers, self.n_heads = config.n_layers, config.n_heads
        self.parts = parts_of(config)
        self.writers: tuple[str, ...] = (EMBEDDING, *(part.label for part in self.parts))
        """Label of each writer, in the order of computation."""
        self.readers: tuple[Reader, ...] = (
            *(
                Reader(name, part)
                for part in self.parts
                for name in (HEAD_INPUTS if part.head is not None else ("mlp",))
            ),
            Reader("output", None),
        )
        """Every input, in the order of computation; those of a head are next to each other."""
        before = np.array([self.before(reader) for reader in self.readers])
        found = np.argwhere(np.arange(len(self.writers)) < before[:, None])
        self.edges: Ints = found[:, ::-1].astype(np.int64)
        """Numbers of the writer and the reader of each edge, (edge, 2), sorted by reader."""

    def __len__(self) -> int:
        return len(self.edges)

    def before(self, reader: Reader) -> int:
        """Return how many writers come before a reader; these are the first ones."""
        if reader.part is None:
            return len(self.writers)
        earlier = 1 + reader.part.block * (self.n_heads + 1)
        return earlier if reader.part.head is not None else earlier + self.n_heads

    def block(self, reader: Reader) -> int:
        """Return the block of a reader; for the output, the number of blocks."""
        return self.n_layers if reader.part is None else reader.part.block

    def labels(self, edges: Sequence[int] | Ints) -> list[str]:
        """Return the names of edges, such as `L0H1 → L3H2 q`."""
        return [f"{self.writers[writer]} → {self.readers[reader].label}" for writer, reader in self.edges[edges]]

    def matrix(self, chosen: Chosen) -> Chosen:
        """Return which edges are chosen as a table, (writer, reader)."""
        table = np.zeros((len(self.writers), len(self.readers)), dtype=np.bool_)
        table[tuple(self.edges[chosen].T)] = True
        return table

    @cached_property
    def _owners(self) -> Ints:
        """Number of the node of each reader, counted as writers are, with the output as the last one, (reader,)."""
        numbers = {label: number for number, label in enumerate((*self.writers, OUTPUT))}
        return np.array([numbers[reader.node] for reader in self.readers])

    def connected(self, chosen: Chosen) -> Chosen:
        """Return the chosen edges that lie on a path from the embedding to the output.

        The others do nothing: a node without chosen inputs computes its corrupted output, so that its edges change
        nothing, and what a node without chosen outputs computes is not read.
        """
        writer, owner = self.edges[:, 0], self._owners[self.edges[:, 1]]
        nodes = len(self.writers) + 1
        reached, useful = np.zeros(nodes, np.bool_), np.zeros(nodes, np.bool_)
        reached[0] = useful[-1] = True
        for node in range(1, nodes):
            reached[node] = reached[writer[chosen & (owner == node)]].any()
        for node in range(nodes - 2, -1, -1):
            useful[node] = useful[owner[chosen & (writer == node)]].any()
        return chosen & reached[writer] & useful[owner]
