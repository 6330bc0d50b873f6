"""The hill climber against scores computed one by one, and against keys that are known."""

import random
from itertools import combinations

import numpy as np
import pytest
from made_up_language import language

from alice.solving.hill_climbing import ORDER, HillClimber, has_subbreaker, open_subbreaker, swapped
from alice.solving.language_model import BOUNDARY, CharNgrams, symbols_of
from alice.text.cipher import Key

needs_subbreaker = pytest.mark.skipif(not has_subbreaker(), reason="subbreaker is not installed")
PLAIN = (
    "IT WAS THE BEST OF TIMES, IT WAS THE WORST OF TIMES, IT WAS THE AGE OF WISDOM, IT WAS THE AGE OF FOOLISHNESS, "
    "IT WAS THE EPOCH OF BELIEF, IT WAS THE EPOCH OF INCREDULITY, IT WAS THE SEASON OF LIGHT"
)


@pytest.fixture(scope="module")
def quadgrams():
    return CharNgrams.count((language(40, seed=seed) for seed in range(100, 300)), ORDER)


def test_the_scores_of_all_swaps_are_those_of_rescoring_every_swapped_text(quadgrams):
    cipher = symbols_of(Key.random(np.random.default_rng(3)).encrypt(language(12, seed=5)), ORDER)
    key = np.append(np.random.default_rng(4).permutation(26), BOUNDARY)
    together = quadgrams.score(swapped(key)[:, cipher])
    for number, (one, other) in enumerate(combinations(range(26), 2)):
        changed = key.copy()
        changed[[one, other]] = changed[[other, one]]
        assert together[number] == pytest.approx(float(quadgrams.score(changed[cipher])), rel=1e-5)


def test_a_climb_never_falls_and_ends_where_no_swap_helps(quadgrams):
    cipher = symbols_of(Key.random(np.random.default_rng(3)).encrypt(language(30, seed=5)), ORDER)
    start = np.append(np.random.default_rng(4).permutation(26), BOUNDARY)
    key, score = HillClimber(quadgrams).climb(cipher, start)
    assert score > float(quadgrams.score(start[cipher]))
    assert score == pytest.approx(float(quadgrams.score(key[cipher])))
    assert quadgrams.score(swapped(key)[:, cipher]).max() <= score
    assert sorted(key) == list(range(27))


@pytest.mark.parametrize("seed", range(2))
def test_a_long_text_under_a_known_key_is_recovered_to_the_letter(quadgrams, seed):
    plain = language(45, seed=seed) + "!"
    cipher = Key.random(np.random.default_rng(seed)).encrypt(plain)
    assert cipher != plain
    assert HillClimber(quadgrams, agree=2).solve(cipher, np.random.default_rng(0)) == plain


def test_it_is_not_recovered_with_the_table_of_another_language():
    plain = language(45, seed=0)
    cipher = Key.random(np.random.default_rng(0)).encrypt(plain)
    reversed_language = CharNgrams.count((language(40, seed=seed)[::-1] for seed in range(100, 120)), ORDER)
    assert HillClimber(reversed_language, climbs=5).solve(cipher, np.random.default_rng(0)) != plain


def test_one_seed_gives_one_answer_and_a_text_without_letters_stays(quadgrams):
    climber = HillClimber(quadgrams, climbs=2)
    cipher = Key.random(np.random.default_rng(9)).encrypt(language(6, seed=8))
    answers = {climber.solve(given, np.random.default_rng(1)) for given in (cipher, cipher, cipher.lower())}
    assert len(answers) == 1
    assert climber.solve("... !", np.random.default_rng(0)) == "... !"


def test_climbs_stop_when_the_best_top_was_reached_often_enough(quadgrams, monkeypatch):
    tops = iter([5.0, 9.0, 7.0, 9.0, 9.0, 11.0])
    taken = []
    monkeypatch.setattr(HillClimber, "climb", lambda self, cipher, key: taken.append(1) or (key, next(tops)))
    HillClimber(quadgrams, climbs=6, agree=3).find_key(symbols_of("ABC", ORDER), np.random.default_rng(0))
    assert len(taken) == 5


@needs_subbreaker
def test_subbreaker_solves_a_long_text_and_the_global_rng_state_is_restored():
    cipher = Key("QWERTYUIOPASDFGHJKLZXCVBNM").encrypt(PLAIN)
    before = random.getstate()
    answer = open_subbreaker(climbs=30, seed=0)(cipher)
    assert random.getstate() == before
    assert sum(said == meant for said, meant in zip(answer, PLAIN, strict=True)) > 0.9 * len(PLAIN)


@needs_subbreaker
def test_one_seed_gives_one_answer_and_a_text_too_short_for_it_comes_back():
    solve = open_subbreaker(climbs=1, seed=3)
    assert solve("QEB NRFZH YOLTK CLU") == solve("QEB NRFZH YOLTK CLU")
    assert solve("A, B.") == "A, B."
