"""Run a model over ciphertexts and see how much it gets right."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from alice.metrics import SHORT, bin_names, error_rates, length_bin
from alice.model import Alice
from alice.statistics import Estimate, Floats, Spread, bayesian_bootstrap, spread
from alice.text.batches import Batch


@dataclass(frozen=True)
class Scores:
    """One entry for each text, in the order of their numbers."""

    lengths: NDArray[np.int64]
    """Characters, (texts,)."""
    errors: Floats
    """Symbol error rate, (texts,)."""

    def parts(self) -> dict[str, NDArray[np.bool_]]:
        """Return which texts belong to which part: each of the paper's bins, short and long texts, all."""
        bins = length_bin(self.lengths)
        parts = {name: bins == number for number, name in enumerate(bin_names())}
        return parts | {f"<{SHORT}": self.lengths < SHORT, f">={SHORT}": self.lengths >= SHORT, "all": self.lengths > 0}

    def means(self) -> dict[str, float]:
        """Return the mean error rate of each part that has texts."""
        return {name: float(self.errors[part].mean()) for name, part in self.parts().items() if part.any()}

    def table(self, rng: np.random.Generator) -> "ErrorTable":
        """Return the paper's figures for every part."""
        percent = {name: 100 * self.errors[part] for name, part in self.parts().items()}
        means = {name: bayesian_bootstrap(values, rng) for name, values in percent.items()}
        return ErrorTable(len(self.errors), means, {name: spread(values) for name, values in percent.items()})


@dataclass(frozen=True)
class ErrorTable:
    """Symbol error rates in percent by part: `[0,32)` to `[256,)`, `<128`, `>=128`, `all`."""

    texts: int
    mean: dict[str, Estimate]
    median: dict[str, Spread]


@torch.inference_mode()
def score(model: Alice, batches: Iterable[Batch]) -> Scores:
    """Decode every batch and compare with the plaintext, one batch in memory at a time."""
    device = model.cfg.device
    index, lengths, errors = [], [], []
    for batch in batches:
        predicted = model(batch.cipher_ids.to(device), soft=False).argmax(-1).cpu().numpy()
        errors.append(error_rates(predicted, batch.plain_ids.numpy()))
        lengths.append(batch.mask.sum(1).numpy())
        index.append(batch.index.numpy())
    order = np.argsort(np.concatenate(index))
    return Scores(np.concatenate(lengths)[order], np.concatenate(errors)[order])
