"""Groups of rows that share rare words, held out as probable books, on books of invented names."""

import numpy as np
import pytest
from made_up_books import BOOKS, ROWS, invented, make_library

from alice.errors import AliceError
from alice.text.books import SHARE, hold_out_books


@pytest.fixture(scope="module")
def library():
    return make_library(seed=3)


@pytest.fixture(scope="module")
def sides(library):
    return hold_out_books(library.rows)


def test_whole_books_are_held_out_and_nothing_else(library, sides):
    held_out = set(library.books[sides.held_out])
    assert set(library.books[sides.training]).isdisjoint(held_out)
    assert sides.held_out.sum() == ROWS * len(held_out)
    assert SHARE * len(library.rows) <= sides.held_out.sum() < SHARE * len(library.rows) + ROWS
    assert sides.training.sum() == ROWS * (BOOKS - len(held_out))


def test_a_group_is_one_book_and_entirely_held_out(library, sides):
    assert sides.groups
    for group in sides.groups:
        assert len(set(library.books[group])) == 1
        assert sides.held_out[group].all()


def test_the_choice_does_not_depend_on_the_order(library, sides):
    assert np.array_equal(hold_out_books(library.rows[::-1]).held_out[::-1], sides.held_out)


def test_a_row_with_names_of_two_books_is_not_trained_on_if_one_is_held_out(library):
    first = [library.rows[int(np.flatnonzero(library.books == book)[0])] for book in range(BOOKS)]
    mixed = [f"{one} {other}" for one, other in zip(first[::2], first[1::2], strict=True)]
    sides = hold_out_books([*library.rows, *mixed])
    assert (sides.held_out.astype(int) + sides.between + sides.training == 1).all()
    held_out = set(library.books[sides.held_out[: len(library.rows)]])
    assert held_out
    trained_on = [bool(side) for side in sides.training[len(library.rows) :]]
    assert trained_on == [held_out.isdisjoint({book, book + 1}) for book in range(0, BOOKS, 2)]


@pytest.mark.parametrize(
    "rows",
    [
        [],
        ["ONE ROW"],
        ["NOTHING TWICE", "IN ANY OF", "THESE THREE ROWS"],
        ["THE SAME WORDS EVERYWHERE"] * 500,
    ],
)
def test_rows_without_books_are_one_sentence(rows):
    with pytest.raises(AliceError, match="share rare words as the rows of one book do") as caught:
        hold_out_books(rows)
    assert "\n" not in str(caught.value)


def test_rows_with_random_words_are_not_books():
    rng = np.random.default_rng(0)
    words = invented(rng, 3000)
    with pytest.raises(AliceError, match="rows of one book"):
        hold_out_books([" ".join(rng.choice(words, 12)) for _ in range(2400)])


def test_rows_too_short_to_tell_books_apart_are_one_sentence(library):
    short = [" ".join(word for word in row.split() if word in library.book_of)[:31] for row in library.rows]
    with pytest.raises(AliceError, match=r"too close to the books to hold out|rows of one book do"):
        hold_out_books(short)
