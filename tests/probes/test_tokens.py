"""The split by text, the tokens selected from shards, and the scores by text."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn.functional import one_hot

from alice.errors import AliceError
from alice.plugins.conformance import tiny_texts
from alice.probes.layers import LayerProbes
from alice.probes.scores import MostFrequent, TextScores, count_labels
from alice.probes.tasks import control, tasks
from alice.probes.tokens import TokenPairs, chosen, split_texts
from alice.text.alphabet import ENGLISH
from alice.text.batches import Batches, BatchLimit, EncodedTexts

NAMES = ["one", "two"]
TEXTS = 40


def shards(make):
    """Return batches of made-up texts, each with the two layers that `make` returns for it, (batch, pos, d)."""
    batches = Batches(EncodedTexts(tiny_texts(TEXTS), ENGLISH), ENGLISH, limit=BatchLimit(tokens=600))
    return [(batch, dict(zip(NAMES, make(batch), strict=True))) for batch in batches]


def numbered(batch):
    """Return activations that hold the text and the position of every token."""
    place = torch.arange(batch.mask.shape[1]).expand(batch.mask.shape)
    text = batch.index[:, None].expand(batch.mask.shape)
    return [torch.stack([text, place], -1).float()] * 2


@pytest.mark.parametrize("count", [2, 3, 40])
def test_every_text_is_in_one_split(count):
    train, held = split_texts(count, np.random.default_rng(0))
    assert (train ^ held).all()
    assert held.sum() == max(1, round(count / 4))
    again = split_texts(count, np.random.default_rng(0))
    assert np.array_equal(again[0], train)


def test_one_text_cannot_be_split():
    with pytest.raises(AliceError, match="at least 2 texts"):
        split_texts(1, np.random.default_rng(0))


def test_no_token_of_a_held_out_text_is_trained_on():
    train, held = split_texts(TEXTS, np.random.default_rng(0))
    task, plain = tasks(ENGLISH)["letter"], [ENGLISH.encode(text).tolist() for text in tiny_texts(TEXTS)]
    seen = []
    for side in (train, held):
        pairs = TokenPairs(shards(numbered), NAMES, [task], side)
        x, y = (torch.cat(parts, 1) for parts in zip(*pairs, strict=True))
        assert x.shape == (2, y.shape[1], 2)
        assert set(x[0, :, 0].long().tolist()) == set(np.flatnonzero(side))
        seen.append({tuple(token) for token in x[0].tolist()})
        for text, place, label in zip(*x[0].long().T.tolist(), y[0].tolist(), strict=True):
            assert plain[text][place] == label
    assert not seen[0] & seen[1]
    assert len(seen[0]) + len(seen[1]) == sum(map(len, tiny_texts(TEXTS)))


def test_every_second_character_of_each_text_can_be_taken():
    texts = np.ones(TEXTS, dtype=bool)
    pairs = TokenPairs(shards(numbered), NAMES, [tasks(ENGLISH)["letter"]], texts, every=2)
    taken = torch.cat([x[0] for x, _ in pairs]).long().tolist()
    expected = [
        (text, place)
        for text, characters in enumerate(tiny_texts(TEXTS))
        for place in range(text % 2, len(characters), 2)
    ]
    assert sorted(map(tuple, taken)) == expected


def test_accuracy_is_counted_by_text():
    texts = np.ones(TEXTS, dtype=bool)
    texts[[3, 8]] = False
    task = tasks(ENGLISH)["letter"]
    spaces = np.zeros(37, np.int64)
    spaces[ENGLISH.encode(" ")] = 1
    found = TextScores.measure(MostFrequent([spaces]), shards(numbered), NAMES, [task], texts=texts, alphabet=ENGLISH)
    kept = [text for text, wanted in zip(tiny_texts(TEXTS), texts, strict=True) if wanted]
    assert found.characters.shape == (1, 2, TEXTS - 2)
    assert found.characters[0, 1] == pytest.approx([text.count(" ") / len(text) for text in kept])
    assert not found.letters.any()  # a space is never the answer for a letter
    assert found.tokens.tolist() == [sum(map(str.isalpha, "".join(kept)))]


def test_labels_are_counted_over_the_letters_of_the_chosen_texts():
    texts = np.arange(TEXTS) == 5
    batches = [batch for batch, _ in shards(numbered)]
    (counts,) = count_labels(batches, [tasks(ENGLISH)["letter"]], texts=texts, alphabet=ENGLISH)
    text = tiny_texts(TEXTS)[5]
    assert {ENGLISH.symbols[number - 1]: count for number, count in enumerate(counts) if count} == {
        letter: text.count(letter) for letter in set(text) if letter.isalpha()
    }


def test_the_control_task_needs_the_cipher_symbol():
    """A probe memorizes the control labels where it can read the symbol, and only guesses where it cannot."""

    def blind_then_seeing(batch):
        blind = torch.randn(*batch.mask.shape, 37, generator=torch.Generator().manual_seed(len(batch)))
        return [blind, one_hot(batch.cipher_ids, 37).float() + 0.1 * blind]

    train, held = split_texts(TEXTS, np.random.default_rng(0))
    made, task = shards(blind_then_seeing), tasks(ENGLISH)["vowel"]
    counts = count_labels([batch for batch, _ in made], [task], texts=train, alphabet=ENGLISH)
    twin = control(task, counts[0], ENGLISH, np.random.default_rng(1))
    probes = LayerProbes().fit(TokenPairs(made, NAMES, [task, twin], train), [2, 2])
    scores = TextScores.measure(probes, made, NAMES, [task, twin], texts=held, alphabet=ENGLISH)
    real, control_ = np.nanmean(scores.letters, axis=-1)
    common = count_labels([batch for batch, _ in made], [twin], texts=held, alphabet=ENGLISH)[0]
    assert control_[1] > 0.98
    assert control_[0] < common.max() / common.sum() + 0.05
    assert real.max() < 0.75  # a symbol means another letter in every text


def test_chosen_tokens_are_positions_in_the_flattened_batch():
    batch = SimpleNamespace(index=torch.tensor([1, 0]), mask=torch.tensor([[True, False], [True, True]]))
    assert chosen(batch, np.array([True, False])).tolist() == [2, 3]
    assert chosen(batch, np.array([False, True])).tolist() == [0]
