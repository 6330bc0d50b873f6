import json

import pytest

from alice.cli.data.stats import measure
from alice.errors import AliceError
from alice.text.split import is_test


def test_known_texts_give_known_numbers():
    texts = ["AAB. " * 6 + "C", "D" * 32, "E" * 300]
    found = measure(iter(texts))
    assert (found.texts, found.characters) == (3, 31 + 32 + 300)
    assert found.length_bins == {"[0,32)": 1, "[32,64)": 1, "[64,128)": 0, "[128,256)": 0, "[256,)": 1}
    assert (found.length_quantiles[0.0], found.length_quantiles[0.5], found.length_quantiles[1.0]) == (31, 32, 300)
    assert {letter: count for letter, count in found.letters.items() if count} == {
        "A": 12,
        "B": 6,
        "C": 1,
        "D": 32,
        "E": 300,
    }
    assert sum(found.letter_shares.values()) == pytest.approx(1)
    assert found.test_share == sum(map(is_test, texts)) / 3


def test_the_numbers_survive_json():
    assert json.loads(json.dumps(measure(["SOME TEXT"]).to_json()))["texts"] == 1


def test_letters_beyond_a_to_z_are_not_taken_for_one():
    assert measure(["\u0141AÉ"]).letters["A"] == 1


def test_nothing_to_measure_is_an_error():
    with pytest.raises(AliceError, match="no text is left"):
        measure([])
