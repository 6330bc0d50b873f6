"""What early exit at every layer costs: one pass with all exits decoded against one plain forward pass.

python benchmarks/exits.py [CHECKPOINT]
"""

import sys

import torch
from timing import ratio, take_turns

from alice.model import Alice
from alice.plugins import RunContext
from alice.plugins.builtin.exits import measure
from alice.presets import model_config

TARGET, TEXTS = 1.3, 300


def forward(ctx: RunContext) -> None:
    """Read every text once."""
    with torch.inference_mode():
        for batch in ctx.batches:
            ctx.model(batch.cipher_ids)


def main() -> None:
    """Print the ratio for a checkpoint, or for untrained models of two variants."""
    torch.set_num_threads(1)
    models = sys.argv[1:] or [Alice(model_config("small", variant)).eval() for variant in ("base", "bijective")]
    for model in models:
        ctx = RunContext.open(model, samples=TEXTS)
        times = take_turns({"exits": lambda c=ctx: measure(c, ()), "forward": lambda c=ctx: forward(c)}, rounds=5)
        found = ratio(times, "exits", "forward")
        print(f"{ctx.checkpoint:<10} all exits / one forward pass: {found:.2f}   target <= {TARGET}")


if __name__ == "__main__":
    main()
