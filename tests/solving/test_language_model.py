"""Probabilities of n-grams against those computed by hand."""

from math import log

import numpy as np
import pytest

from alice.errors import AliceError
from alice.solving import language_model as char_ngrams
from alice.solving.language_model import BOUNDARY, LONGEST, CharNgrams, number_ngrams, symbols_of


def number(*symbols):
    return number_ngrams(np.array(symbols), len(symbols))[0]


def test_characters_that_are_not_letters_are_one_boundary():
    letters = [0, 1, BOUNDARY, 25]
    assert symbols_of('ab, -- "z!', 4).tolist() == [BOUNDARY] * 3 + letters + [BOUNDARY]
    assert symbols_of("AB\n\nZ", 4).tolist() == [BOUNDARY] * 3 + letters + [BOUNDARY]
    assert symbols_of("  A", 2).tolist() == [BOUNDARY, 0, BOUNDARY]
    assert symbols_of("\N{LATIN SMALL LETTER SHARP S}A", 1).tolist() == [BOUNDARY, 0, BOUNDARY]


def test_ngrams_are_numbers_to_the_base_27():
    assert number_ngrams(np.array([1, 2, 3, 4, 5]), 4).tolist() == [
        ((1 * 27 + 2) * 27 + 3) * 27 + 4,
        ((2 * 27 + 3) * 27 + 4) * 27 + 5,
    ]


@pytest.mark.parametrize("order", [4, 6])
def test_the_chances_of_a_tiny_language_are_those_worked_out_by_hand(order):
    ngrams = CharNgrams.count(["A"] * 3, order)
    # Three times ...#A and three times ...#A#. Alone, A is 3 of 6 symbols, of two kinds.
    expected = (3 + 2 * 1 / 27) / (6 + 2)
    assert ngrams.logs(0, 0, 0) == pytest.approx(log(expected), abs=1e-6)
    for length in range(1, order):
        # After any number of boundaries A comes three times and nothing else: one kind.
        expected = (3 + expected) / (3 + 1)
        assert ngrams.logs(number(*[BOUNDARY] * length), 0, length) == pytest.approx(log(expected), abs=1e-6)
    unknown = ngrams.logs(number(*[1] * (order - 1)), 0, order - 1)
    assert unknown == ngrams.logs(0, 0, 0)


def test_a_context_that_never_occurs_counts_by_the_end_that_does():
    ngrams = CharNgrams.count(["THE CAT SAT", "ON A MAT"], 6)
    t, h, e, q = (ord(letter) - ord("A") for letter in "THEQ")
    seen = ngrams.logs(number(BOUNDARY, t, h), e, 3)
    assert ngrams.logs(number(q, q, BOUNDARY, t, h), e, 5) == seen
    assert seen > ngrams.logs(0, e, 0)


@pytest.mark.parametrize("texts", [["A"], ["ABBA, BA!", "..."], ["THE CAT SAT", "ON A MAT", "Z"]])
@pytest.mark.parametrize("order", [1, 3, 6])
def test_chances_after_any_context_add_up_to_one(texts, order):
    ngrams = CharNgrams.count(texts, order)
    chances = np.exp(ngrams.table.astype(float)).reshape(-1, 27)
    assert chances.sum(1) == pytest.approx(np.ones(len(chances)), rel=1e-5)
    assert (chances > 0).all()
    for length, rows in enumerate(ngrams.rows):  # and every context has such a row
        assert rows.shape == (27**length,)
        assert not (rows % 27).any()
        assert 0 <= rows.min() <= rows.max() < len(ngrams.table)


def test_no_ngram_reaches_from_one_text_into_the_next(monkeypatch):
    whole = CharNgrams.count(["AB", "...", "CD"] * 3, 3)
    monkeypatch.setattr(char_ngrams, "TEXTS_AT_ONCE", 1)
    apart = CharNgrams.count(["AB", "...", "CD"] * 3, 3)
    assert np.array_equal(whole.table, apart.table)
    a, b, c, d = range(4)
    contexts = [(BOUNDARY, BOUNDARY), (BOUNDARY, a), (a, b), (BOUNDARY, c), (c, d)]
    occur = {number(*context) for context in contexts}
    shared = whole.rows[2] == np.tile(whole.rows[1], 27)
    assert set(np.flatnonzero(~shared).tolist()) == occur


def test_the_score_of_a_text_is_the_sum_over_its_symbols():
    ngrams = CharNgrams.count(["THE CAT SAT", "ON A MAT"], 3)
    symbols = symbols_of("A CAT", 3)
    alone = [ngrams.logs(number(*symbols[at : at + 2]), symbols[at + 2], 2) for at in range(len(symbols) - 2)]
    assert len(alone) == 6  # five characters and the boundary after them
    assert ngrams.score(symbols) == pytest.approx(sum(map(float, alone)), rel=1e-5)
    assert ngrams.score(np.stack([symbols, symbols])).shape == (2,)


@pytest.mark.parametrize("texts", [10, 500])
def test_the_arrays_grow_by_a_row_for_each_context_that_the_texts_can_have(texts):
    letters = np.random.default_rng(0).choice(list("ABCDEFGHIJKLMNOPQRSTUVWXYZ "), (texts, 40))
    ngrams = CharNgrams.count(map("".join, letters), LONGEST)
    assert sum(rows.nbytes for rows in ngrams.rows) == 4 * sum(27**length for length in range(LONGEST))  # 60 MB
    contexts = sum(min(27**length, 41 * texts) for length in range(LONGEST))  # 40 characters and a boundary
    assert 0.6 < ngrams.table.nbytes / (4 * 27 * contexts) <= 1


@pytest.mark.parametrize("texts", [[], ["..."]])
def test_no_letters_make_no_table(texts):
    with pytest.raises(AliceError, match="no letter to count"):
        CharNgrams.count(texts, 4)


@pytest.mark.parametrize("order", [0, LONGEST + 1])
def test_ngrams_that_would_fill_the_memory_are_refused(order):
    with pytest.raises(AliceError, match="cannot be counted"):
        CharNgrams.count(["A"], order)
