"""Null models of n-grams: as accurate as an answer, in their own ways of being wrong."""

import numpy as np
import pytest

from alice.plugins.builtin.ngram.nulls import NULLS, null_models
from alice.text.alphabet import ENGLISH

PLAIN = ("THE QUICK BROWN FOX JUMPS OVER THE LAZY DOG.", "EVERY LETTER IS WRONG SOMEWHERE, OR NOWHERE.")
IDS = [ENGLISH.encode(text) for text in PLAIN]


def drawn(texts=(0, 1), numbers=(0, 1), draw=0):
    plain = np.concatenate([IDS[text] for text in texts])
    owner = np.repeat(np.arange(len(texts)), [len(IDS[text]) for text in texts])
    models = null_models(plain, owner, np.array(numbers), ENGLISH, seed=0, draw=draw)
    return plain, owner, dict(zip(NULLS, models, strict=True))


def answer(plain, owner, mistakes):
    """Return an answer with a given number of wrong letters in each text."""
    found = plain.copy()
    for text, count in enumerate(mistakes):
        letters = np.flatnonzero((owner == text) & np.isin(plain, ENGLISH.letter_ids))
        found[letters[:count]] = 27 - found[letters[:count]]  # never the same letter: ids are 1 to 26
    return found


@pytest.mark.parametrize("null", ["independent", "frequency"])
def test_characters_are_wrong_as_often_as_in_the_answer_and_only_letters(null):
    plain, owner, models = drawn()
    wrong = models[null].answers(plain, answer(plain, owner, (7, 20)), owner, 2) != plain
    assert np.bincount(owner[wrong]).tolist() == [7, 20]
    assert np.isin(plain[wrong], ENGLISH.letter_ids).all()


@pytest.mark.parametrize("null", ["symbols", "rare"])
def test_wrong_letters_are_wrong_everywhere_in_the_same_way(null):
    plain, owner, models = drawn()
    found = models[null].answers(plain, answer(plain, owner, (7, 20)), owner, 2)
    for text in (0, 1):
        pairs = {*zip(plain[owner == text].tolist(), found[owner == text].tolist(), strict=True)}
        assert len(pairs) == len({right for right, _ in pairs})
        assert abs((found != plain)[owner == text].sum() - (7, 20)[text]) <= 5  # as near as whole letters allow


def test_rare_letters_are_wrong_first():
    plain, owner, models = drawn((1,), (1,))
    found = models["rare"].answers(plain, answer(plain, owner, (6,)), owner, 1)
    counts = {letter: int((plain == letter).sum()) for letter in plain[found != plain].tolist()}
    assert set(counts.values()) == {1}


def test_without_errors_nothing_is_wrong_and_characters_that_are_not_letters_come_from_the_answer():
    plain, owner, models = drawn()
    other = np.where(np.isin(plain, ENGLISH.letter_ids), plain, ENGLISH.encode("!")[0])
    for model in models.values():
        assert np.array_equal(model.answers(plain, plain, owner, 2), plain)
        assert np.array_equal(model.answers(plain, other, owner, 2), other)


def test_what_is_drawn_for_a_text_depends_on_its_number_and_the_draw_alone():
    _, owner, both = drawn()
    _, _, alone = drawn((1,), (1,))
    _, _, again = drawn((1,), (1,), draw=1)
    for null in NULLS:
        assert np.array_equal(both[null].threshold[owner == 1], alone[null].threshold)
        assert np.array_equal(both[null].wrong[owner == 1], alone[null].wrong)
        assert not np.array_equal(again[null].wrong, alone[null].wrong)


def test_wrong_letters_drawn_by_frequency_are_mostly_frequent_ones():
    plain, owner = np.tile(IDS[0], 50), np.zeros(50 * len(IDS[0]), dtype=np.int64)
    models = dict(zip(NULLS, null_models(plain, owner, np.array([0]), ENGLISH, seed=0, draw=0), strict=True))
    shares = [
        float(np.isin(models[null].wrong, ENGLISH.encode("ETAOIN")).mean()) for null in ("independent", "frequency")
    ]
    assert shares == pytest.approx([6 / 26, 0.51], abs=0.05)
