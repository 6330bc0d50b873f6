"""Counts of n-grams and their cosines against answers worked out by hand."""

from math import sqrt

import numpy as np
import pytest

from alice.errors import AliceError
from alice.plugins.builtin.ngram import counts as ngrams
from alice.plugins.builtin.ngram.counts import (
    cosine_by_text,
    cosine_of_sums,
    count_ngrams,
    encode_ngrams,
    gain_layers,
    norms_of_sums,
    rank_correlation,
)
from alice.text.alphabet import ENGLISH


def counts(*texts, n):
    ids = np.concatenate([ENGLISH.encode(text) for text in texts])
    owner = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    return count_ngrams(ids, owner, n, symbols=ENGLISH.size, texts=len(texts))


def summed(plain, guess, weights):
    return cosine_of_sums(plain, guess, weights, norms_of_sums(plain, weights))


def spelled(code, n):
    """Return the n-gram that a number stands for."""
    return ENGLISH.decode(np.array([code // ENGLISH.size**place % ENGLISH.size for place in reversed(range(n))]))


def as_dicts(found, n):
    return [
        {spelled(code, n): count for code, count in zip(found.codes, row, strict=True) if count}
        for row in found.counts.toarray()
    ]


@pytest.mark.parametrize(
    ("n", "expected"),
    [
        (1, [{"A": 2, "B": 2}, {"B": 1, "A": 1}]),
        (2, [{"AB": 2, "BA": 1}, {"BA": 1}]),
        (3, [{"ABA": 1, "BAB": 1}, {}]),
        (4, [{"ABAB": 1}, {}]),
        (5, [{}, {}]),
    ],
)
def test_ngrams_are_counted_as_by_hand_and_never_reach_into_the_next_text(n, expected):
    found = counts("ABAB", "BA", n=n)
    assert as_dicts(found, n) == expected
    assert found.has_any.tolist() == [bool(row) for row in expected]


def test_the_longest_ngrams_of_the_largest_ids_are_told_apart():
    found = counts('""""""""', '"""""""A', 'A"""""""', n=8)
    assert as_dicts(found, 8) == [{'""""""""': 1}, {'"""""""A': 1}, {'A"""""""': 1}]


def test_the_cosine_of_a_text_with_itself_is_one_and_with_foreign_letters_zero():
    texts = ("HELLO, WORLD.", "ABAB", "AB")
    for n in (1, 2, 3):
        cosine = cosine_by_text(counts(*texts, n=n), counts(*texts, n=n))
        assert cosine == pytest.approx([1, 1, 1 if n < 3 else np.nan], nan_ok=True)
    assert cosine_by_text(counts("AB", n=1), counts("CD", n=1)).tolist() == [0]


def test_one_wrong_letter_costs_what_it_costs_on_paper():
    plain, guess = ("ABAB", "XY"), ("ABAC", "XY")
    # Letters: (A 2, B 2) and (A 2, B 1, C 1): 4 + 2 = 6, over sqrt(8 * 6).
    assert cosine_by_text(counts(*plain, n=1), counts(*guess, n=1)) == pytest.approx([6 / sqrt(48), 1])
    # Pairs: (AB 2, BA 1) and (AB 1, BA 1, AC 1): 2 + 1 = 3, over sqrt(5 * 3).
    assert cosine_by_text(counts(*plain, n=2), counts(*guess, n=2)) == pytest.approx([3 / sqrt(15), 1])
    # Summed over both texts, XY adds 1 to the product and to both squares: 4 over sqrt(6 * 4).
    even = np.ones((1, 2))
    assert summed(counts(*plain, n=2), counts(*guess, n=2), even) == pytest.approx([4 / sqrt(24)])


@pytest.mark.parametrize("block", [1, 8192])
def test_sums_weigh_the_texts(block, monkeypatch):
    monkeypatch.setattr(ngrams, "BLOCK", block)
    plain, guess = counts("AA", "B", n=1), counts("AA", "C", n=1)
    weights = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 1.0]])
    # The last: (A 1, B 1) and (A 1, C 1).
    assert summed(plain, guess, weights) == pytest.approx([1, 0, 0.5])
    assert summed(plain, plain, weights) == pytest.approx([1, 1, 1])
    assert np.isnan(summed(counts("A", n=2), counts("A", n=2), np.ones((1, 1)))).all()


def test_the_order_of_letters_matters_from_pairs_on():
    plain, guess = "ABCD", "DCBA"
    assert [cosine_by_text(counts(plain, n=n), counts(guess, n=n))[0] for n in (1, 2)] == pytest.approx([1, 0])


def test_the_layer_of_the_largest_gain_rises_where_it_was_planted_to():
    similarity = np.zeros((10, 8))  # (layer, n)
    for n in range(8):
        similarity[n + 1 :, n] = 0.9  # n-grams of length n + 1 come up at layer n + 1
    layers = gain_layers(similarity)
    assert layers.tolist() == [1, 2, 3, 4, 5, 6, 7, 8]
    assert rank_correlation(layers) == pytest.approx(1)
    assert rank_correlation(gain_layers(similarity[:, ::-1])) == pytest.approx(-1)
    assert gain_layers(np.stack([similarity, similarity[:, ::-1]])).shape == (2, 8)


def test_ties_share_their_rank_and_a_constant_is_no_order():
    # Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4.
    assert rank_correlation(np.array([1, 5, 5, 9])) == pytest.approx(4.5 / sqrt(5 * 4.5))
    assert rank_correlation(np.array([4, 4, 4])) == 0
    assert rank_correlation(np.array([4])) == 0


def test_what_cannot_be_counted_is_refused():
    ids = np.array([1, 2, 3])
    with pytest.raises(AliceError, match="there are no 0-grams"):
        encode_ngrams(ids, ids * 0, 0, symbols=37)
    with pytest.raises(AliceError, match="8-grams of 250 symbols are too many"):
        encode_ngrams(ids, ids * 0, 8, symbols=250)
