"""The pages in a real browser, from disk and served."""

import json
import shutil

import pytest

from alice.reports import Card, HeatText, Report, Result, Section, Table, gallery, read_report
from alice.reports.csv_text import figure_csv, table_csv
from alice.reports.html import write_report
from alice.reports.publish import publish
from alice.reports.server import serving

LIGHT_TEXT, DARK_TEXT = "rgb(51, 58, 65)", "rgb(205, 211, 217)"


@pytest.fixture(scope="module")
def standalone(published, tmp_path_factory):
    out = tmp_path_factory.mktemp("standalone") / "report.html"
    return write_report(read_report(published / "one"), out=out, standalone=True)


@pytest.fixture(scope="module", params=["in a gallery", "standalone"])
def any_report(report, standalone, request):
    return standalone if request.param == "standalone" else report


@pytest.fixture(scope="module")
def report(published):
    return published / "one" / "report.html"


def test_every_figure_is_drawn_from_disk_without_error_and_without_network(browser, any_report, result):
    browser.open(any_report)
    count = "return [...document.querySelectorAll('.plot')].map(plot => plot.querySelectorAll(arguments[0]).length)"
    assert browser.js(count, ".main-svg") == [3] * len(result.figures)
    assert browser.js(count, ".scatterlayer .trace") == [3, 0, 0, 0, 2, 1]  # a band and two lines; points and a fit
    assert browser.js(count, ".heatmaplayer image") == [0, 1, 1, 0, 0, 0]
    assert browser.js(count, ".barlayer .point") == [0, 0, 0, 26, 0, 0]
    assert browser.complaints() == []
    assert browser.requests() == []


def visible_step(browser):
    return browser.js(
        "const plot = document.querySelector('#figure-key .plot');"
        "return plot._fullData.findIndex(trace => trace.visible === true)"
    )


def test_the_layer_slider_moves_with_pointer_and_keys(browser, report):
    from selenium.webdriver import ActionChains, Keys

    browser.open(report)
    assert visible_step(browser) == 1
    rail = browser.find("#figure-key .slider-rail-touch-rect")
    end = int(rail.size["width"] * 0.45)
    ActionChains(browser.driver).move_to_element_with_offset(rail, end, 0).click().perform()
    browser.wait_for(lambda: visible_step(browser) == 2)
    browser.find("#figure-key .plot").send_keys(Keys.ARROW_LEFT)
    browser.wait_for(lambda: visible_step(browser) == 1)
    browser.find("#figure-key .plot").send_keys(Keys.ARROW_LEFT)
    browser.wait_for(lambda: visible_step(browser) == 0)
    browser.wait_for(lambda: browser.find("#figure-key .slider-label").text == "layer 0")
    assert browser.complaints() == []


def test_the_csv_that_is_downloaded_is_the_data(browser, any_report, result):
    browser.visit(any_report)
    browser.find("#figure-key [data-save=csv]").click()
    browser.find("#table-texts [data-save=csv]").click()
    assert browser.downloaded("key.csv").decode() == figure_csv(result.figures["key"])
    assert browser.downloaded("texts.csv").decode() == table_csv(result.tables["texts"])


def test_a_figure_is_saved_as_svg_and_png_from_its_own_toolbar(browser, any_report):
    browser.visit(any_report)
    browser.find('#figure-error [data-title="Download as SVG"]').click()
    svg = browser.downloaded("error.svg").decode()
    assert svg.startswith("<svg")
    assert "bijective" in svg
    assert LIGHT_TEXT in svg
    browser.find('#figure-error [data-title="Download as PNG"]').click()
    assert browser.downloaded("error.png").startswith(b"\x89PNG")
    assert browser.complaints() == []


def test_no_toolbar_leads_to_a_company(browser, report):
    browser.visit(report)
    titles = browser.js("return [...document.querySelectorAll('.modebar-btn')].map(button => button.dataset.title)")
    assert "Download as SVG" in titles
    assert not [title for title in titles if "loud" in title or "Share" in title or "Plotly" in title]


def look(browser):
    return browser.js(
        "const plot = document.querySelector('#figure-error .plot');"
        "const page = getComputedStyle(document.body).backgroundColor;"
        "return [page, getComputedStyle(plot.querySelector('.xtick text')).fill, plot.offsetHeight]"
    )


