"""Renamed letters against examples worked out by hand, and against keys, which they must not depend on."""

import numpy as np
import pytest
import torch

from alice.text import ENGLISH, LETTERS_AND_SPACE, encrypt_ids, random_keys
from alice.text.alphabet import pad
from alice.text.relabel import relabel

RENAMINGS = ("frequency", "recurrence")


def ids_of(*texts, alphabet=ENGLISH):
    return torch.from_numpy(pad([alphabet.encode(text) for text in texts]).astype("int64"))


def renamed(text, how, alphabet=ENGLISH):
    return alphabet.decode(relabel(ids_of(text, alphabet=alphabet), alphabet, how)[0][0].numpy())


@pytest.mark.parametrize(
    ("text", "how", "expected"),
    [
        ("XQQ, ZXQ!", "frequency", "BAA, CBA!"),
        ("XQQ, ZXQ!", "recurrence", "ABB, CAB!"),
        ("ZYX", "frequency", "ABC"),  # ties in the order of appearance
        ("XQQ, ZXQ!", "none", "XQQ, ZXQ!"),
        ("?!", "frequency", "?!"),
    ],
)
def test_letters_are_renamed_and_the_rest_stays(text, how, expected):
    assert renamed(text, how) == expected


def test_absent_letters_take_the_remaining_names_in_order():
    _, names = relabel(ids_of("ZB"), ENGLISH, "frequency")
    assert names[0].tolist() == [2, 1, *range(3, 26), 0]


@pytest.mark.parametrize("how", RENAMINGS)
@pytest.mark.parametrize("alphabet", [ENGLISH, LETTERS_AND_SPACE])
def test_a_renamed_text_does_not_depend_on_its_key_and_the_names_are_a_key(how, alphabet):
    rng = np.random.default_rng(0)
    letters = rng.integers(0, alphabet.size, size=(40, 30)).astype("uint8")  # with padding anywhere
    encrypted = encrypt_ids(letters, random_keys(40, rng), alphabet)
    before, _ = relabel(torch.from_numpy(letters), alphabet, how)
    after, names = relabel(torch.from_numpy(encrypted), alphabet, how)
    assert torch.equal(before, after)
    assert torch.equal(names.sort(-1).values, torch.arange(26).expand(40, -1))
    assert np.array_equal(encrypt_ids(encrypted, names.numpy(), alphabet), after.numpy())


@pytest.mark.parametrize("how", RENAMINGS)
def test_padding_and_other_texts_do_not_matter(how):
    alone, _ = relabel(ids_of("WE MEET AT NOON"), ENGLISH, how)
    batch, _ = relabel(ids_of("WE MEET AT NOON", "A MUCH LONGER TEXT THAN THE FIRST ONE"), ENGLISH, how)
    assert torch.equal(batch[0, :15], alone[0])
    assert not batch[0, 15:].any()
