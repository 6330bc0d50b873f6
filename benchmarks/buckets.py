"""The gain of batches of similar length, compared with batches in the given order, padded to the longest text."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from alice.bench.measuring import Ratio, batches, compare, first_texts, one_core, take_turns
from alice.model import Alice
from alice.text import ENGLISH, EncodedTexts
from alice.training import model_config

BATCH_SIZE = 32


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare over texts of all lengths in the corpus."""
    count = 200 if quick else 500
    model = Alice(model_config("small")).eval()
    bucketed = [batch.cipher_ids for batch in batches(count)]
    encoded = EncodedTexts(first_texts(count), ENGLISH)
    numbers = np.arange(count)
    in_order = [
        torch.from_numpy(encoded.padded(numbers[first : first + BATCH_SIZE]).astype(np.int64))
        for first in range(0, count, BATCH_SIZE)
    ]

    def solve(given: list[Tensor]) -> None:
        for ids in given:
            model.decode_symbols(model.resid(ids), ids, soft=False).argmax(-1)

    with one_core(), torch.inference_mode():
        contestants = {"buckets": lambda: solve(bucketed), "padded": lambda: solve(in_order)}
        times = take_turns(contestants, rounds=2 if quick else 5)
    lengths = encoded.lengths
    case = f"{count:,} quotations of {lengths.min()} to {lengths.max()} characters"
    yield compare(case, times, "buckets", "padded", note=f"padded: {BATCH_SIZE} texts per batch, in the given order")
