"""Sources of several languages, segments of their texts, and the languages in turn."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from alice.errors import AliceError
from alice.text.multilingual import folder_sources, in_turn, named_sources, segments


def test_texts_come_in_turn_until_one_language_has_no_more():
    rows = list(in_turn({"en": ["A", "B", "C"], "la": iter(["X", "Y"]), "fr": ["P", "Q", "R", "S"]}))
    assert rows == [("A", "en"), ("X", "la"), ("P", "fr"), ("B", "en"), ("Y", "la"), ("Q", "fr")]


def test_files_of_a_folder_are_named_by_language(tmp_path):
    for name in ("la.txt.gz", "EN.csv", "README.md", ".txt"):
        (tmp_path / name).touch()
    assert folder_sources(tmp_path) == {"en": str(tmp_path / "EN.csv"), "la": str(tmp_path / "la.txt.gz")}


def test_a_language_has_one_file(tmp_path):
    for name in ("la.txt", "la.csv"):
        (tmp_path / name).touch()
    with pytest.raises(AliceError, match=r"two files for 'la', la.csv and la.txt"):
        folder_sources(tmp_path)


def test_a_folder_without_languages_is_refused(tmp_path):
    with pytest.raises(AliceError, match="has no file such as"):
        folder_sources(tmp_path)
    with pytest.raises(AliceError, match="is not a folder"):
        folder_sources(tmp_path / "nowhere")


def test_sources_can_be_named_one_by_one():
    assert named_sources(["LA=a=b.txt", "fr=hf:some/set:train"]) == {"la": "a=b.txt", "fr": "hf:some/set:train"}


@pytest.mark.parametrize(
    ("pairs", "complaint"),
    [
        (["latin.txt"], "does not name its language"),
        (["la="], "does not name its language"),
        (["=a.txt"], "does not name its language"),
        (["la=a.txt", "LA=b.txt"], "'la' twice"),
    ],
)
def test_what_names_no_language_or_one_twice_is_refused(pairs, complaint):
    with pytest.raises(AliceError, match=complaint):
        named_sources(pairs)


def test_words_are_joined_across_rows_until_the_length_is_reached():
    assert list(segments(["AB CD EF", "GHI JK", "LMNOP Q R"], at_least=5)) == ["AB CD", "EF GHI", "JK LMNOP"]


def test_what_does_not_fill_a_segment_is_dropped():
    assert list(segments(["ABC", "DE"], at_least=7)) == []


def test_a_word_longer_than_the_segment_stands_alone():
    assert list(segments(["ABCDEFGH IJ"], at_least=5)) == ["ABCDEFGH"]


@given(st.lists(st.text(alphabet="AB ")), st.integers(1, 12))
def test_segments_are_the_words_of_the_rows_in_order_each_as_short_as_may_be(rows, at_least):
    found = list(segments(rows, at_least))
    words = " ".join(rows).split()
    assert [word for segment in found for word in segment.split()] == words[: sum(len(s.split()) for s in found)]
    for segment in found:
        assert len(segment) >= at_least
        assert len(segment.rpartition(" ")[0]) < at_least


def test_segments_are_given_out_while_rows_come_in():
    def endless():
        while True:
            yield "WORD AFTER WORD"

    assert next(segments(endless(), 20)) == "WORD AFTER WORD WORD"


def test_segments_of_no_length_are_refused_at_once():
    with pytest.raises(AliceError, match="give 1 or more"):
        segments(["A"], 0)
