"""The share of a core's matrix speed that solving reaches: FLOP/s of the model / FLOP/s of its matrix products alone.

The model's operations are its matrix products, including those of attention. The products alone have the same shapes as
in the model, batch by batch, without attention.
"""

from collections.abc import Iterator

import torch

from alice.bench.measuring import Products, Ratio, batches, compare, flops, forward_shapes, one_core, take_turns
from alice.model import Alice, forward_flops
from alice.training import model_config


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare over many texts, in the batches that `solve` makes."""
    count = 200 if quick else 500
    model = Alice(model_config("small")).eval()
    given = [batch.cipher_ids for batch in batches(count)]
    shapes = [shape for ids in given for shape in forward_shapes(model.config, ids.numel())]
    products = Products(shapes)

    def solve() -> None:
        for ids in given:
            model.decode_symbols(model.resid(ids), ids, soft=False).argmax(-1)

    with one_core(), torch.inference_mode():
        times = take_turns({"products": products, "solving": solve}, rounds=3 if quick else 7)
    pairs = sum(ids.numel() * ids.shape[1] for ids in given)
    work = forward_flops(model.config, sum(ids.numel() for ids in given), pairs) / flops(shapes)
    yield compare(f"{count:,} texts, preset small", times, "products", "solving", factor=work)
