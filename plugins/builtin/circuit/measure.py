"""Scores every edge on one half of the texts, and tests the circuits that follow from the scores on the other half."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor

from alice.causal import Recovered, recovered, symbol_errors
from alice.errors import AliceError
from alice.plugins.builtin.circuit.contrasts import Contrasts
from alice.plugins.builtin.circuit.faithfulness import areas, best, circuit_stream, sizes
from alice.plugins.builtin.circuit.graph import Chosen, Graph
from alice.plugins.builtin.circuit.nodes import Contrast
from alice.plugins.builtin.circuit.scores import eap, eap_ig_activations, eap_ig_inputs, exact
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints

EXACT, RANDOM = "exact", "random"
Interval = tuple[float, float, float]
"""A number with the lower and the upper end of its interval."""


def exact_effects(ctx: RunContext, contrasts: Contrasts, options: Mapping[str, str]) -> Floats:
    """Return the effect of every edge by patching it, (text, edge); an interrupted run continues where it stopped."""
    pieces, graph = ctx.resumable("circuit-exact", options), contrasts.graph
    jobs = [(batch, block) for batch in range(len(contrasts)) for block in range(graph.n_layers + 1)]
    found: dict[int, list[Floats]] = {}
    open_batch, there = -1, None
    for batch, block in ctx.progress(jobs, "Patching every edge"):
        if batch != open_batch:
            open_batch, there = batch, contrasts[batch]
        if there is not None:
            part = pieces.array(f"batch-{batch}-block-{block}", partial(_exact_block, there, block))
            found.setdefault(batch, []).append(part)
    return np.concatenate([np.concatenate(parts, axis=1) for parts in found.values()])


def _exact_block(contrast: Contrast, block: int) -> Floats:
    """Return the effects of all edges into the readers of a block, or into the output, (batch, edge)."""
    readers = [reader for reader in contrast.graph.readers if contrast.graph.block(reader) == block]
    return torch.cat([exact(contrast, reader) for reader in readers], 1).double().cpu().numpy()
