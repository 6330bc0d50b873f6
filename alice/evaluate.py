"""Run a model over ciphertexts and see how much it gets right."""

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from alice.batch import Batch
from alice.metrics import SHORT, Floats, bin_names, error_rates, length_bin
from alice.model import Alice


@dataclass(frozen=True)
class Scores:
    """One entry for each text, in the order of their numbers."""

    lengths: NDArray[np.int64]
    """Characters, (texts,)."""
    errors: Floats
    """Symbol error rate, (texts,)."""

    def summary(self) -> dict[str, float]:
        """Return mean error rates: all texts, short and long, and each of the paper's bins that has texts."""
        parts = {"all": self.lengths > 0, f"<{SHORT}": self.lengths < SHORT, f">={SHORT}": self.lengths >= SHORT}
        parts |= {name: length_bin(self.lengths) == number for number, name in enumerate(bin_names())}
        return {name: float(self.errors[part].mean()) for name, part in parts.items() if part.any()}


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
