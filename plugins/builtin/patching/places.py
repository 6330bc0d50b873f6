"""Sorts the characters of a text by how they relate to those that a counterfactual changes."""

import torch
from torch import Tensor

from alice.plugins.builtin.attention.statistics import is_letter, word_numbers
from alice.text import Alphabet, Pair

PLACES = ("changed", "neighbours", "same word", "same symbol", "elsewhere")
"""Characters that differ, those next to one, in the same word, with a symbol that stood at one; and the rest."""


def places_of(kind: str) -> tuple[str, ...]:
    """Return the places that a kind of counterfactual can have.

    Where (nearly) all letters change, the rest is `elsewhere`: spaces and punctuation. After relabelling all places of
    the two symbols are changed, so that none is `same symbol`.
    """
    if kind in ("other-text", "relabel-all"):
        return ("changed", "elsewhere")
    return tuple(place for place in PLACES if kind != "relabel-two" or place != "same symbol")


def sort_places(pair: Pair, alphabet: Alphabet, names: tuple[str, ...]) -> Tensor:
    """Return which places each character is among, (batch, place, pos): the first that fits; padding is at none."""
    changed, text = pair.differs, pair.clean.mask
    near = torch.zeros_like(changed)
    near[:, 1:] |= changed[:, :-1]
    near[:, :-1] |= changed[:, 1:]
    words = word_numbers(pair.clean.cipher_ids, is_letter(pair.clean.cipher_ids, alphabet) & text, alphabet)
    planes = {
        "changed": changed,
        "neighbours": near,
        "same word": _shares(words, changed & (words > 0), int(words.max()) + 1) & (words > 0),
        "same symbol": _shares(pair.clean.cipher_ids, changed, alphabet.size),
        "elsewhere": torch.ones_like(changed),
    }
    left, found = text.clone(), []
    for name in names:
        found.append(planes[name] & left)
        left &= ~found[-1]
    return torch.stack(found, dim=1)


def _shares(labels: Tensor, where: Tensor, count: int) -> Tensor:
    """Say of each position whether its label, 0 to `count` - 1, also occurs at one of `where`, (batch, pos) each."""
    hit = torch.zeros(len(labels), count, dtype=torch.long, device=labels.device)
    hit.scatter_add_(1, labels, where.long())
    return hit.gather(1, labels) > 0
