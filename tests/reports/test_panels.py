import numpy as np
import pytest

from alice.reports.panels import level_and_change


def test_the_left_panel_has_the_values_and_the_right_one_what_each_layer_adds():
    figure = level_and_change(
        {"1": [0.2, 0.5, 0.4], "2": np.array([0.0, 0.1, 0.9])}, y_title="cosine", legend_title="n"
    )
    assert [(trace.name, trace.xaxis) for trace in figure.data] == [("1", "x"), ("1", "x2"), ("2", "x"), ("2", "x2")]
    assert [trace.x.tolist() for trace in figure.data[:2]] == [[0, 1, 2], [1, 2]]
    assert figure.data[1].y == pytest.approx([0.3, -0.1])
    assert figure.data[3].y == pytest.approx([0.1, 0.8])
    # One entry in the legend for both panels, and a colour for each series.
    assert [trace.showlegend for trace in figure.data] == [None, False, None, False]
    assert figure.data[0].line.color == figure.data[1].line.color != figure.data[2].line.color


def test_one_series_is_enough():
    assert len(level_and_change({"1": [0.0, 1.0]}, y_title="cosine").data) == 2
