"""The growth of the time to solve with the number of texts, their length and the width of the model.

An exponent of 1 means proportional. Attention grows with the square of the length, everything else in proportion to it.
Matrix products grow with the square of the width, attention and elementwise operations in proportion to it.
"""

from collections.abc import Iterator

import numpy as np
import torch

from alice.bench.measuring import Ratio, one_core, take_turns
from alice.model import Alice
from alice.training import model_config

TEXTS, LENGTH = 16, 128


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare doubled texts, length and width with the original."""
    small, wide = (Alice(model_config("small", d_model=d, d_mlp=3 * d)).eval() for d in (128, 256))
    usual = torch.randint(1, small.config.d_vocab, (TEXTS, LENGTH))
    more = [usual, torch.randint(1, small.config.d_vocab, (TEXTS, LENGTH))]
    long = torch.randint(1, small.config.d_vocab, (TEXTS, 2 * LENGTH))
    with one_core(), torch.inference_mode():
        contestants = {
            "usual": lambda: small(usual),
            "texts": lambda: [small(ids) for ids in more],
            "length": lambda: small(long),
            "width": lambda: wide(usual),
        }
        times = take_turns(contestants, rounds=5 if quick else 30)
    cases = {
        "texts": f"{2 * TEXTS} texts / {TEXTS}, in batches of {TEXTS}",
        "length": f"{2 * LENGTH} characters / {LENGTH}",
        "width": "256 / 128",
    }
    for name, case in cases.items():
        doublings = np.log2(np.array(times[name]) / np.array(times["usual"]))
        yield Ratio.median(f"{name}: {case}", doublings)
