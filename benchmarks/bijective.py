"""The cost of a permutation as the answer: the bijective head compared with the base head on the same backbone."""

from collections.abc import Iterator

import torch

from alice.bench.measuring import Ratio, batches, compare, one_core, take_turns
from alice.model import Alice
from alice.training import model_config


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
    note = "the paper reports 8.6 on a GPU and 1.16 on a CPU core for its models"
    yield compare(f"{count:,} texts, preset small", times, "bijective", "base", note=note)
