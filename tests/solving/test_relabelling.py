"""Readings under relabellings, for models whose answers are known."""

import numpy as np
import pytest
from handmade import reader
from tiny import tiny

from alice.metrics import error_rates
from alice.solving.relabelling import Readings, read_relabelled, relabellings
from alice.text.alphabet import ENGLISH, LETTERS


def ids(text):
    return ENGLISH.encode(text).astype(np.int64)


def readings(*texts, confidence=None, plain=None):
    """Return readings with these answers."""
    answers = np.stack([ids(text) for text in texts])
    sure = np.full(answers.shape, 0.5) if confidence is None else np.array(confidence)
    letters = np.isin(answers[0], ENGLISH.letter_ids)
    return Readings(answers[0], answers, sure, letters, None if plain is None else ids(plain))


def test_relabellings_depend_on_seed_and_number_and_a_smaller_count_is_a_prefix():
    keys = relabellings(5, seed=3, number=2)
    assert keys.shape == (5, 26)
    assert (np.sort(keys) == np.arange(26)).all()
    assert (relabellings(2, seed=3, number=2) == keys[:2]).all()
    assert (relabellings(5, seed=3, number=1) != keys).any()
    assert (relabellings(5, seed=4, number=2) != keys).any()


def test_a_model_that_reads_names_answers_the_relabelled_text():
    text, keys = ids("AB BA."), relabellings(60, seed=0)
    found = read_relabelled(reader(), text, keys)
    for row, key in zip(found.answers, keys, strict=True):
        a, b = LETTERS[key[0]], LETTERS[key[1]]
        assert ENGLISH.decode(row) == f"{a}{b} {b}{a}."
    assert found.letters.tolist() == [True, True, False, True, True, False]
    assert found.confidence.shape == (60, 6)
    agree = np.mean([keys[i, 0] == keys[j, 0] for i in range(60) for j in range(60) if i != j])
    assert found.disagreement[0] == pytest.approx(1 - agree)
    assert found.disagreement[2] == 0


@pytest.mark.parametrize("variant", ["base", "bijective", "dynamic"])
def test_relabellings_in_batches_are_read_as_one_by_one(variant, monkeypatch):
    model, text = tiny(variant), ids("THE QUICK BROWN FOX.")
    keys = relabellings(7, seed=1)
    monkeypatch.setattr("alice.solving.relabelling.TOKENS", 3 * len(text))
    found = read_relabelled(model, text, keys)
    single = [read_relabelled(model, text, keys[number : number + 1]) for number in range(7)]
    assert (found.answers == np.concatenate([one.answers for one in single])).all()
    np.testing.assert_allclose(found.confidence, np.concatenate([one.confidence for one in single]), rtol=1e-4)


def test_changes_are_counted_by_pairs():
    found = readings("AB C", "AB C", "AB D", "XB D")
    assert found.disagreement.tolist() == pytest.approx([3 / 6, 0, 0, 4 / 6])
    assert found.letters_changed == pytest.approx((3 / 6 + 0 + 4 / 6) / 3)
    assert found.text_changed == pytest.approx(5 / 6)  # of six pairs only one is alike


def test_the_vote_is_the_most_frequent_answer_and_confidence_breaks_ties():
    found = readings("AB", "AC", "XC", confidence=[[0.1, 0.99], [0.1, 0.1], [0.99, 0.1]])
    assert ENGLISH.decode(found.vote) == "AC"
    assert ENGLISH.decode(readings("A", "B", confidence=[[0.4], [0.6]]).vote) == "B"


def test_errors_leave_out_unknown_positions():
    found = readings("ABCD", "ABXX", "ABCX", plain="ABCD")
    assert found.errors.tolist() == [0, 0.5, 0.25]
    assert found.vote_error == 0.25  # D is outvoted
    unknown = Readings(found.cipher_ids, found.answers, found.confidence, found.letters, np.array([1, 2, 3, 0]))
    assert unknown.errors.tolist() == pytest.approx([0, 1 / 3, 0])
    assert unknown.vote_error == 0
    assert readings("A", "B").errors is None
    assert readings("A", "B").vote_error is None


def test_errors_are_those_of_the_model_under_each_relabelling():
    model, plain = tiny("base"), ids("SOME PLAINTEXT")
    found = read_relabelled(model, plain, relabellings(3, seed=0), plain_ids=plain)
    assert found.errors.tolist() == error_rates(found.answers, np.tile(plain, (3, 1))).tolist()
