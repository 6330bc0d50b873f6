"""Cipher letters named by frequency or first appearance."""

import pytest
import torch

from alice.baselines.encodings import ENCODINGS, encode
from alice.text import ENGLISH


def ids_of(text: str) -> torch.Tensor:
    """Return a text as a batch of one."""
    return torch.from_numpy(ENGLISH.encode(text).astype("int64"))[None]


@pytest.mark.parametrize(("encoding", "expected"), [("frequency", "CAB, BDA! A"), ("recurrence", "ABC, CDB! B")])
def test_letters_are_named_by_their_rank_and_other_symbols_stay(encoding, expected):
    assert ENGLISH.decode(encode(ids_of("XQZ, ZKQ! Q"), ENGLISH, encoding)[0].numpy()) == expected


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_names_do_not_depend_on_the_key(encoding):
    generator = torch.Generator().manual_seed(0)
    letters = torch.from_numpy(ENGLISH.letter_ids)
    ids = torch.randint(1, ENGLISH.size, (50, 40), generator=generator)
    table = torch.arange(ENGLISH.size)
    table[letters] = letters[torch.randperm(26, generator=generator)]
    assert torch.equal(encode(ids, ENGLISH, encoding), encode(table[ids], ENGLISH, encoding))


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_padding_does_not_change_names(encoding):
    ids = ids_of("XQZ, ZKQ! Q")
    padded = torch.nn.functional.pad(ids, (0, 4))
    assert torch.equal(encode(padded, ENGLISH, encoding)[:, : ids.shape[1]], encode(ids, ENGLISH, encoding))
