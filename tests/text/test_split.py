import os
import re
from itertools import chain
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alice.errors import AliceError
from alice.text.alphabet import ENGLISH
from alice.text.corpus import open_corpus
from alice.text.split import is_test, select, split_of

QUOTES500K = Path(__file__).parents[2] / ".." / "shared" / "data" / "quotes500k.csv.gz"
LONG = os.environ.get("ALICE_LONG") == "1"
NUMBERED = [f"TEXT {chr(65 + i % 26)}{chr(65 + i // 26 % 26)}{chr(65 + i // 676)}" for i in range(17_576)]

KNOWN_TESTS = [
    "TEXT HAA",
    "TEXT BCA",
    "TEXT ECA",
    "TEXT PCA",
    "TEXT VEA",
    "TEXT WEA",
    "TEXT IFA",
    "TEXT YFA",
    "TEXT JGA",
    "TEXT OGA",
    "TEXT SGA",
    "TEXT NHA",
]
KNOWN_VALIDATION = ["TEXT QBA", "TEXT XBA", "TEXT SCA", "TEXT DDA", "TEXT CGA", "TEXT NGA", "TEXT QHA"]


def test_the_split_of_known_texts_never_changes():
    assert [text for text in NUMBERED[:200] if is_test(text)] == KNOWN_TESTS


def test_one_text_in_forty_is_a_test_text():
    assert sum(map(is_test, NUMBERED)) / len(NUMBERED) == pytest.approx(1 / 40, rel=0.15)


@given(st.text(alphabet=ENGLISH.symbols), st.text(alphabet=" .,!?-;:'\""))
def test_punctuation_and_spacing_do_not_change_the_split(text, noise):
    letters = re.sub("[^A-Z]", "", text)
    assert is_test(text) == is_test(letters) == is_test(noise.join(letters)) == is_test(noise + text)


def test_capitals_do_not_matter():
    assert [is_test(text.lower()) for text in NUMBERED] == [is_test(text) for text in NUMBERED]


def test_one_text_in_forty_is_a_validation_text():
    assert sum(split_of(text) == "validation" for text in NUMBERED) / len(NUMBERED) == pytest.approx(1 / 40, rel=0.15)
    assert [text for text in NUMBERED[:200] if split_of(text) == "validation"] == KNOWN_VALIDATION


def test_the_splits_share_nothing_and_make_up_the_whole_in_order():
    splits = {split: list(select(NUMBERED, split)) for split in ("train", "validation", "test")}
    assert sorted(chain(*splits.values())) == sorted(NUMBERED)
    for split, texts in splits.items():
        assert texts == [text for text in NUMBERED if split_of(text) == split]
    assert list(select(NUMBERED, "all")) == NUMBERED


def test_selecting_streams():
    def endless():
        while True:
            yield from NUMBERED

    assert is_test(next(select(endless(), "test")))


def test_an_unknown_split_is_an_error():
    with pytest.raises(AliceError, match="no split 'dev'; choose 'test', 'validation', 'train' or 'all'"):
        select([], "dev")


@pytest.mark.long
@pytest.mark.skipif(not (LONG and QUOTES500K.is_file()), reason="needs ALICE_LONG=1 and quotes500k.csv.gz")
def test_no_test_text_of_one_quote_corpus_is_a_training_text_of_the_other():
    splits = {}
    for source in ("quotes", str(QUOTES500K)):
        texts = list(open_corpus(source))
        splits[source] = [{re.sub("[^A-Z]", "", text) for text in select(texts, one)} for one in ("train", "test")]
    (train, test), (other_train, other_test) = splits.values()
    assert len((train | test) & (other_train | other_test)) > 100_000  # they do overlap
    assert not (train | other_train) & (test | other_test)
