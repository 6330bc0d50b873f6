"""Texts that share a long passage are found, and only those."""

import numpy as np
import pytest

from alice.text import overlap
from alice.text.overlap import overlapping


def by_hand(texts, others, length):
    passages = {other[i : i + length] for other in others for i in range(len(other) - length + 1)}
    return [any(text[i : i + length] in passages for i in range(len(text) - length + 1)) for text in texts]


@pytest.mark.parametrize("length", [1, 2, 5, 7, 8, 30])
@pytest.mark.parametrize("at_once", [1, 3, 1000])
def test_it_finds_what_comparing_all_passages_finds(length, at_once, monkeypatch):
    monkeypatch.setattr(overlap, "_TEXTS_AT_ONCE", at_once)
    rng = np.random.default_rng(length)
    texts, others = (["".join(rng.choice(list("AB "), size=n)) for n in rng.integers(0, 60, 12)] for _ in range(2))
    others += [f"XY{text[3:40]}Z" for text in texts[:4]]
    found = overlapping(texts, iter(others), length=length)
    assert found.tolist() == by_hand(texts, others, length)


def test_thirty_characters_in_a_row_are_an_overlap_and_twenty_nine_are_not():
    passage = "ALL THAT GLITTERS IS NOT GOLD, THEY SAY."
    texts = [passage[:30], passage[:29], "", "NOTHING LIKE IT WAS EVER SAID IN THIS CORPUS."]
    assert overlapping(texts, [f"AS {passage}"]).tolist() == [True, False, False, False]


def test_a_passage_across_two_texts_is_none():
    assert overlapping(["ABCDEFGH"], ["XXABCD", "EFGHXX"], length=6).tolist() == [False]


def test_nothing_overlaps_with_nothing():
    assert overlapping(["A" * 40], []).tolist() == [False]
    assert overlapping([], ["A" * 40]).tolist() == []
