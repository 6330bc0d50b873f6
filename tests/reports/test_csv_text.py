"""The numbers behind a figure; anything that is damaged or not a number is omitted."""

import csv
import io

import numpy as np
import plotly.graph_objects as go
import pytest

from alice.reports import Figure
from alice.reports.csv_text import as_array, figure_csv
from alice.reports.figures import heatmap, layer_curve, slider


def csv_of(*traces, **options):
    figure = traces[0] if isinstance(traces[0], go.Figure) else go.Figure(traces, **options)
    return list(csv.reader(io.StringIO(figure_csv(Figure(figure)))))


@pytest.mark.parametrize("trace", [{"x0": "2020-01-01"}, {"dx": 86400000, "x0": "2020-01-01"}, {"x0": [1]}])
def test_places_that_are_not_numbers_are_omitted(trace):
    assert csv_of(go.Scatter(y=[1, 2], **trace)) == [["y"], ["1"], ["2"]]


def test_places_that_are_numbers_are_counted():
    assert csv_of(go.Scatter(y=[1, 2], x0=np.int64(5), dx=2)) == [["x", "y"], ["5", "1"], ["7", "2"]]


def test_a_curve_has_values_and_errors_but_not_its_band():
    assert csv_of(layer_curve({"a": [1.0, 2.0], "b": [3.0, 4.0]}, errors={"a": [0.1, 0.2]})) == [
        ["trace", "x", "y", "error_y_plus", "error_y_minus"],
        ["a", "0", "1.0", "0.1", "0.1"],
        ["a", "1", "2.0", "0.2", "0.2"],
        ["b", "0", "3.0", "", ""],
        ["b", "1", "4.0", "", ""],
    ]


def test_a_matrix_has_a_row_per_cell():
    assert csv_of(heatmap(np.array([[1.5, 2.0]]), x_labels="ab", y_labels="c")) == [
        ["x", "y", "z"], ["a", "c", "1.5"], ["b", "c", "2.0"],
    ]  # fmt: skip


def test_a_slider_has_every_step():
    assert csv_of(slider({"0": heatmap(np.array([[1.0]])), "5": heatmap(np.array([[2.0]]))})) == [
        ["step", "x", "y", "z"], ["0", "0", "0", "1.0"], ["5", "0", "0", "2.0"],
    ]  # fmt: skip


def test_any_kind_of_trace_and_its_frames_are_read():
    rows = csv_of(go.Pie(labels=["a", "b"], values=[1, 2]), frames=[go.Frame(name="f", data=[go.Bar(y=[7])])])
    assert rows == [["frame", "labels", "values", "x", "y"], ["", "a", "1", "", ""], ["", "b", "2", "", ""],
                    ["f", "", "", "0", "7"]]  # fmt: skip


@pytest.mark.parametrize(
    "packed",
    [
        {"dtype": "zz", "bdata": "AAAA"},
        {"dtype": "f4,(", "bdata": "AAAA"},
        {"dtype": "O", "bdata": "AAAAAAAAAAA="},
        {"dtype": "U1", "bdata": "/////w=="},
        {"dtype": "f8", "bdata": "AAAA"},
        {"dtype": "f8", "bdata": "A"},
        {"dtype": "f8", "bdata": 5},
        {"dtype": "i1", "bdata": "AAAA", "shape": "x"},
        {"dtype": "i1", "bdata": "AAAA", "shape": "9" * 30},
        {"dtype": "i1"},
        [[1], [1, 2]],
        "text",
    ],
)
def test_damaged_arrays_are_omitted(packed):
    assert as_array(packed) is None


def test_the_base64_of_plotly_is_read():
    assert as_array({"dtype": "i1", "bdata": "AAEC"}).tolist() == [0, 1, 2]
    assert csv_of(go.Heatmap(z=np.array([[1.0, 2.0]])))[1:] == [["0", "0", "1.0"], ["1", "0", "2.0"]]
