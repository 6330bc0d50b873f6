import pytest
from hypothesis import given
from hypothesis import strategies as st

from alice.errors import AliceError
from alice.text.segments import segments


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
