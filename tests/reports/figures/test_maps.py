"""Attention maps and key matrices, cell by cell."""

import numpy as np
import pytest

from alice.errors import AliceError
from alice.reports.figures.maps import Marks, character_map, key_matrix, row_normalised, tiled_maps


def test_each_row_is_divided_by_its_largest_weight():
    weights = np.array([[0.5, 0.25, 0.25], [0, 0, 1], [0, 0, 0]])
    assert row_normalised(weights).tolist() == [[255, 128, 128], [0, 0, 255], [0, 0, 0]]
    assert row_normalised(weights).dtype == np.uint8


def test_tiles_stand_where_their_labels_say():
    weights = np.zeros((2, 3, 4, 4))
    weights[1, 2, 0, 3] = 1
    weights[0, 1, 2, 0] = 0.5
    figure = tiled_maps(weights, row_labels=["a", "b"], column_labels=["x", "y", "z"])
    picture = np.asarray(figure.data[0].z)
    assert picture.shape == (8, 12)
    assert {tuple(place) for place in np.argwhere(picture)} == {(4, 11), (2, 4)}
    assert list(figure.layout.xaxis.tickvals) == [1.5, 5.5, 9.5]
    assert list(figure.layout.yaxis.ticktext) == ["a", "b"]


def test_a_picture_of_many_maps_stays_small_and_loses_no_line():
    weights = np.broadcast_to(np.eye(300, dtype=np.float32), (12, 12, 300, 300))
    names = [str(number) for number in range(12)]
    picture = np.asarray(tiled_maps(weights, row_labels=names, column_labels=names).data[0].z)
    assert picture.dtype == np.uint8
    assert picture.shape == (960, 960)
    tile = picture[80:160, 160:240]
    assert (np.diag(tile) == 255).all()
    assert tile.sum() == 80 * 255


def test_a_map_shows_its_characters_and_weights():
    weights = np.array([[0.75, 0.25, 0], [0, 1, 0], [0.1, 0.2, 0.7]])
    figure = character_map(weights, "A B")
    assert figure.data[0].x == figure.data[0].y == ("A (0)", "\N{OPEN BOX} (1)", "B (2)")
    assert np.asarray(figure.data[0].customdata).tolist() == [[750, 250, 0], [0, 1000, 0], [100, 200, 700]]
    assert list(figure.layout.xaxis.ticktext) == ["A", "\N{OPEN BOX}", "B"]


def test_a_long_text_is_labelled_by_words():
    text = "TWENTY CHARACTERS OR " * 5
    axis = character_map(np.eye(len(text)), text).layout.yaxis
    assert list(axis.ticktext) == ["TWENTY", "CHARACTERS", "OR"] * 5
    assert list(axis.tickvals)[:4] == [0, 7, 18, 21]


def test_shapes_that_do_not_fit_are_refused():
    with pytest.raises(AliceError, match="does not fit a text of 2 characters"):
        character_map(np.eye(3), "AB")
    with pytest.raises(AliceError, match="1 rows and 2 columns have 1 and 1 labels"):
        tiled_maps(np.ones((1, 2, 3, 3)), row_labels=["a"], column_labels=["b"])


def test_marks_stand_where_their_letters_meet():
    marks = [Marks("right", np.array([0, 2]), np.array([1, 2])), Marks("none", np.array([], int), np.array([], int))]
    drawn = key_matrix(marks, "ABC", shaded=[1])
    (trace,) = drawn.data  # a group without marks is omitted
    assert list(zip(trace.y, trace.x, strict=True)) == [("A", "B"), ("C", "C")]
    assert trace.marker.line.color == drawn.layout.plot_bgcolor  # seen in the legend of a dark page, not in the matrix
    (band,) = drawn.layout.shapes
    assert (band.y0, band.y1) == (0.5, 1.5)
    assert drawn.layout.yaxis.range == (2.5, -0.5)


def test_the_ground_is_coloured_by_weight():
    drawn = key_matrix([], "AB", weights=np.array([[0.1, 0.9], [0.5, 0.5]]))
    assert np.array_equal(drawn.data[0].z, [[0.1, 0.9], [0.5, 0.5]])
    assert (drawn.data[0].zmin, drawn.data[0].zmax) == (0, 1)
