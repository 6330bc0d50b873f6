"""What batches of similar length save: against texts taken as they come, so many at a time, padded to the longest."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from alice.bench.ratio import Ratio
from alice.bench.texts import batches, first_texts
from alice.bench.timing import compared, one_core, take_turns
from alice.model import Alice
from alice.text.alphabet import ENGLISH
from alice.text.batches import EncodedTexts
from alice.training.presets import model_config

AT_A_TIME = 32


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare over texts of all lengths that the corpus has."""
    count = 200 if quick else 500
    model = Alice(model_config("small")).eval()
    bucketed = [batch.cipher_ids for batch in batches(count)]
    encoded = EncodedTexts(first_texts(count), ENGLISH)
    numbers = np.arange(count)
    as_they_come = [
        torch.from_numpy(encoded.padded(numbers[first : first + AT_A_TIME]).astype(np.int64))
        for first in range(0, count, AT_A_TIME)
    ]

    def solve(given: list[Tensor]) -> None:
        for ids in given:
            model.decode_symbols(model.resid(ids), ids, soft=False).argmax(-1)

    with one_core(), torch.inference_mode():
        contestants = {"buckets": lambda: solve(bucketed), "padded": lambda: solve(as_they_come)}
        times = take_turns(contestants, rounds=2 if quick else 5)
    lengths = encoded.lengths
    case = f"{count:,} quotations of {lengths.min()} to {lengths.max()} characters"
    yield compared(case, times, "buckets", "padded", note=f"as they come, {AT_A_TIME} at a time")
