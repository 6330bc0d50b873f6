"""How the time to solve grows: for twice the texts, twice the length, twice the width.

One means in proportion. Length: attention grows with its square, all else in proportion. Width: the products grow with
its square, attention and what is done element by element in proportion, and larger products use a core better.
"""

from collections.abc import Iterator

import numpy as np
import torch

from alice.bench.ratio import Ratio
from alice.bench.timing import one_core, take_turns
from alice.model import Alice
from alice.training.presets import model_config

TEXTS, LENGTH = 16, 128


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare each with half of it."""
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
        low, middle, high = (float(value) for value in np.quantile(doublings, [0.25, 0.5, 0.75]))
        yield Ratio(f"{name}: {case}", middle, low, high)
