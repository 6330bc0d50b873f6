import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from alice.text.pieces import LONGEST, SHORTEST, cut, with_pieces

TEXT = "A STITCH IN TIME SAVES NINE, BUT THE ONE WHO WAITS UNTIL THE WHOLE SEAM IS OPEN WILL NEED A LONGER THREAD"


@given(st.lists(st.text("AB,", min_size=1, max_size=80), max_size=40), st.integers(0, 100))
def test_a_piece_consists_of_successive_whole_words(words, seed):
    piece = cut(" ".join(words), np.random.default_rng(seed))
    if piece is not None:
        assert f" {piece} " in f" {' '.join(words)} "
        assert SHORTEST <= len(piece) <= LONGEST
        assert piece != " ".join(words)


def test_pieces_have_all_lengths_and_come_from_all_places():
    rng = np.random.default_rng(0)
    pieces = {piece for _ in range(2000) if (piece := cut(TEXT, rng)) is not None}
    assert min(map(len, pieces)) <= SHORTEST + 2
    assert max(map(len, pieces)) >= LONGEST - 2
    assert {TEXT.find(piece) for piece in pieces} >= {0, TEXT.index("IN"), TEXT.index("A LONGER THREAD")}


def test_a_text_that_is_too_short_has_no_pieces():
    assert list(with_pieces(["TIME FLIES NOW"], 3, np.random.default_rng(0))) == ["TIME FLIES NOW"]


def test_each_text_is_followed_by_up_to_so_many_pieces_of_it():
    found = list(with_pieces([TEXT, TEXT.replace("A", "E")], 2, np.random.default_rng(1)))
    assert [text for text in found if len(text) == len(TEXT)] == [TEXT, TEXT.replace("A", "E")]
    assert 2 < len(found) <= 6
    assert list(with_pieces([TEXT], 0, np.random.default_rng(1))) == [TEXT]
