import numpy as np

from alice.reports.key_matrix import Marks, key_matrix


def test_marks_stand_where_their_letters_meet():
    marks = [Marks("right", np.array([0, 2]), np.array([1, 2])), Marks("none", np.array([], int), np.array([], int))]
    drawn = key_matrix(marks, "ABC", shaded=[1])
    (trace,) = drawn.data  # a group without marks is left out
    assert list(zip(trace.y, trace.x, strict=True)) == [("A", "B"), ("C", "C")]
    assert trace.marker.line.color == drawn.layout.plot_bgcolor  # seen in the legend of a dark page, not in the matrix
    (band,) = drawn.layout.shapes
    assert (band.y0, band.y1) == (0.5, 1.5)
    assert drawn.layout.yaxis.range == (2.5, -0.5)


def test_the_ground_is_coloured_by_weight():
    drawn = key_matrix([], "AB", weights=np.array([[0.1, 0.9], [0.5, 0.5]]))
    assert np.array_equal(drawn.data[0].z, [[0.1, 0.9], [0.5, 0.5]])
    assert (drawn.data[0].zmin, drawn.data[0].zmax) == (0, 1)
