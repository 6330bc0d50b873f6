"""Names of cipher letters that do not depend on the key: by frequency, or by order of first appearance.

A key only permutes the names A-Z, so two encryptions of one text are equal after either renaming. The renaming is
itself a key, one for each text: entry [i, c] is the new letter (0-25) of cipher letter c.
"""

import torch
from torch import Tensor

from alice.text.alphabet import Alphabet
from alice.text.cipher import N_LETTERS, Relabel


def relabel(ids: Tensor, alphabet: Alphabet, how: Relabel) -> tuple[Tensor, Tensor]:
    """Rename the letters of each text; everything else stays.

    Args:
        ids: ciphertexts, (batch, pos); padding may be anywhere.
        alphabet: what the ids stand for.
        how: "frequency" calls the most frequent letter A, the next B, and so on, ties in the order of appearance;
            "recurrence" calls the first letter of the text A, the next new one B, and so on; "none" changes nothing.
            Letters that do not appear get the remaining names in alphabetical order.

    Returns:
        the renamed texts, (batch, pos), and the new letter (0-25) of each cipher letter, (batch, 26).

    """
    letter_ids = torch.from_numpy(alphabet.letter_ids).to(ids.device)
    names = new_letters(ids, letter_ids, how)
    return symbol_names(names, letter_ids, alphabet.size).gather(1, ids.long()), names


def new_letters(ids: Tensor, letter_ids: Tensor, how: Relabel) -> Tensor:
    """Return the new letter (0-25) of each cipher letter of texts, (batch, pos) -> (batch, 26); see `relabel`."""
    number = torch.arange(N_LETTERS, device=ids.device)
    if how == "none":
        return number.expand(len(ids), -1)
    length = ids.shape[1]
    is_letter = ids[:, None, :] == letter_ids[:, None]  # (batch, 26, pos)
    order = torch.where(is_letter, torch.arange(length, device=ids.device), length).amin(-1)  # first appearance
    if how == "frequency":
        order = (length - is_letter.sum(-1)) * (length + 1) + order
    order = order * N_LETTERS + number  # absent letters are equal so far
    return (order[:, :, None] > order[:, None, :]).sum(-1)


def symbol_names(letters: Tensor, letter_ids: Tensor, size: int) -> Tensor:
    """Return the new id of every id under keys of letters, (batch, 26) -> (batch, size)."""
    same = torch.arange(size, device=letters.device).expand(len(letters), -1)
    return same.scatter(1, letter_ids.expand(len(letters), -1), letter_ids[letters])
