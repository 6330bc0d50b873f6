"""Time of a training step in bf16 relative to one in fp32, which depends on whether the machine has bf16 units."""

from collections.abc import Iterator

import torch

from alice.bench.measuring import Ratio, batches, compare, one_core, take_turns
from alice.model import Alice
from alice.text import BatchLimit
from alice.training import Objective, model_config, optimizer
from alice.training.presets import recipe
from alice.training.setup import compile_blocks

PRESETS = ("mini", "small")


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare the whole step, with its optimizer, for the presets for CPUs."""
    given = batches(2000, BatchLimit())
    batch = max((one for one in given if 90 <= one.cipher_ids.shape[1] <= 110), key=len)
    note = f"{len(batch)} texts of {batch.cipher_ids.shape[1]} characters"
    for preset in PRESETS:
        model = Alice(model_config(preset)).train()
        compile_blocks(model)
        objective, steps = Objective(model), optimizer.build(model, recipe(preset))

        def step(bf16: bool, objective: Objective = objective, steps: torch.optim.Optimizer = steps) -> None:
            with torch.autocast("cpu", dtype=torch.bfloat16, enabled=bf16):
                losses = objective(batch.cipher_ids, batch.plain_ids)
            losses.sum().backward()
            steps.step()
            steps.zero_grad()

        with one_core():
            times = take_turns({"bf16": lambda: step(True), "fp32": lambda: step(False)}, rounds=5 if quick else 20)
        yield compare(f"preset {preset}", times, "bf16", "fp32", note=note)
