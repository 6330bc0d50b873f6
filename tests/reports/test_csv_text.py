"""The numbers behind a figure: what is damaged or no number is left out."""

import csv
import io

import numpy as np
import plotly.graph_objects as go
import pytest

from alice.reports import Figure
from alice.reports.csv_text import as_array, figure_csv


def csv_of(trace):
    return list(csv.reader(io.StringIO(figure_csv(Figure(go.Figure(trace))))))


@pytest.mark.parametrize("trace", [{"x0": "2020-01-01"}, {"dx": 86400000, "x0": "2020-01-01"}, {"x0": [1]}])
def test_places_that_are_no_numbers_are_left_out_of_the_csv(trace):
    assert csv_of(go.Scatter(y=[1, 2], **trace)) == [["y"], ["1"], ["2"]]


def test_places_that_are_numbers_are_counted_in_the_csv():
    assert csv_of(go.Scatter(y=[1, 2], x0=np.int64(5), dx=2)) == [["x", "y"], ["5", "1"], ["7", "2"]]


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
    ],
)
def test_packed_numbers_that_are_damaged_are_left_out(packed):
    assert as_array(packed) is None
    assert as_array({"dtype": "i1", "bdata": "AAEC"}).tolist() == [0, 1, 2]
