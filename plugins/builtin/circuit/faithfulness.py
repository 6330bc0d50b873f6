"""How much of the score a circuit keeps: runs in which only chosen edges carry clean values, and areas under curves."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alice.causal import HEAD_INPUTS, Chosen, Input
from alice.plugins.builtin.circuit.nodes import Contrast, HookList, head_outputs, reading_heads
from alice.statistics import Floats, Ints

PERCENTS = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)
"""Sizes of the circuits on a curve, in percent of the edges."""


def sizes(edges: int) -> Ints:
    """Return the number of edges of each circuit on a curve, at least one, (size,)."""
    return np.maximum(1, np.rint(np.array(PERCENTS) / 100 * edges)).astype(np.int64)


def areas(f: Floats) -> tuple[Floats, Floats]:
    """Return CPR and CMD of curves f, (..., size): the areas under f and under |1 - f| over the share of the edges.

    Both use the trapezoidal rule between the sizes in `PERCENTS`, from 0.1 % to 100 % of the edges.
    """
    share = np.array(PERCENTS) / 100
    under, apart = (np.asarray(np.trapezoid(curve, share, axis=-1), np.float64) for curve in (f, np.abs(1 - f)))
    return under, apart


@torch.no_grad()
def circuit_stream(contrast: Contrast, chosen: Chosen) -> Tensor:
    """Return what the output reads when only the chosen edges are clean, (batch, pos, d_model).

    Each reader gets what its writers compute in this run along chosen edges, and their corrupted outputs along all
    others. The embedding writes what it does for the clean text.
    """
    model, run = contrast.model, _CircuitRun(contrast, chosen)
    with model.hooks(fwd_hooks=[*reading_heads(model, run.inputs), *run.hooks()]):
        model.resid(contrast.ids, stream=contrast.clean[0])
    (final,) = run.read(len(contrast.clean), slice(-1, None))
    return final


class _CircuitRun:
    """What the nodes have written so far in the run of a circuit."""

    def __init__(self, contrast: Contrast, chosen: Chosen) -> None:
        corrupted = contrast.corrupted
        self.contrast = contrast
        self.kept = torch.from_numpy(contrast.graph.matrix(chosen)).to(corrupted)  # (writer, reader)
        self.change = torch.zeros_like(contrast.clean)  # output of each writer in this run minus the corrupted one
        self.change[0] = contrast.clean[0] - corrupted[0]

    def read(self, writers: int, readers: slice) -> Tensor:
        """Return what some readers after the first `writers` read, (reader, batch, pos, d_model)."""
        kept = self.kept[:writers, readers]
        return torch.tensordot(kept.T, self.change[:writers], 1) + self.contrast.corrupted_streams[writers - 1]

    def inputs(self, block: int, name: Input, stream: Tensor) -> Tensor:
        """Return what the heads of a block read as queries, keys or values, (batch, pos, head, d_model)."""
        first = block * (3 * self.contrast.graph.n_heads + 1)
        readers = slice(first + HEAD_INPUTS.index(name), first + 3 * self.contrast.graph.n_heads, 3)
        return self.read(self._writers(block), readers).permute(1, 2, 0, 3)

    def hooks(self) -> HookList:
        """Return hooks that give the feed-forward layers their inputs and keep what every node writes."""
        return [hook for block in range(self.contrast.graph.n_layers) for hook in self._block_hooks(block)]

    def _writers(self, block: int) -> int:
        return 1 + block * (self.contrast.graph.n_heads + 1)

    def _block_hooks(self, block: int) -> HookList:
        heads = self._writers(block)
        mlp = heads + self.contrast.graph.n_heads
        reader = (block + 1) * (3 * self.contrast.graph.n_heads + 1) - 1

        def keep_heads(z: Tensor, hook: Any) -> None:
            written = head_outputs(self.contrast.model, block, z)
            self.change[heads:mlp] = written - self.contrast.corrupted[heads:mlp]

        def give_input(activation: Tensor, hook: Any) -> Tensor:
            # The stream itself is not used after this: every later reader is given its own input.
            return self.read(mlp, slice(reader, reader + 1))[0]

        def keep_mlp(activation: Tensor, hook: Any) -> None:
            self.change[mlp] = activation - self.contrast.corrupted[mlp]

        functions: list[tuple[str, Callable[..., Any]]] = [
            ("attn.hook_z", keep_heads),
            ("hook_resid_mid", give_input),
            ("hook_mlp_out", keep_mlp),
        ]
        return [(f"blocks.{block}.{name}", function) for name, function in functions]