def test_the_theme_is_switched_with_the_figures_and_remembered(browser, report):
    browser.open(report)
    light = look(browser)
    assert light[1] == LIGHT_TEXT
    browser.find(".theme-toggle").click()
    browser.wait_for(lambda: look(browser)[1] == DARK_TEXT)
    dark = look(browser)
    assert dark[0] == "rgb(20, 23, 27)"
    assert dark[2] == light[2]
    browser.open(report)
    assert look(browser) == dark
    browser.find(".theme-toggle").click()
    browser.wait_for(lambda: look(browser) == light)


def test_paper_is_light_and_the_page_is_itself_again_afterwards(browser, report):
    browser.open(report)
    browser.find(".theme-toggle").click()
    browser.wait_for(lambda: look(browser)[1] == DARK_TEXT)
    before = look(browser)
    browser.js(
        "window.seen = [];"
        "const text = () => getComputedStyle(document.querySelector('#figure-error .xtick text')).fill;"
        "matchMedia('print').addEventListener('change', () => window.seen.push(text()))"
    )
    printed = browser.driver.execute_cdp_cmd("Page.printToPDF", {"preferCSSPageSize": True})
    assert printed["data"].startswith("JVBERi0")  # %PDF-
    assert browser.js("return window.seen[0]") == LIGHT_TEXT
    browser.wait_for(lambda: look(browser) == before)
    browser.find(".theme-toggle").click()


def test_tables_are_sorted_by_a_click(browser, report):
    browser.visit(report)
    order = "return [...document.querySelectorAll('#table-texts tbody tr')].map(row => row.cells[0].textContent)"
    browser.find("#table-texts th button").click()
    browser.find("#table-texts th button").click()
    assert browser.js(order) == ["2", "1", "0"]
    assert browser.find("#table-texts th").get_attribute("aria-sort") == "descending"


def test_long_text_in_a_wide_table_takes_few_lines(browser, tmp_path):
    text = "share of the KL divergence explained on held-out pools and steps"
    numbers = [f"number_{place}" for place in range(9)]
    table = Table(("claim", *numbers, "statistic"), [(text, *range(9), text)], "")
    report = publish(Report(Result("Wide", tables={"wide": table}), {"analysis": "wide"}), tmp_path / "runs")
    browser.open(report.folder / "report.html")
    row = browser.js("return document.querySelector('tbody tr').getBoundingClientRect().height")
    line = browser.js("return parseFloat(getComputedStyle(document.querySelector('tbody td')).lineHeight)")
    assert row < 4.5 * line


def test_the_page_fits_a_narrow_window(browser, report):
    size = {"width": 380, "height": 800, "deviceScaleFactor": 1, "mobile": True}
    browser.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        browser.open(report)
        assert browser.js("return document.documentElement.scrollWidth") == 380
        assert browser.js("return document.querySelector('.modebar-container').offsetHeight") == 0
    finally:
        browser.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


TITLES = "return [...document.querySelectorAll('.card h2')].map(title => title.textContent)"


def test_the_gallery_filters_and_leads_to_the_reports(browser, published, report):
    browser.open(published / "index.html")
    shown = TITLES
    assert browser.js(shown) == ["Depth", "Early exit — ünïcode"]
    browser.wait_for(lambda: browser.js("return [...document.images].map(image => image.naturalWidth > 0)") == [True])
    browser.find("#filter-text").send_keys("TINY dep")
    assert browser.js(shown) == ["Depth"]
    assert browser.find("#filter-count").text == "1 of 2 reports"
    for _ in "TINY dep":
        browser.find("#filter-text").send_keys("\b")
    browser.find("#filter-analysis").send_keys("early-exit")
    assert browser.js(shown) == ["Early exit — ünïcode"]
    assert browser.complaints() == []
    assert browser.requests() == []
    browser.find(".card a").click()
    browser.wait_for(lambda: browser.driver.current_url == report.as_uri())


def test_a_page_without_its_drawing_script_says_so(browser, report, tmp_path):
    alone = tmp_path / "moved" / "report.html"
    alone.parent.mkdir()
    shutil.copy(report, alone)
    browser.driver.get(alone.as_uri())
    browser.wait_for(lambda: "plotly.min.js" in browser.find("#figure-error p.undrawn").text)


