"""Seven statistics of an attention pattern, and their values under uniform attention.

Queries are the letters of the text, since these are what the model solves; keys are all its characters. A word is a
sequence of letters, with apostrophes between letters; every other character is a word boundary. The query's own
position counts only as `self`: `same symbol` and `same word` are about other positions.
"""

import torch
from torch import Tensor

from alice.text import Alphabet

STATISTICS = ("entropy", "distance", "self", "same symbol", "neighbours", "same word", "word boundaries")
"""Bits, characters, and five shares of the attention; shares may overlap."""
SHARES = STATISTICS[2:]
APOSTROPHE = "'"


def key_weights(cipher_ids: Tensor, mask: Tensor, alphabet: Alphabet) -> Tensor:
    """Return the weight of each (query, key) pair in each statistic, (batch, statistic, query, key).

    Ids and mask are (batch, pos). All queries have the same weight, and the weights sum to one; padding has none. The
    first plane is for the entropy and holds the weight of the query only. A text without letters is NaN throughout.
    """
    positions = torch.arange(cipher_ids.shape[1], device=cipher_ids.device)
    distance = (positions[:, None] - positions[None, :]).abs()  # (query, key)
    letters = is_letter(cipher_ids, alphabet) & mask
    words = word_numbers(cipher_ids, letters, alphabet)  # (batch, pos), 0 between words
    other = distance > 0
    same_symbol = (cipher_ids[:, :, None] == cipher_ids[:, None, :]) & other
    same_word = (words[:, :, None] == words[:, None, :]) & (words > 0)[:, :, None] & other
    planes = (torch.ones_like(distance), distance, distance == 0, same_symbol, distance == 1, same_word)
    boundary = (words == 0)[:, None, :]
    stacked = torch.stack([plane.expand(same_word.shape).float() for plane in (*planes, boundary)], dim=1)
    queries = letters / letters.sum(1, keepdim=True)
    return stacked * queries[:, None, :, None] * mask[:, None, None, :]


def head_statistics(pattern: Tensor, weights: Tensor) -> Tensor:
    """Return each statistic's mean over the queries of a text, (batch, head, statistic).

    `pattern` is (batch, head, query, key), each row over the text summing to one; `weights` come from `key_weights`.
    """
    pattern, weights = pattern.float().flatten(2), weights.flatten(2).transpose(1, 2)  # (batch, query * key, statistic)
    bits = pattern.clamp_min(torch.finfo(pattern.dtype).tiny).log2_().mul_(pattern)  # much faster than special.entr
    return torch.cat([-bits @ weights[..., :1], pattern @ weights[..., 1:]], dim=-1)


def uniform_pattern(mask: Tensor) -> Tensor:
    """Return the pattern of uniform attention over every text, (batch, pos) -> (batch, 1, query, key)."""
    return (mask / mask.sum(1, keepdim=True))[:, None, None, :].expand(-1, 1, mask.shape[1], -1)


def is_letter(cipher_ids: Tensor, alphabet: Alphabet) -> Tensor:
    """Return where ids are letters, (batch, pos)."""
    return torch.isin(cipher_ids, torch.from_numpy(alphabet.letter_ids).to(cipher_ids))


def word_numbers(cipher_ids: Tensor, letters: Tensor, alphabet: Alphabet) -> Tensor:
    """Number the words of each text from 1, with 0 between them, (batch, pos)."""
    inside = letters.clone()
    if APOSTROPHE in alphabet.symbols:
        apostrophe = cipher_ids == int(alphabet.encode(APOSTROPHE)[0])
        inside[:, 1:-1] |= apostrophe[:, 1:-1] & letters[:, :-2] & letters[:, 2:]
    starts = inside.clone()
    starts[:, 1:] &= ~inside[:, :-1]
    return starts.cumsum(1) * inside
