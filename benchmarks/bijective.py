"""What it costs to answer with a permutation: the bijective head against the base one on the same backbone."""

from collections.abc import Iterator

import torch

from alice.bench.ratio import Ratio
from alice.bench.texts import batches
from alice.bench.timing import compared, one_core, take_turns
from alice.model import Alice
from alice.training.presets import model_config


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare over many texts."""
    count = 200 if quick else 500
    given = [batch.cipher_ids for batch in batches(count)]
    models = {variant: Alice(model_config("small", variant)).eval() for variant in ("base", "bijective")}
    shared = models["base"].state_dict()
    models["bijective"].load_state_dict(shared, strict=False)

    def solve(model: Alice) -> None:
        for ids in given:
            model.decode_symbols(model.resid(ids), ids, soft=False).argmax(-1)

    with one_core(), torch.inference_mode():
        contestants = {name: lambda model=model: solve(model) for name, model in models.items()}
        times = take_turns(contestants, rounds=3 if quick else 7)
    note = "the paper, of its own models: 8.6 on a GPU, 1.16 on a core of a CPU"
    yield compared(f"{count:,} texts, preset small", times, "bijective", "base", note=note)
