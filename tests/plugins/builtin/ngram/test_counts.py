"""Counts of n-grams and their cosines against answers worked out by hand."""

from math import sqrt

import numpy as np
import pytest

from alice.errors import AliceError
from alice.plugins.builtin.ngram.counts import (
    corpus_values,
    cosines_by_text,
    count_ngrams,
    encode_ngrams,
    gain_layers,
    rank_correlation,
)
from alice.text.alphabet import ENGLISH


def joined(texts):
    owner = np.repeat(np.arange(len(texts)), [len(text) for text in texts])
    return np.concatenate([ENGLISH.encode(text) for text in texts]), owner


def counts(*texts, n):
    return count_ngrams(*joined(texts), n, symbols=ENGLISH.size, texts=len(texts))


def by_text(plain, guess, longest, symbols=ENGLISH.size):
    (ids, owner), (other, _) = joined(plain), joined(guess)
    return cosines_by_text(ids, other, owner, longest, symbols=symbols, texts=len(plain))


def summed(plain, guess, n):
    return np.nanmean(corpus_values(counts(*plain, n=n), counts(*guess, n=n)))


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
    assert by_text(texts, texts, 3) == pytest.approx(np.array([[1, 1, 1], [1, 1, 1], [1, 1, np.nan]]), nan_ok=True)
    assert by_text(["AB"], ["CD"], 1).tolist() == [[0]]


def test_one_wrong_letter_costs_what_it_costs_on_paper():
    plain, guess = ("ABAB", "XY"), ("ABAC", "XY")
    # Letters: (A 2, B 2) and (A 2, B 1, C 1): 4 + 2 = 6, over sqrt(8 * 6).
    # Pairs: (AB 2, BA 1) and (AB 1, BA 1, AC 1): 2 + 1 = 3, over sqrt(5 * 3).
    assert by_text(plain, guess, 2) == pytest.approx(np.array([[6 / sqrt(48), 3 / sqrt(15)], [1, 1]]))
    # Summed over both texts, XY adds 1 to the product and to both squares: 4 over sqrt(6 * 4).
    assert summed(plain, guess, 2) == pytest.approx(4 / sqrt(24))


def test_ngrams_too_many_to_number_by_text_are_compared_all_the_same():
    plain, guess = ("ABABABABABABAB",), ("ABABABABABABAC",)
    assert by_text(plain, guess, 12) == pytest.approx(by_text(plain * 2, guess * 2, 12)[:1])
    assert by_text(plain, guess, 12)[0, 11] == pytest.approx(3 / sqrt(5 * 3))


def test_a_value_of_the_corpus_is_what_the_weight_of_a_text_changes():
    plain, guess = ("ABBA", "CAB", "BBCA"), ("ABBB", "CAC", "BACA")
    values = corpus_values(counts(*plain, n=1), counts(*guess, n=1))
    assert values.mean() == pytest.approx(summed(plain, guess, 1))
    many = 500  # the second text once more among 1500
    more = summed(plain * many + plain[1:2], guess * many + guess[1:2], 1)
    assert (more - values.mean()) * 3 * many == pytest.approx(values[1] - values.mean(), rel=0.01)
    assert np.isnan(corpus_values(counts("A", n=2), counts("A", n=2))).all()


def test_the_order_of_letters_matters_from_pairs_on():
    assert by_text(["ABCD"], ["DCBA"], 2) == pytest.approx(np.array([[1, 0]]))


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
