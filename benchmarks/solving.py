"""How much of a core's matrix speed solving uses: the model's operations in a second over those of its products alone.

Only products count as the model's operations, those of attention included. The products alone have the model's own
shapes, batch by batch.
"""

from collections.abc import Iterator

import torch

from alice.bench.products import Products, flops, forward_shapes
from alice.bench.ratio import Ratio
from alice.bench.texts import batches
from alice.bench.timing import compared, one_core, take_turns
from alice.model import Alice
from alice.model.flops import forward_flops
from alice.training.presets import model_config


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
    yield compared(f"{count:,} texts, preset small", times, "products", "solving", factor=work)
