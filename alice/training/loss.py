"""The training loss: negative log-likelihood of every character of the plaintext, ignoring padding."""

from torch import Tensor, nn

from alice.model import Alice
from alice.text import PAD


def token_losses(model: Alice, cipher_ids: Tensor, plain_ids: Tensor) -> Tensor:
    """Return the loss of each character of a batch, (batch, pos) twice -> (characters,).

    The table over symbols is normalised once and each character looks up its entry, which is cheaper than a softmax at
    every position and gives the same value.
    """
    log_probs = model.log_probabilities(model.resid(cipher_ids), cipher_ids)
    text, position = (cipher_ids != PAD).nonzero(as_tuple=True)
    return -log_probs[text, cipher_ids[text, position], plain_ids[text, position]]


class Objective(nn.Module):
    """The model with its loss as one module, so that data-parallel wrappers see every use of the weights."""

    def __init__(self, model: Alice) -> None:
        super().__init__()
        self.model = model

    def forward(self, cipher_ids: Tensor, plain_ids: Tensor) -> Tensor:
        """Return the summed loss of a batch."""
        return token_losses(self.model, cipher_ids, plain_ids).sum()
