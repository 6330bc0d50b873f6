"""The control for what an architecture alone gives: the same model with random weights."""

from dataclasses import replace

import torch

from alice.model import Alice
from alice.plugins.context import RunContext
from alice.plugins.context.models import NamedModel


def random_twin(ctx: RunContext, draw: int = 0) -> RunContext:
    """Return the context with an untrained model of the same configuration, initialized from the seed plus `draw`."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(ctx.seed + draw)
        model = Alice(ctx.model.config).to(ctx.device).eval()
    return replace(ctx, named_model=NamedModel(f"{ctx.checkpoint} (random weights)", model), others=())