def test_a_gallery_of_2000_reports_stays_usable(browser, published, tmp_path):
    folder = tmp_path / "runs"
    folder.mkdir()
    gallery.write_index(folder)
    entry = gallery.Entry(**json.loads((published / "one" / gallery.ENTRY).read_text()))
    listed = [gallery.Listed(f"number-{number:04}", entry) for number in range(2000)]
    (folder / gallery.ENTRIES).write_bytes(gallery.render_entries([*listed, gallery.Listed("odd", problem="broken")]))
    browser.open(folder / "index.html")
    assert browser.js("return performance.getEntriesByType('navigation')[0].domContentLoadedEventEnd") < 5000
    cards = "return document.querySelectorAll('.card').length"
    assert 60 <= browser.js(cards) <= 240  # as many as fill the window, and some more
    before = browser.js(cards)
    browser.find("#more")  # scrolls there
    browser.wait_for(lambda: browser.js(cards) > before)
    took = browser.js(
        "const begun = performance.now(); const field = document.getElementById('filter-text');"
        "field.value = 'number-1234'; field.dispatchEvent(new Event('input', {bubbles: true}));"
        "return performance.now() - begun"
    )
    assert took < 1000
    assert browser.find("#filter-count").text == "1 of 2000 reports"
    assert browser.js(cards) == 1
    assert browser.find(".broken li").text == "odd: broken"


@pytest.mark.parametrize("content", [None, "addReport({"])
def test_a_gallery_without_a_readable_list_says_so(browser, tmp_path, content):
    gallery.write_index(tmp_path)
    if content is not None:
        (tmp_path / gallery.ENTRIES).write_text(content)
    browser.open(tmp_path / "index.html")
    assert "cannot be read" in browser.find("#filter-count").text


def test_an_empty_gallery_says_how_to_begin(browser, tmp_path):
    gallery.write_gallery(tmp_path)
    browser.open(tmp_path / "index.html")
    assert "alice-interp run" in browser.find("#filter-count").text


def test_the_served_gallery_draws_under_the_policy_of_the_server(browser, published):
    with serving(published) as server:
        browser.open(server.url)
        browser.wait_for(lambda: browser.js("return document.images[0]?.naturalWidth > 0"))
        assert browser.js(TITLES) == ["Depth", "Early exit — ünïcode"]
        assert browser.complaints() == []
        browser.open(server.url + "one/report.html")
        assert browser.js("return document.querySelectorAll('.plot[data-drawn]').length") == 6
        assert browser.complaints() == []
        assert [url for url in browser.requests() if not url.startswith(server.url)] == []


@pytest.fixture(scope="module")
def heated(tmp_path_factory):
    """A report with a text with heat, and one in a card on a page of its own."""
    text = HeatText(
        "AB BA", {"A": [1, -2, 0, 0.5, 0], "B": [0, 0, 4, 0, -1]}, notes=["one", "", "", "", ""], unit="nats"
    )
    sections = [Section("more", "More", cards=["one"], page=True)]
    result = Result("Heat", texts={"heat": text}, cards={"one": Card("One", texts=[text])}, sections=sections)
    return publish(Report(result, {"analysis": "heat"}), tmp_path_factory.mktemp("heat") / "runs").folder


def shown_heat(browser):
    return browser.js(
        "return [...document.querySelectorAll('.cell')].map(cell => [Number(cell.style.getPropertyValue('--heat')), "
        "cell.classList.contains('cold'), cell.classList.contains('chosen'), cell.title])"
    )


def test_choosing_a_symbol_shows_its_weights(browser, heated):
    from selenium.webdriver import Keys

    browser.open(heated / "report.html")
    first = shown_heat(browser)
    assert first[1] == [0.5, True, False, "\u22122 nats"]
    browser.find("[data-symbol=B]").send_keys(Keys.ENTER)
    assert shown_heat(browser) == [
        [0, False, False, "0 nats \u00b7 one"],
        [0, False, True, "0 nats"],
        [1, False, False, "4 nats"],
        [0, False, True, "0 nats"],
        [0.25, True, False, "\u22121 nats"],
    ]
    assert browser.find("[data-symbol=B]").get_attribute("aria-pressed") == "true"
    browser.find(".cell[data-place='4']").click()
    assert shown_heat(browser) == first
    assert browser.complaints() == []
    assert browser.requests() == []


def test_the_pages_of_a_report_are_linked_and_served(browser, heated):
    with serving(heated.parent) as server:
        browser.open(f"{server.url}{heated.name}/report.html")
        browser.find(".pages a").click()
        browser.wait_for(lambda: browser.js("return document.querySelector('h1').textContent") == "More")
        browser.find("[data-symbol=B]").click()
        assert shown_heat(browser)[2][:2] == [1, False]
        browser.find(".parent a").click()
        browser.wait_for(lambda: browser.js("return document.querySelector('h1').textContent") == "Heat")
        assert browser.complaints() == []
