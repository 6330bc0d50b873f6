"""Early exits: where the residual stream is read, and what the model's own head answers there."""

import torch
from torch import Tensor

from alice.errors import AliceError
from alice.model import Alice
from alice.model.activations import run_batch
from alice.text.batches import Batch

EXITS = ("hook_embed", "blocks.*.hook_resid_post")
"""Hook points of the layers; layer 0 is the embedding, layer N the residual stream after block N - 1."""


def exit_answers(model: Alice, batch: Batch, names: list[str]) -> Tensor:
    """Return the plain symbol that the head gives for each cipher symbol at each exit, (exit, batch, symbol).

    The head gives all occurrences of a symbol the same answer, so one row per symbol is enough. Raises if the last exit
    differs from the model's own answer.
    """
    _, output, cache = run_batch(model, batch, names)
    with torch.inference_mode():
        answers = [model.decode_symbols(cache[name], batch.cipher_ids, soft=False).argmax(-1) for name in names]
    _check_identity(answers[-1].gather(1, batch.cipher_ids), output.argmax(-1), batch.mask)
    return torch.stack(answers)


def _check_identity(last_exit: Tensor, output: Tensor, mask: Tensor) -> None:
    different = int(((last_exit != output) & mask).sum())
    if different:
        raise AliceError(
            f"the exit after the last layer differs from the model's answer in {different} of {int(mask.sum())} "
            "characters, so the exits do not describe this model; check that its forward pass ends in `decode`"
        )
