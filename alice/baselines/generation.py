"""Writes the plaintext of a ciphertext greedily, one character at a time."""

import torch
from torch import Tensor

from alice.baselines.sequences import SequenceModel
from alice.text import PAD


@torch.inference_mode()
def generate(model: SequenceModel, cipher: Tensor) -> Tensor:
    """Return the plaintexts that a network writes, (batch, pos) -> the same.

    A character that is not a letter is not encrypted and so is copied; where there is a letter, a letter is written.
    """
    is_letter = torch.zeros(model.alphabet.size, dtype=torch.bool)
    is_letter[model.alphabet.letter_ids] = True
    memory, last = model.read(cipher), torch.full((len(cipher), 1), PAD)
    written = []
    for place in range(cipher.shape[1]):
        logits, memory = model.write(last, memory)
        best = logits[:, 0].masked_fill(~is_letter, -torch.inf).argmax(-1)
        here = cipher[:, place]
        last = torch.where(is_letter[here], best, here)[:, None]
        written.append(last)
    return torch.cat(written, dim=1)


def write_plaintext(model: SequenceModel, ciphertext: str) -> str:
    """Return the plaintext in capitals that a network writes for one ciphertext."""
    ids = torch.from_numpy(model.alphabet.encode(ciphertext.upper()).astype("int64"))
    return model.alphabet.decode(generate(model, ids[None])[0].numpy()) if len(ids) else ""
