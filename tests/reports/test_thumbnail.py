import re

import numpy as np
import plotly.graph_objects as go
import pytest

from alice.reports import Figure, figures
from alice.reports.thumbnail import sketch as sketch_of


def sketch(figure):
    return sketch_of(Figure(figure).json)


def cells(drawn):
    return drawn.count("h1v1h-1z")


def test_a_falling_curve_is_sketched_as_a_falling_line():
    points = re.search(r'points="([^"]*)"', sketch(figures.layer_curve([1.0, 0.5, 0.0], errors=[0.1] * 3)))[1]
    heights = [float(point.split(",")[1]) for point in points.split()]
    assert heights == sorted(heights)  # in SVG, down is more
    assert len(heights) == 3


def test_bars_are_as_high_as_their_values():
    bars = re.findall(r"M[\d.]+ ([\d.]+)V([\d.]+)h", sketch(figures.bars([1, 2, -4])))
    heights = [float(floor) - float(top) for floor, top in bars]
    assert heights[1:] == pytest.approx([2 * heights[0], -4 * heights[0]], rel=0.02)


def test_a_matrix_is_sketched_where_it_is_large():
    drawn = sketch(figures.heatmap(np.diag([1.0, 2.0, 4.0])))
    assert cells(drawn) == 3
    assert "M2 2h1" in drawn  # the first row is on top
    assert "M2 0h1" in sketch(go.Figure(go.Heatmap(z=np.eye(3))))  # and at the bottom on an ordinary axis


def test_the_two_signs_of_a_matrix_have_two_colours():
    assert len(set(re.findall(r'fill="(#\w+)"', sketch(figures.heatmap(np.array([[-1.0, 0.0, 1.0]])))))) == 2


def test_a_large_matrix_and_a_long_curve_are_thinned_out():
    assert cells(sketch(figures.heatmap(np.ones((500, 500)) + np.eye(500)))) <= 36 * 36
    assert len(sketch(figures.layer_curve(np.arange(10_000.0)))) < 5000


def test_only_what_is_visible_in_the_first_panel_is_sketched():
    steps = {"0": figures.heatmap(np.eye(2)), "1": figures.heatmap(np.ones((5, 5)) - np.eye(5))}
    assert cells(sketch(figures.slider(steps, start=1))) == 20
    hidden = [go.Scatter(y=[1, 2], xaxis="x2"), go.Scatter(y=[1, 2], visible="legendonly"), go.Scatter(y=[3, 4])]
    assert sketch(go.Figure(hidden)).count("<polyline") == 1


@pytest.mark.parametrize(
    "figure",
    [
        go.Figure(),
        go.Figure(go.Scatter(y=[])),
        go.Figure(go.Scatter(y=[None, float("nan")])),
        go.Figure(go.Heatmap(z=[[None]])),
        go.Figure(go.Pie(values=[1, 2])),
        go.Figure(go.Scatter(y=[1e300, 10**400])),
    ],
)
def test_a_figure_without_numbers_has_no_sketch(figure):
    assert sketch(figure) == ""


@pytest.mark.parametrize(
    "figure",
    [
        go.Figure(go.Scatter(y=[1])),
        go.Figure(go.Scatter(x=["a", "b"], y=[1, None])),
        go.Figure(go.Scatter(y=[1, 10, -1], mode="markers"), layout={"yaxis": {"type": "log"}}),
        go.Figure(go.Bar(x=["a"], y=[-1])),
        go.Figure(go.Scatter(x=["2020-01-01", "2021-01-01"], y=np.array([1, 2], dtype="i2"))),
        go.Figure(go.Scatter(x=[0, 1], y=[-9e99, 9e99])),
    ],
)
def test_odd_figures_are_sketched_with_plain_numbers(figure):
    drawn = sketch(figure)
    assert drawn.startswith("<svg xmlns=")
    assert "nan" not in drawn
    assert "inf" not in drawn


def test_only_plain_colours_get_into_a_sketch():
    assert 'stroke="#2b7bba"' in sketch(go.Figure(go.Scatter(y=[1, 2], line={"color": "red"})))
    assert 'stroke="#123456"' in sketch(go.Figure(go.Scatter(y=[1, 2], line={"color": "#123456"})))
