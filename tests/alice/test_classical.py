"""The hill climber against scores worked out one by one, and against keys that are known."""

from itertools import combinations
from math import log

import numpy as np
import pytest

from alice.cipher import Key
from alice.classical import BOUNDARY, HillClimber, Quadgrams, quadgrams_of, swapped, symbols_of
from alice.errors import AliceError

SYLLABLES = ("BA", "CHE", "DI", "FOR", "GU", "HAN", "JEL", "KI", "LOM", "MUR", "NA", "PEX", "QUI", "RO", "STU", "TAV")
SYLLABLES += ("WEY", "ZO")


def language(words, *, seed):
    """Return text of a made-up language: words of one to three syllables from a fixed list, common ones more often."""
    dictionary = np.random.default_rng(1)
    known = ["".join(dictionary.choice(SYLLABLES, dictionary.integers(1, 4))) for _ in range(150)]
    chance = 1 / np.arange(1, 151)
    return " ".join(np.random.default_rng(seed).choice(known, words, p=chance / chance.sum()))


@pytest.fixture(scope="module")
def quadgrams():
    return Quadgrams.count(language(40, seed=seed) for seed in range(100, 300))


def test_all_that_is_no_letter_is_one_boundary():
    letters = [0, 1, BOUNDARY, 25]
    assert symbols_of('ab, -- "z!').tolist() == [BOUNDARY] * 3 + letters + [BOUNDARY]
    assert symbols_of("AB Z").tolist() == [BOUNDARY] * 3 + letters + [BOUNDARY]
    assert symbols_of("  A").tolist() == [BOUNDARY] * 3 + [0, BOUNDARY]


def test_quadgrams_are_numbers_to_the_base_27():
    assert quadgrams_of(np.array([1, 2, 3, 4, 5])).tolist() == [
        ((1 * 27 + 2) * 27 + 3) * 27 + 4,
        ((2 * 27 + 3) * 27 + 4) * 27 + 5,
    ]


def test_the_chances_of_a_tiny_language_are_those_worked_out_by_hand():
    logs = Quadgrams.count(["A"] * 3).logs.reshape(27, 27, 27, 27)
    # Three times ###A and three times ##A#. Alone, A is 3 of 6 symbols, of two kinds.
    alone = (3 + 2 * 1 / 27) / (6 + 2)
    after_one = (3 + alone) / (3 + 1)  # after #, A comes three times and nothing else: one kind
    after_two = (3 + after_one) / (3 + 1)
    after_three = (3 + after_two) / (3 + 1)
    assert logs[BOUNDARY, BOUNDARY, BOUNDARY, 0] == pytest.approx(log(after_three))
    assert logs[1, BOUNDARY, BOUNDARY, 0] == pytest.approx(log(after_two))
    assert logs[1, 2, 3, 0] == pytest.approx(log(alone))


@pytest.mark.parametrize("texts", [["A"], ["ABBA, BA!", "..."], ["THE CAT SAT", "ON A MAT", "Z"]])
def test_chances_after_any_three_symbols_add_up_to_one(texts):
    chances = np.exp(Quadgrams.count(texts).logs.astype(float)).reshape(-1, 27)
    assert chances.sum(1) == pytest.approx(np.ones(27**3), rel=1e-4)
    assert (chances > 0).all()


@pytest.mark.parametrize("texts", [[], ["..."]])
def test_no_letters_make_no_table(texts):
    with pytest.raises(AliceError, match="no letter to count"):
        Quadgrams.count(texts)


def test_the_scores_of_all_swaps_are_those_of_rescoring_every_swapped_text(quadgrams):
    cipher = symbols_of(Key.random(np.random.default_rng(3)).encrypt(language(12, seed=5)))
    key = np.append(np.random.default_rng(4).permutation(26), BOUNDARY)
    together = quadgrams.score(swapped(key)[:, cipher])
    for number, (one, other) in enumerate(combinations(range(26), 2)):
        changed = key.copy()
        changed[[one, other]] = changed[[other, one]]
        plain = changed[cipher]
        alone = sum(float(quadgrams.logs[quadgrams_of(plain[at : at + 4])[0]]) for at in range(len(plain) - 3))
        assert together[number] == pytest.approx(alone, rel=1e-5)


def test_a_climb_never_falls_and_ends_where_no_swap_helps(quadgrams):
    cipher = symbols_of(Key.random(np.random.default_rng(3)).encrypt(language(30, seed=5)))
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
    reversed_language = Quadgrams.count(language(40, seed=seed)[::-1] for seed in range(100, 120))
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
    HillClimber(quadgrams, climbs=6, agree=3).find_key(symbols_of("ABC"), np.random.default_rng(0))
    assert len(taken) == 5
