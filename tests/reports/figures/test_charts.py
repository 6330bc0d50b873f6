import numpy as np
import pytest

from alice.errors import AliceError
from alice.reports.figures import bars, heatmap, layer_curve, scatter_with_fit, slider, stacked_shares
from alice.reports.figures.theme import PALETTE, template


def luminance(color):
    channels = [int(color[start : start + 2], 16) / 255 for start in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(np.dot(linear, [0.2126, 0.7152, 0.0722]))


def contrast(one, other):
    bright, dark = sorted((luminance(one), luminance(other)), reverse=True)
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("color", PALETTE)
def test_every_colour_of_the_palette_can_be_seen_on_both_pages(color):
    assert contrast(color, "#ffffff") > 2.7
    assert contrast(color, "#1b1f24") > 3


@pytest.mark.parametrize(("mode", "page"), [("light", "#ffffff"), ("dark", "#1b1f24")])
def test_text_of_figures_is_readable(mode, page):
    assert contrast(template(mode)["layout"]["font"]["color"], page) > 7


def test_one_array_is_a_curve_over_the_layers():
    figure = layer_curve(np.array([0.9, 0.5, 0.1]))
    assert [list(trace.y) for trace in figure.data] == [[0.9, 0.5, 0.1]]
    assert list(figure.data[0].x) == [0, 1, 2]


def test_a_band_encloses_its_curve():
    figure = layer_curve({"a": [1.0, 2.0]}, errors={"a": [[0.1, 0.2], [0.3, 0.4]]})
    band, line = figure.data
    assert np.allclose(band.y, [1.3, 2.4, 1.8, 0.9])  # along the top, back along the bottom
    assert list(band.x) == [0, 1, 1, 0]
    assert list(line.error_y.array) == [0.3, 0.4]
    assert band.fillcolor.startswith("rgba(43,123,186")


def test_series_differ_in_colour_and_in_marker():
    figure = layer_curve({name: [1.0] for name in "abc"})
    assert len({trace.line.color for trace in figure.data}) == 3
    assert len({trace.marker.symbol for trace in figure.data}) == 3


def test_layers_may_have_names():
    assert list(layer_curve([1, 2], layers=["embed", "0"]).data[0].x) == ["embed", "0"]


@pytest.mark.parametrize(
    ("draw", "words"),
    [
        (lambda: layer_curve([1, 2], layers=[0]), "layers and the series"),
        (lambda: layer_curve([1, 2], errors=[1]), "errors and the values"),
        (lambda: layer_curve(np.ones((2, 2))), r"\(2, 2\)"),
        (lambda: heatmap(np.ones(3)), "matrix"),
        (lambda: heatmap(np.ones((2, 3)), x_labels="ab"), "x_labels has 2 entries for 3"),
        (lambda: bars([1, 2], labels="abc"), "labels has 3 entries for 2"),
        (lambda: scatter_with_fit([1], [1, 2]), "x and y"),
        (lambda: slider({}), "0 figures"),
        (lambda: slider({"0": heatmap(np.eye(2))}, start=1), "start at number 1"),
    ],
)
def test_arrays_that_do_not_fit_are_one_sentence(draw, words):
    with pytest.raises(AliceError, match=words):
        draw()


def test_a_diverging_scale_is_symmetric_about_zero():
    trace = heatmap(np.array([[-1.0, 3.0]]), diverging=True).data[0]
    assert (trace.zmin, trace.zmax) == (-3.0, 3.0)


def test_a_heatmap_of_nothing_but_nan_can_be_drawn():
    assert heatmap(np.full((2, 2), np.nan), diverging=True).data[0].zmax == 1.0


def test_the_fit_is_the_line_that_the_points_are_on():
    figure = scatter_with_fit([0.0, 1.0, 2.0, np.nan], [1.0, 3.0, 5.0, 0.0])
    assert np.allclose(figure.data[1].y, [1.0, 5.0])
    assert figure.data[1].name == "least squares, r = 1.000"


def test_points_in_a_column_have_no_fit():
    assert len(scatter_with_fit([1.0, 1.0, 1.0], [1.0, 2.0, 3.0]).data) == 1


def test_a_slider_shows_one_step_at_a_time():
    figure = slider({"0": heatmap(np.eye(2)), "1": heatmap(np.ones((2, 2)))}, start=1)
    assert [trace.visible for trace in figure.data] == [False, True]
    (control,) = figure.layout.sliders
    assert control.active == 1
    assert [step.args[0]["visible"] for step in control.steps] == [[True, False], [False, True]]


def test_a_slider_leaves_the_figures_it_was_given_alone():
    figure = heatmap(np.eye(2))
    slider({"0": figure, "1": figure})
    assert figure.data[0].visible is None


def test_bars_add_up_to_one_and_say_how_many_there_are():
    drawn = stacked_shares(
        np.array([[1, 3], [0, 0], [2, 0]]), starts=np.array([0, 5, 10]), width=5, names=["few", "many"]
    )
    few, many = drawn.data
    assert few.x.tolist() == [2.5, 12.5]  # an empty bin is omitted
    assert few.y.tolist() == [0.25, 1]
    assert (few.y + many.y).tolist() == [1, 1]
    assert many.text == ("0 to 4: 3 of 4 (75%)", "10 to 14: 0 of 2 (0%)")


def test_the_first_group_is_the_lightest():
    drawn = stacked_shares(np.ones((1, 4)), starts=np.zeros(1), width=5, names=list("abcd"))
    shades = [sum(map(int, trace.marker.color[4:-1].split(","))) for trace in drawn.data]
    assert shades == sorted(shades, reverse=True)


def test_counts_must_fit_bins_and_groups():
    with pytest.raises(AliceError, match="3 bins and 1 groups"):
        stacked_shares(np.ones((2, 1)), starts=np.zeros(3), width=5, names=["a"])
