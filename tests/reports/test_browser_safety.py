"""No text of a result runs as a script, tried in a real browser."""

import time

import numpy as np
import plotly.graph_objects as go
import pytest

from alice.reports import Figure, Metric, Report, Result, Table, figures, read_report
from alice.reports.gallery import THUMBNAIL, write_gallery
from alice.reports.html import write_report
from alice.reports.publish import publish

EVIL = "<img src=x onerror=window.pwned=1><script>window.pwned=1</script><svg onload=window.pwned=1>\"'</script>"
LINK = '<a href="javascript:window.pwned=1" style="font-size:40px">click</a>'
PIXEL = "https://evil.example/pixel.png"
FOLDER = "evil <b>%20#?"
RIGHT_ARROW = "\ue014"


def hostile_result():
    layout = {
        "title": {"text": EVIL},
        "annotations": [{"text": LINK, "x": 0, "y": 1, "showarrow": False}],
        "xaxis": {"title": {"text": EVIL}},
        "legend": {"title": {"text": LINK}},
        "images": [{"source": PIXEL, "x": 0, "y": 1, "sizex": 1, "sizey": 1}],
    }
    bars = go.Figure(go.Bar(x=[EVIL, LINK], y=[1, 2], name=EVIL, text=[LINK, EVIL], showlegend=True), layout=layout)
    steps = figures.slider({EVIL: figures.heatmap(np.eye(2), x_labels=[EVIL, LINK]), LINK: figures.heatmap(np.eye(2))})
    return Result(
        EVIL,
        EVIL,
        [EVIL],
        [Metric("a", EVIL, unit=EVIL, model=EVIL, label=EVIL), Metric("a", EVIL, model="other")],
        tables={"t": Table(["a"], [[EVIL]], EVIL, {"a": EVIL}, ["a"])},
        figures={"bars": Figure(bars, EVIL), "steps": Figure(steps, LINK)},
    )


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile") / "runs"
    provenance = {"analysis": "a", "checkpoints": [{"name": EVIL, EVIL: EVIL}], EVIL: [EVIL, {LINK: EVIL}]}
    publish(Report(hostile_result(), provenance), folder).folder.rename(folder / FOLDER)
    svg = f'<svg xmlns="http://www.w3.org/2000/svg"><script>parent.pwned=1</script><image href="{PIXEL}"/></svg>'
    (folder / FOLDER / THUMBNAIL).write_text(svg)
    (folder / EVIL[:40].replace("/", "")).mkdir()
    write_gallery(folder)
    write_report(read_report(folder / FOLDER), out=folder.parent / "standalone.html", standalone=True)
    return folder.parent


PAGES = [f"runs/{FOLDER}/report.html", "standalone.html", "runs/index.html"]


@pytest.mark.parametrize("page", PAGES)
def test_no_text_of_a_result_runs_as_script(browser, place, page):
    browser.open(place / page)
    assert EVIL in browser.js("return document.body.innerText")
    for plot in browser.driver.find_elements("css selector", ".plot"):
        plot.send_keys(RIGHT_ARROW)  # the labels of the slider are drawn again
    for bar in browser.driver.find_elements("css selector", ".barlayer .point path"):
        browser.js("arguments[0].dispatchEvent(new MouseEvent('mousemove', {bubbles: true}))", bar)
    assert browser.js("return window.pwned") is None
    for strange in (
        "img:not(.sketch)",
        ".main-svg a",
        "[onerror]",
        "[onload]",
        "[onclick]",
        "figure script:not([type])",
    ):
        assert browser.js("return document.querySelectorAll(arguments[0]).length", strange) == 0, strange
    assert browser.requests() == []


@pytest.mark.parametrize("page", PAGES)
def test_a_script_that_slipped_in_would_be_stopped_by_the_policy(browser, place, page):
    browser.open(place / page)
    browser.complaints()
    browser.js(
        "const script = document.createElement('script');"
        "script.textContent = 'window.pwned = 1';"
        "const other = document.createElement('div');"
        "other.innerHTML = '<img src=x onerror=\"window.pwned = 1\">';"
        "document.body.append(script, other);"
    )
    time.sleep(0.3)
    assert browser.js("return window.pwned") is None
    assert len([message for message in browser.complaints() if "Content Security Policy" in message]) >= 2


def test_the_attack_of_these_tests_works_where_nothing_guards(browser, tmp_path):
    page = tmp_path / "open.html"
    page.write_text(f"<!doctype html><title>x</title><p>{EVIL}", encoding="utf-8")
    browser.open(page)
    browser.wait_for(lambda: browser.js("return window.pwned") == 1)
