import numpy as np
import pytest

from alice.reports.figures.panels import DASHES, MOST_MARKERS, Panel, level_and_change, line_panels
from alice.reports.figures.theme import PALETTE


def test_a_name_has_one_colour_and_one_entry_in_the_legend():
    left = Panel({"a": ([1, 2], [3, 4]), "b": ([1], [2])}, "x", "y", title="Left")
    right = Panel({"b": ([5, 6, 7], [1, 1, 1])}, log=True, y_range=(0, 1))
    figure = line_panels(left, right)
    assert [trace.name for trace in figure.data] == ["a", "b", "b"]
    assert [trace.showlegend for trace in figure.data] == [True, True, False]
    assert [trace.line.color for trace in figure.data] == [PALETTE[0], PALETTE[1], PALETTE[1]]
    assert [trace.xaxis for trace in figure.data] == ["x", "x", "x2"]
    assert (figure.layout.xaxis.type, figure.layout.xaxis2.type) == ("linear", "log")
    assert figure.layout.xaxis.title.text == "x"
    assert figure.layout.yaxis2.range == (0, 1)
    assert figure.layout.annotations[0].text == "Left"


def test_more_lines_than_colours_differ_in_their_dashes():
    names = [str(number) for number in range(len(PALETTE) + 1)]
    first, *_, last = line_panels(Panel({name: ([1], [1]) for name in names})).data
    assert first.line.color == last.line.color
    assert (first.line.dash, last.line.dash) == DASHES[:2]


def test_a_long_line_has_no_markers():
    short, long = (list(range(count)) for count in (MOST_MARKERS, MOST_MARKERS + 1))
    figure = line_panels(Panel({"short": (short, short), "long": (long, long)}))
    assert [trace.mode for trace in figure.data] == ["lines+markers", "lines"]


def test_panels_share_the_width_evenly():
    figure = line_panels(*[Panel({"a": ([1], [1])})] * 3)
    widths = [high - low for low, high in (figure.layout[name].domain for name in ("xaxis", "xaxis2", "xaxis3"))]
    assert widths == pytest.approx([0.8 / 3] * 3)
    assert figure.layout.xaxis3.domain[1] == pytest.approx(1)


def test_the_left_panel_has_the_values_and_the_right_one_what_each_layer_adds():
    figure = level_and_change(
        {"1": [0.2, 0.5, 0.4], "2": np.array([0.0, 0.1, 0.9])}, y_title="cosine", legend_title="n"
    )
    assert [(trace.name, trace.xaxis) for trace in figure.data] == [("1", "x"), ("2", "x"), ("1", "x2"), ("2", "x2")]
    assert [trace.x.tolist() for trace in figure.data[::2]] == [[0, 1, 2], [1, 2]]
    assert figure.data[2].y == pytest.approx([0.3, -0.1])
    assert figure.data[3].y == pytest.approx([0.1, 0.8])
    # One entry in the legend for both panels, and a colour for each series.
    assert [trace.showlegend for trace in figure.data] == [True, True, False, False]
    assert figure.data[0].line.color == figure.data[2].line.color != figure.data[1].line.color
    assert [note.text for note in figure.layout.annotations] == ["cosine", "change from the layer before"]
    assert figure.layout.legend.title.text == "n"


def test_one_series_is_enough():
    assert len(level_and_change({"1": [0.0, 1.0]}, y_title="cosine").data) == 2
