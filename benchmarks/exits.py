"""The cost of early exit at every layer: one pass with all exits decoded, compared with a plain forward pass."""

from collections.abc import Iterator

import torch

from alice.bench.measuring import Ratio, compare, one_core, take_turns
from alice.plugins import RunContext
from alice.plugins.builtin.early_exit.measure import measure as read_exits


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare for the bundled base and bijective models."""
    count = 100 if quick else 300
    for name in ("base", "bijective"):
        ctx = RunContext.open(name, samples=count, device="cpu")
        with one_core():
            contestants = {"exits": lambda c=ctx: read_exits(c, ()), "forward": lambda c=ctx: _forward(c)}
            times = take_turns(contestants, rounds=3 if quick else 7)
        yield compare(f"{name}, {count} texts", times, "exits", "forward")


@torch.inference_mode()
def _forward(ctx: RunContext) -> None:
    for batch in ctx.batches:
        ctx.model(batch.cipher_ids)
