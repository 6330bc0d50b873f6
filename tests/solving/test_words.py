"""Word n-grams: probabilities computed by hand, whatever the size of the parts that are counted."""

import numpy as np
import pytest

from alice.solving import words as module
from alice.solving.language_model import symbols_of
from alice.solving.words import WordNgrams, hash_words, word_starts

TEXTS = ["A CAT SAT.", "A CAT, A DOG!", "THE DOG SAT"]


@pytest.fixture(scope="module")
def counted():
    return WordNgrams.count(TEXTS)


def score(ngrams, text, spelled):
    symbols = symbols_of(text, 2)
    return float(ngrams.score(symbols[None], word_starts(symbols), np.log(np.array([spelled])))[0])


def test_words_start_after_boundaries():
    assert word_starts(symbols_of("HI, YOU", 2)).tolist() == [1, 4]


def test_equal_words_have_equal_hashes_wherever_they_stand_and_anagrams_do_not():
    symbols = symbols_of("CAT ACT CAT", 2)
    first, other, again = hash_words(symbols[None], word_starts(symbols))[0]
    assert first == again
    assert first != other


def test_known_words_are_interpolated_as_witten_and_bell_do(counted):
    # 10 words and 3 starts of texts, of 6 kinds with the start; A follows 2 starts of 3, which 2 kinds follow.
    assert counted.times.sum() == 13
    assert len(counted.words) == 6
    alone_a = (3 + 6 * 0.01) / (13 + 6)
    assert score(counted, "A", [0.01]) == pytest.approx(np.log((2 + 2 * alone_a) / (3 + 2)), rel=1e-5)
    alone_cat = (2 + 6 * 0.02) / 19
    after_a = (2 + 2 * alone_cat) / (3 + 2)  # A is followed by CAT twice and by DOG once
    expected = np.log((2 + 2 * alone_a) / 5) + np.log(after_a)
    assert score(counted, "A CAT", [0.01, 0.02]) == pytest.approx(expected, rel=1e-5)


def test_an_unknown_word_has_the_probability_of_its_letters_and_so_has_what_follows_it(counted):
    alone = [6 * 0.001 / 19, (2 + 6 * 0.02) / 19]
    expected = np.log(2 * alone[0] / 5) + np.log(alone[1])
    assert score(counted, "XYZ CAT", [0.001, 0.02]) == pytest.approx(expected, rel=1e-5)


def test_a_word_that_only_ends_texts_leaves_the_next_word_its_own_probability(counted):
    alone_sat, alone_cat = (2 + 6 * 0.1) / 19, (2 + 6 * 0.02) / 19
    expected = np.log(2 * alone_sat / 5) + np.log(alone_cat)
    assert score(counted, "SAT CAT", [0.1, 0.02]) == pytest.approx(expected, rel=1e-5)


def test_a_word_that_its_letters_make_impossible_has_a_finite_score(counted):
    symbols = symbols_of("XYZ", 2)
    assert np.isfinite(counted.score(symbols[None], word_starts(symbols), np.array([[-5000.0]]))).all()


def test_the_counts_do_not_depend_on_the_size_of_parts(counted, monkeypatch):
    monkeypatch.setattr(module, "TEXTS_AT_ONCE", 1)
    monkeypatch.setattr(module, "PARTS", 1)
    again = WordNgrams.count(TEXTS).arrays()
    for name, array in counted.arrays().items():
        np.testing.assert_array_equal(array, again[name])
