"""Speed of a training step relative to its matrix products alone, including the backward pass and the optimizer."""

from collections.abc import Iterator

from alice.bench.measuring import Products, Ratio, batches, compare, flops, one_core, take_turns, training_shapes
from alice.model import Alice, training_flops
from alice.text import Batch, BatchLimit
from alice.training import Objective, model_config, optimizer
from alice.training.presets import CPU_SIZES, recipe
from alice.training.setup import compile_blocks


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare for the presets for CPUs, each with its own optimizer."""
    given = batches(2000, BatchLimit())
    batch = max((one for one in given if 90 <= one.cipher_ids.shape[1] <= 110), key=len)
    for preset in CPU_SIZES:
        yield _share(preset, batch, rounds=5 if quick else 20, padding=given.padding)


def _share(preset: str, batch: Batch, *, rounds: int, padding: float) -> Ratio:
    config = model_config(preset)
    model = Alice(config).train()
    compile_blocks(model)
    objective, steps = Objective(model), optimizer.build(model, recipe(preset))
    tokens, length = batch.cipher_ids.numel(), batch.cipher_ids.shape[1]
    shapes = training_shapes(config, tokens)

    def step() -> None:
        objective(batch.cipher_ids, batch.plain_ids).sum().backward()
        steps.step()
        steps.zero_grad()

    with one_core():
        times = take_turns({"products": Products(shapes), "step": step}, rounds=rounds)
    work = training_flops(config, tokens, tokens * length) / flops(shapes)
    note = f"{len(batch)} texts of {length} characters; {100 * padding:.1f} % padding over all batches"
    return compare(f"preset {preset}", times, "products", "step", factor=work, note=note)
