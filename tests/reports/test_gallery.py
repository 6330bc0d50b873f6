import re
from html import unescape

import numpy as np
import plotly.graph_objects as go
import pytest

from alice.errors import AliceError
from alice.reports import Result, figures
from alice.reports.gallery import read_entries, render_gallery, write_gallery
from alice.reports.publish import publish
from alice.reports.thumbnail import sketch

EVIL = "<script>window.pwned=1</script>\"'&"


@pytest.fixture
def runs(tmp_path, result, provenance):
    publish(
        tmp_path / "runs" / "old", Result("Old", metrics={"depth": 12}), {**provenance, "time": "2025-01-01T00:00:00"}
    )
    publish(tmp_path / "runs" / "new", result, provenance)
    return tmp_path / "runs"


def test_publishing_makes_a_folder_with_its_report_and_renews_the_gallery(runs):
    assert sorted(path.name for path in (runs / "new").iterdir()) == ["arrays.npz", "report.html", "result.json"]
    assert sorted(path.name for path in runs.iterdir()) == ["index.html", "new", "old", "plotly.min.js"]
    assert 'href="new/report.html"' in (runs / "index.html").read_text(encoding="utf-8")


def test_an_entry_says_what_ran_on_which_model_when_and_with_what_result(runs):
    entry = read_entries(runs)[0]
    assert (entry.name, entry.analysis, entry.model) == ("new", "early-exit", "tiny")
    assert (entry.date, entry.metric, entry.value) == ("2026-11-16 07:30", "error", "0.25")
    assert entry.picture.startswith("<svg")


def test_the_newest_run_comes_first(runs):
    assert [entry.name for entry in read_entries(runs)] == ["new", "old"]


def test_publishing_does_not_overwrite(runs, result):
    with pytest.raises(AliceError, match="already exists"):
        publish(runs / "new", result, {})


def test_a_failed_publication_leaves_nothing(tmp_path, result):
    with pytest.raises(AliceError, match="provenance contains"):
        publish(tmp_path / "bad", result, {"x": object()})
    assert not [path for path in tmp_path.iterdir() if path.name != "plotly.min.js"]


def break_json(folder):
    (folder / "result.json").write_text('{"format"')


def remove_json(folder):
    (folder / "result.json").unlink()


def remove_report(folder):
    (folder / "report.html").unlink()


def json_is_a_folder(folder):
    (folder / "result.json").unlink()
    (folder / "result.json").mkdir()


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        (break_json, "no valid JSON"),
        (remove_json, "no result.json"),
        (remove_report, "no report.html"),
        (json_is_a_folder, "no result.json"),
    ],
)
def test_a_broken_run_is_named_with_a_reason_and_the_others_are_shown(runs, damage, reason):
    damage(runs / "new")
    entries = {entry.name: entry for entry in read_entries(runs)}
    assert reason in entries["new"].problem
    assert "\n" not in entries["new"].problem
    assert not entries["old"].problem
    page = render_gallery(runs)
    assert "Not shown" in page
    assert 'href="old/report.html"' in page


def test_a_folder_that_is_being_written_is_passed_over(runs):
    (runs / ".draft.1234.tmp").mkdir()
    assert "draft" not in render_gallery(runs)


def test_a_run_that_changed_is_read_again(runs, result, provenance):
    from alice.reports.archive import write_result

    read_entries(runs)
    write_result(runs / "old", Result("Changed title"), provenance)
    assert "Changed title" in [entry.title for entry in read_entries(runs)]


def test_an_empty_folder_says_how_to_begin(tmp_path):
    assert "alice-interp run" in render_gallery(tmp_path)


def test_a_missing_folder_is_told(tmp_path):
    with pytest.raises(AliceError, match="cannot be read"):
        write_gallery(tmp_path / "nowhere")


def test_a_page_of_somebody_else_is_not_overwritten(tmp_path):
    (tmp_path / "index.html").write_text("mine")
    with pytest.raises(AliceError, match="no gallery of alice-interp"):
        write_gallery(tmp_path)
    assert (tmp_path / "index.html").read_text() == "mine"


def test_no_name_becomes_an_element(tmp_path, result):
    folder = tmp_path / "<img src=x onerror=window.pwned=1>"
    hostile = Result(EVIL, metrics={EVIL: EVIL}, figures=result.figures)
    publish(folder, hostile, {"analysis": EVIL, "checkpoint": EVIL, "time": EVIL})
    (tmp_path / "<script>window.pwned=2<").mkdir()
    page = render_gallery(tmp_path)
    assert not re.search(r"<img|<script>window\.pwned", page)
    assert unescape(page).count(EVIL) >= 3
    assert 'href="%3Cimg%20src%3Dx%20onerror%3Dwindow.pwned%3D1%3E/report.html"' in page


def test_a_falling_curve_is_sketched_as_a_falling_line():
    points = re.search(r'points="([^"]*)"', sketch(figures.layer_curve([1.0, 0.5, 0.0])))[1]
    heights = [float(point.split(",")[1]) for point in points.split()]
    assert heights == sorted(heights)  # in SVG, down is more


def test_the_bars_of_a_sketch_are_as_high_as_their_values():
    heights = [float(height) for height in re.findall(r'height="([\d.]+)"', sketch(figures.bars([1, 2, 4])))]
    assert heights[1:] == pytest.approx([2 * heights[0], 4 * heights[0]], rel=0.02)


def test_a_matrix_is_sketched_where_it_is_large():
    assert sketch(figures.heatmap(np.eye(3))).count("<rect") == 3


def test_a_large_matrix_is_thinned_out():
    assert sketch(figures.heatmap(np.ones((500, 500)) + np.eye(500))).count("<rect") <= 36 * 36


def test_only_the_visible_step_of_a_slider_is_sketched():
    steps = {"0": figures.heatmap(np.eye(2)), "1": figures.heatmap(np.ones((5, 5)) - np.eye(5))}
    assert sketch(figures.slider(steps, start=1)).count("<rect") == 20


@pytest.mark.parametrize(
    "figure",
    [
        go.Figure(),
        go.Figure(go.Scatter(y=[])),
        go.Figure(go.Scatter(y=[None, float("nan")])),
        go.Figure(go.Heatmap(z=[[None]])),
        go.Figure(go.Pie(values=[1, 2])),
    ],
)
def test_what_cannot_be_sketched_gives_nothing(figure):
    assert sketch(figure) == ""


@pytest.mark.parametrize(
    "figure",
    [
        go.Figure(go.Scatter(y=[1])),
        go.Figure(go.Scatter(x=["a", "b"], y=[1, None])),
        go.Figure(go.Scatter(y=[1, 10], mode="markers"), layout={"yaxis": {"type": "log"}}),
        go.Figure(go.Bar(x=["a"], y=[-1])),
        go.Figure(go.Scatter(x=["2020-01-01", "2021-01-01"], y=np.array([1, 2], dtype="i2"))),
    ],
)
def test_odd_figures_are_sketched_with_plain_numbers(figure):
    drawn = sketch(figure)
    assert drawn
    assert "nan" not in drawn
    assert "inf" not in drawn.replace("</", "")


def test_a_colour_that_is_none_does_not_get_into_the_sketch():
    figure = go.Figure(go.Scatter(y=[1, 2], line={"color": "red"}))
    assert 'stroke="#2b7bba"' in sketch(figure)
