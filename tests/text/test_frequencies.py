"""How often letters occur in English."""

import pytest

from alice.text import LETTERS, LEWAND, lewand


def test_lewands_table_is_of_all_letters_in_percent():
    assert "".join(LEWAND) == LETTERS
    assert sum(LEWAND.values()) == pytest.approx(100, abs=0.01)
    assert sorted(LEWAND, key=LEWAND.__getitem__)[::-1][:6] == list("ETAOIN")
    assert lewand()[4] == pytest.approx(0.12702)
