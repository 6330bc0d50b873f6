"""Statistics of heads with made-up attention, against values computed by hand."""

import math

import pytest
import torch

from alice.plugins.builtin.attention.statistics import STATISTICS, head_statistics, key_weights, uniform_pattern
from alice.text.alphabet import ENGLISH, LETTERS_AND_SPACE

TEXT = "ABAC'A B"
"""Queries 0 1 2 3 5 7; one word is 0 to 5, with its apostrophe, the other is 7; 6 is the only boundary."""
UNIFORM = {
    "entropy": 3,
    "distance": (28 + 22 + 18 + 16 + 18 + 28) / 48,
    "self": 1 / 8,
    "same symbol": (3 * 2 + 2 * 1) / 48,  # each A has two others, each B one, C none
    "neighbours": (1 + 2 + 2 + 2 + 2 + 1) / 48,
    "same word": 5 * 5 / 48,
    "word boundaries": 1 / 8,
}


def batch_of(*texts, alphabet=ENGLISH):
    """Return ids and mask, padded on the right."""
    ids = torch.zeros(len(texts), max(map(len, texts)), dtype=torch.long)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = torch.from_numpy(alphabet.encode(text).astype("int64"))
    return ids, ids != 0


def looking_at(*targets):
    """Return a pattern (1, 1, query, key) in which each query spreads its attention evenly over its targets."""
    pattern = torch.zeros(1, 1, len(targets), len(targets))
    for query, keys in enumerate(targets):
        pattern[0, 0, query, list(keys)] = 1 / len(keys)
    return pattern


def statistics(pattern, *texts):
    ids, mask = batch_of(*texts)
    values = head_statistics(pattern, key_weights(ids, mask, ENGLISH))[:, 0]
    return [dict(zip(STATISTICS, row, strict=True)) for row in values.tolist()]


def test_uniform_attention():
    _, mask = batch_of(TEXT)
    assert statistics(uniform_pattern(mask), TEXT) == [pytest.approx(UNIFORM, abs=1e-6)]


def test_a_head_that_looks_at_itself():
    (found,) = statistics(torch.eye(8)[None, None], TEXT)
    assert found == pytest.approx({**dict.fromkeys(STATISTICS, 0), "self": 1})


def test_a_head_that_looks_one_back():
    (found,) = statistics(looking_at([1], *([place] for place in range(7))), TEXT)
    expected = {"entropy": 0, "distance": 1, "self": 0, "same symbol": 0, "neighbours": 1}
    assert found == pytest.approx({**expected, "same word": 5 / 6, "word boundaries": 1 / 6})


def test_a_head_that_looks_at_the_same_symbol_elsewhere():
    (found,) = statistics(looking_at([2, 5], [7], [0, 5], [3], [4], [0, 2], [6], [1]), TEXT)
    expected = {
        "entropy": 3 / 6,  # one bit for each A
        "distance": (3.5 + 6 + 2.5 + 0 + 4 + 6) / 6,
        "self": 1 / 6,  # C, which has no other
        "same symbol": 5 / 6,
        "neighbours": 0,
        "same word": 3 / 6,
        "word boundaries": 0,
    }
    assert found == pytest.approx(expected)


def test_padding_changes_nothing():
    (alone,) = statistics(uniform_pattern(batch_of(TEXT)[1]), TEXT)
    longer = "A LONGER TEXT THAN THAT"
    _, mask = batch_of(TEXT, longer)
    pattern = uniform_pattern(mask).clone()
    pattern[0, :, len(TEXT) :] = 7.0  # attention from padding
    pattern[0, :, :, len(TEXT) :] = 0.0
    assert statistics(pattern, TEXT, longer)[0] == pytest.approx(alone, abs=1e-6)
    garbage = pattern.clone()
    garbage[0, :, :, len(TEXT) :] = 1.0  # attention to padding
    assert statistics(garbage, TEXT, longer)[0] == pytest.approx(alone, abs=1e-6)


def test_heads_together_give_the_same_as_heads_alone():
    ids, mask = batch_of(TEXT, "HELLO, WORLD. I AM")
    patterns = torch.rand(2, 5, ids.shape[1], ids.shape[1]).masked_fill(~mask[:, None, None, :], 0)
    patterns = patterns / patterns.sum(-1, keepdim=True)
    weights = key_weights(ids, mask, ENGLISH)
    together = head_statistics(patterns, weights)
    assert together.shape == (2, 5, len(STATISTICS))
    for head in range(5):
        assert torch.allclose(
            together[:, head], head_statistics(patterns[:, head : head + 1], weights)[:, 0], atol=1e-6
        )


@pytest.mark.parametrize(
    ("text", "pairs"),
    [
        ("'AB'", 2),  # quotation marks are not part of the word
        ("A''B", 0),  # two apostrophes in a row separate words
        ("A'B", 4),  # from A and from B, to the other and to the apostrophe
        ("AB-CD", 4),
        ("A", 0),
    ],
)
def test_what_a_word_is(text, pairs):
    ids, mask = batch_of(text)
    same_word = key_weights(ids, mask, ENGLISH)[0, STATISTICS.index("same word")]
    assert int((same_word > 0).sum()) == pairs


def test_an_alphabet_without_apostrophe_has_words_too():
    ids, mask = batch_of("AB C", alphabet=LETTERS_AND_SPACE)
    weights = key_weights(ids, mask, LETTERS_AND_SPACE)
    found = head_statistics(uniform_pattern(mask), weights)[0, 0, STATISTICS.index("same word")]
    assert float(found) == pytest.approx(2 / 12)


def test_a_text_without_letters_is_nan():
    (found,) = statistics(uniform_pattern(batch_of("...")[1]), "...")
    assert all(map(math.isnan, found.values()))
