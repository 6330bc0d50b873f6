"""Names for cipher letters that do not depend on the key: by how often they occur, or by when they first occur."""

from typing import Literal, get_args

import torch
from torch import Tensor

from alice.text import Alphabet

Encoding = Literal["frequency", "recurrence"]
ENCODINGS: tuple[Encoding, ...] = get_args(Encoding)


def encode(ids: Tensor, alphabet: Alphabet, encoding: Encoding) -> Tensor:
    """Rename the letters of each text by their rank, A for the first; other symbols stay, (batch, pos) -> the same.

    Frequency ranks the most frequent letter first (Aldarrab and May 2021), and of equally frequent ones that which
    occurs first. Recurrence ranks letters by their first appearance (Kambhatla et al. 2023).
    """
    letters = torch.from_numpy(alphabet.letter_ids).to(ids.device)
    member = ids[:, None, :] == letters[:, None]  # (batch, letter, pos)
    counts, length = member.sum(-1), ids.shape[1]
    first = torch.where(counts > 0, member.int().argmax(-1), length)
    order = first - counts * (length + 1) if encoding == "frequency" else first
    rank = order.argsort(dim=1, stable=True).argsort(dim=1)  # (batch, letter)
    table = torch.arange(alphabet.size, device=ids.device).repeat(len(ids), 1)
    table[:, letters] = letters[rank]
    return table.gather(1, ids)
