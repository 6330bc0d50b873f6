"""The training loss of every character of the plaintext, ignoring padding, and what each character counts in it."""

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from alice.model import Alice
from alice.statistics import Floats
from alice.text import PAD
from alice.training.recipe import BijectiveLoss, LossWeight


def token_losses(
    model: Alice, cipher_ids: Tensor, plain_ids: Tensor, bijective_loss: BijectiveLoss = "log-likelihood"
) -> Tensor:
    """Return the loss of each character of a batch, (batch, pos) twice -> (batch, pos), 0 where there is padding.

    The table over symbols is normalised once and each character looks up its entry, which is cheaper than a softmax at
    every position and gives the same value.
    """
    log_probs = model.log_probabilities(model.resid(cipher_ids), cipher_ids)  # (batch, symbol, symbol)
    if model.config.variant == "bijective" and bijective_loss == "probabilities-as-logits":
        log_probs = log_probs.exp().log_softmax(-1)
    text = torch.arange(len(cipher_ids), device=cipher_ids.device).unsqueeze(-1)
    return -log_probs[text, cipher_ids, plain_ids].masked_fill(cipher_ids == PAD, 0.0)


class Objective(nn.Module):
    """The model with its loss as one module, so that data-parallel wrappers see every use of the weights."""

    def __init__(self, model: Alice, bijective_loss: BijectiveLoss = "log-likelihood") -> None:
        super().__init__()
        self.model, self.bijective_loss = model, bijective_loss

    def forward(self, cipher_ids: Tensor, plain_ids: Tensor) -> Tensor:
        """Return the summed loss of each text, (batch, pos) twice -> (batch,)."""
        return token_losses(self.model, cipher_ids, plain_ids, self.bijective_loss).sum(-1)


def character_weights(weight: LossWeight, lengths: NDArray[np.integer], batches: int) -> Floats | None:
    """Return what a character of each text counts in the loss of its batch, (texts,) -> (texts,).

    None stands for one over the characters of the batch. Otherwise the weights add up to as much over all batches, but
    do not depend on the other texts of the batch.
    """
    if weight == "batch":
        return None
    if weight == "character":
        return np.full(len(lengths), batches / lengths.sum())
    return batches / len(lengths) / lengths
