from alice.reports.line_panels import DASHES, MOST_MARKERS, Panel, line_panels
from alice.reports.theme import PALETTE


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
