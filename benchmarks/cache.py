"""The cost of keeping the residual streams: `run_with_cache` compared with a plain forward pass."""

from collections.abc import Iterator

import torch

from alice.bench.measuring import Ratio, compare, one_core, take_turns
from alice.model import Alice
from alice.training import model_config

STREAMS = ("blocks.*.hook_resid_pre", "blocks.*.hook_resid_mid", "blocks.*.hook_resid_post")
SHAPE = (40, 100)


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare on one batch of typical size."""
    model = Alice(model_config("small")).eval()
    ids = torch.randint(1, model.config.d_vocab, SHAPE)
    names = model.match_hooks(*STREAMS)
    with one_core(), torch.inference_mode():
        contestants = {
            "cached": lambda: model.run_with_cache(ids, names_filter=names),
            "forward": lambda: model(ids),
        }
        times = take_turns(contestants, rounds=10 if quick else 60)
    yield compare(f"{SHAPE[0]} texts of {SHAPE[1]} characters, {len(names)} hooks", times, "cached", "forward")
