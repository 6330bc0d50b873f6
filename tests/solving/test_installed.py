"""The solver by others is asked as it wants to be, and leaves the dice alone."""

import random

import pytest

from alice.solving.installed import has_subbreaker, open_subbreaker
from alice.text.cipher import Key

pytestmark = pytest.mark.skipif(not has_subbreaker(), reason="subbreaker is not installed")
PLAIN = (
    "IT WAS THE BEST OF TIMES, IT WAS THE WORST OF TIMES, IT WAS THE AGE OF WISDOM, IT WAS THE AGE OF FOOLISHNESS, "
    "IT WAS THE EPOCH OF BELIEF, IT WAS THE EPOCH OF INCREDULITY, IT WAS THE SEASON OF LIGHT"
)


def test_subbreaker_solves_a_long_text_and_the_global_dice_are_as_before():
    cipher = Key("QWERTYUIOPASDFGHJKLZXCVBNM").encrypt(PLAIN)
    before = random.getstate()
    answer = open_subbreaker(climbs=30, seed=0)(cipher)
    assert random.getstate() == before
    assert sum(said == meant for said, meant in zip(answer, PLAIN, strict=True)) > 0.9 * len(PLAIN)


def test_one_seed_gives_one_answer_and_a_text_too_short_for_it_comes_back():
    solve = open_subbreaker(climbs=1, seed=3)
    assert solve("QEB NRFZH YOLTK CLU") == solve("QEB NRFZH YOLTK CLU")
    assert solve("A, B.") == "A, B."
