"""The beam search against trying every key, and against keys that are known."""

from itertools import permutations

import numpy as np
import pytest
from made_up_language import language

from alice.solving.beam import BeamSearch, steps
from alice.solving.hill_climbing import HillClimber
from alice.solving.language_model import BOUNDARY, CharNgrams, number_ngrams, symbols_of
from alice.text.cipher import Key


@pytest.fixture(scope="module")
def texts():
    return [language(40, seed=seed) for seed in range(100, 200)]


@pytest.fixture(scope="module")
def ngrams(texts):
    return CharNgrams.count(texts, 6)


def test_what_makes_most_readable_is_decided_first_and_everything_is_readable_at_the_end():
    cipher = symbols_of("ABA BAB ABAB C", 3)
    found = steps(cipher, 3)
    # With A alone 5 n-grams end readably in it, B 5 too, but an A is more often at the beginning, after boundaries.
    assert [step.symbol for step in found] == [0, 1, 2]
    assert found[-1].rest.tolist() == []
    assert found[0].rest.tolist() == [5, 1]
    assert all((step.after > step.before).all() for step in found)
    rows = [zip(step.windows.tolist(), step.after.tolist(), strict=True) for step in found]
    ends = {tuple(window): end for row in rows for window, end in row}
    assert set(ends.values()) == {3}


@pytest.mark.parametrize("order", [2, 3, 6])
@pytest.mark.parametrize("text", ["QUI NA", "HAN, HAH", "A B AAB"])
def test_a_beam_that_drops_nothing_finds_the_best_of_all_keys(texts, order, text):
    ngrams = CharNgrams.count(texts[:20], order)
    letters = sorted({letter for letter in text if letter.isalpha()})[:3]
    text = "".join(letter if letter in letters or not letter.isalpha() else letters[0] for letter in text)
    cipher = symbols_of(text, order)
    choices = np.array(list(permutations(range(26), len(letters))))
    keys = np.zeros((len(choices), 27), dtype=np.int64)
    keys[:, [ord(letter) - ord("A") for letter in letters]] = choices
    keys[:, BOUNDARY] = BOUNDARY
    best = ngrams.score(keys[:, cipher]).max()
    found = BeamSearch(ngrams, beam=len(choices)).find_key(cipher)
    assert ngrams.score(found[cipher]) == pytest.approx(best, rel=1e-5)


def test_the_score_that_it_goes_by_is_that_of_the_text_in_the_end(ngrams, monkeypatch):
    ends = []
    extend = BeamSearch._extend
    monkeypatch.setattr(BeamSearch, "_extend", lambda *given: ends.append(extend(*given)) or ends[-1])
    cipher = symbols_of(Key.random(np.random.default_rng(0)).encrypt(language(9, seed=3)), 6)
    BeamSearch(ngrams, beam=7).find_key(cipher)
    assert len(ends[-1].keys) == 7
    assert ends[-1].scores == pytest.approx(ngrams.score(ends[-1].keys[:, cipher]), rel=1e-4)
    assert (np.diff(ends[-1].scores) <= 0).all()


def test_what_is_hoped_for_the_rest_is_the_best_that_letters_alone_can_give(ngrams):
    searcher = BeamSearch(ngrams)
    free = searcher._start().free
    rest = np.array([5, 3, 1])
    hopes = searcher._hopes(free, rest)
    alone = {letter: float(ngrams.logs(0, letter, 0)) for letter in range(26)}
    for place, chosen in enumerate(free[0]):
        left = [alone[letter] for letter in free[0] if letter != chosen]
        assert hopes[0, place] == pytest.approx(np.dot(left[:3], rest), rel=1e-5)


@pytest.mark.parametrize("seed", range(2))
def test_a_long_text_under_a_known_key_is_recovered_to_the_letter(ngrams, seed):
    plain = language(30, seed=seed) + "!"
    cipher = Key.random(np.random.default_rng(seed)).encrypt(plain)
    assert cipher != plain
    assert BeamSearch(ngrams, beam=100).solve(cipher) == plain


def test_a_wide_beam_loses_to_no_narrow_one_and_to_no_climber(ngrams, texts):
    cipher = Key.random(np.random.default_rng(5)).encrypt(language(6, seed=11))
    scores = [float(ngrams.score(symbols_of(BeamSearch(ngrams, beam).solve(cipher), 6))) for beam in (1, 10, 1000)]
    climbed = HillClimber(CharNgrams.count(texts, 4), climbs=5).solve(cipher, np.random.default_rng(0))
    assert scores[0] < scores[2] - 1
    assert scores[1] <= scores[2] + 1e-3
    assert float(ngrams.score(symbols_of(climbed, 6))) <= scores[2] + 1e-3


def test_the_answer_does_not_depend_on_the_size_of_parts(ngrams, monkeypatch):
    cipher = Key.random(np.random.default_rng(5)).encrypt(language(8, seed=11))
    whole = BeamSearch(ngrams, 50).solve(cipher)
    monkeypatch.setattr("alice.solving.beam.LOOKUPS_AT_ONCE", 100)
    assert BeamSearch(ngrams, 50).solve(cipher) == whole


@pytest.mark.parametrize("text", ["", "... !", "A", "THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG"])
def test_every_key_is_a_permutation_and_what_is_no_letter_stays(ngrams, text):
    found = BeamSearch(ngrams, 20)
    assert sorted(found.find_key(symbols_of(text, 6))) == list(range(27))
    answer = found.solve(text.lower())
    assert len(answer) == len(text)
    assert [c for c in answer if not c.isalpha()] == [c for c in text if not c.isalpha()]


def test_the_numbers_of_contexts_are_those_of_the_table(ngrams):
    symbols = symbols_of("QUI NAZO", 6)
    assert ngrams.score(symbols) == pytest.approx(
        ngrams.logs(number_ngrams(symbols[:-1], 5), symbols[5:], 5).sum(), rel=1e-6
    )
