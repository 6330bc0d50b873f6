"""Sections, pages, texts with heat and cards: what can be said, stored, read back and shown."""

import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest
from report_page import EVIL, LINE, Page

from alice.errors import AliceError
from alice.reports import Card, Figure, HeatText, Metric, Report, Result, Section, Table, read_report
from alice.reports.archive import RESULT, fingerprint, write_result
from alice.reports.html import render_pages, write_report
from alice.reports.publish import publish

HEAT = HeatText(
    "AB BA",
    {"A": [1, -2, 0, 0.5, float("nan")], "B": [0, 0, 4, 0, 0]},
    below="EF FE",
    notes=["one", "two", "", "four", "five"],
    unit="nats",
)


def sectioned():
    """A result with something outside all sections, two sections, and two pages."""
    figures = {name: Figure(go.Figure(), "", title=f"Title of {name}") for name in ("free", "first", "deep")}
    return Result(
        "Whole",
        figures=figures,
        tables={"numbers": Table(["a"], [[1]], title="Some numbers")},
        texts={"heat": HEAT},
        cards={"one": Card("Feature `1`", "Fires on `E`.", [Metric("density", 0.5)], [HeatText("AB", [0, 1])])},
        sections=[
            Section("start", "The start", "Words about `code`.", figures=["first"], texts=["heat"]),
            Section("layer-1", "Layer one", "First.\n\nSecond.", cards=["one"], page=True),
            Section(
                "layer-2",
                "Layer two",
                tables=["numbers"],
                sections=[Section("inner", "Inside", figures=["deep"])],
                page=True,
            ),
        ],
    )


def pages(result, **options):
    return {name: Page(text) for name, text in render_pages(Report(result, {}), **options).items()}


def identifiers(page):
    return [attrs["id"] for _, attrs in page.tags if attrs.get("id")]


def links(page):
    return [attrs["href"] for tag, attrs in page.tags if tag == "a"]


def test_a_section_with_a_page_is_linked_from_the_main_page():
    found = pages(sectioned())
    assert list(found) == ["report.html", "report-layer-1.html", "report-layer-2.html"]
    main, first, second = found.values()
    assert {"figure-free", "figure-first", "text-heat", "section-start"} <= set(identifiers(main))
    assert "card-one" in identifiers(first)
    assert {"table-numbers", "figure-deep", "section-inner"} <= set(identifiers(second))
    assert not {"card-one", "figure-deep"} & set(identifiers(main))
    assert "report-layer-1.html" in links(main)
    assert {"report.html", "report-layer-2.html"} <= set(links(first))
    assert {"First."} <= {word.strip() for word in main.words}
    assert "Second." not in main.words


def test_every_link_of_every_page_leads_somewhere():
    found = pages(sectioned())
    for page in found.values():
        assert len(identifiers(page)) == len(set(identifiers(page)))
        for link in links(page):
            file, _, place = link.partition("#")
            assert file in ("", "../index.html", *found)
            assert not place or place in identifiers(page)


def test_a_standalone_report_is_one_page_with_all_sections():
    (page,) = pages(sectioned(), address=None).values()
    expected = {"section-start", "section-layer-1", "section-layer-2", "section-inner", "card-one", "figure-deep"}
    assert expected <= set(identifiers(page))
    assert not [link for link in links(page) if not link.startswith("#")]


def test_figures_are_numbered_through_all_pages():
    words = [[word.strip() for word in page.words] for page in pages(sectioned()).values()]
    numbers = [[word for word in of_page if word.startswith("Figure ")] for of_page in words]
    assert numbers == [["Figure 1. Title of free.", "Figure 2. Title of first."], [], ["Figure 3. Title of deep."]]


def test_contents_have_the_titles():
    (page,) = pages(sectioned(), address=None).values()
    text = " ".join(" ".join(page.words).split())
    assert "Contents Title of free The start Layer one Layer two Inside" in text


def test_backticks_become_code_and_nothing_else_does():
    text = render_pages(Report(Result("T `x`", "A `<b>` and ` lone.", caveats="Not `y`."), {}))["report.html"]
    assert "A <code>&lt;b&gt;</code> and ` lone." in text
    assert "Not <code>y</code>." in text
    assert "<h1>T <code>x</code></h1>" in text


def test_everything_is_stored_and_read_back(tmp_path):
    result = sectioned()
    write_result(tmp_path, result, {})
    again = read_report(tmp_path)
    assert fingerprint(again.result) == fingerprint(result)
    assert again.texts["heat"].by_symbol["B"] == (0, 0, 4, 0, 0)
    assert np.isnan(again.texts["heat"].by_symbol["A"][4])
    assert again.cards["one"] == result.cards["one"]
    assert again.sections == result.sections
    assert again.figures["deep"].title == "Title of deep"


def test_a_result_without_sections_from_an_earlier_version_is_read(tmp_path, result):
    write_result(tmp_path, result, {})
    document = json.loads((tmp_path / RESULT).read_text())
    document["version"] = 2
    for name in ("texts", "cards", "sections"):
        del document["result"][name]
    for kind in ("tables", "figures"):
        for part in document["result"][kind].values():
            del part["title"]
            if part.get("table"):
                del part["table"]["title"]
    (tmp_path / RESULT).write_text(json.dumps(document))
    assert fingerprint(read_report(tmp_path).result) == fingerprint(result)


def test_a_published_report_has_its_pages_and_can_be_written_again(tmp_path):
    stored = publish(Report(sectioned(), {"analysis": "a"}), tmp_path / "runs")
    names = {"report.html", "report-layer-1.html", "report-layer-2.html"}
    assert names <= {path.name for path in stored.folder.iterdir()}
    again = write_report(read_report(stored.folder), out=tmp_path / "mine.html")
    assert again == tmp_path / "mine.html"
    assert (tmp_path / "mine-layer-1.html").exists()
    assert 'href="mine.html"' in (tmp_path / "mine-layer-1.html").read_text()
    (tmp_path / "mine-layer-2.html").write_text("something else")
    with pytest.raises(AliceError, match=r"mine-layer-2\.html"):
        write_report(read_report(stored.folder), out=tmp_path / "mine.html")


def test_a_text_with_heat_shows_the_first_choice_without_a_script():
    text = render_pages(Report(Result("T", texts={"heat": HEAT}), {}))["report.html"]
    cells = re.findall(
        r'<span class="(cell[^"]*)" data-place="(\d)" style="--heat: ([\d.]+)"(?: title="([^"]*)")?>', text
    )
    assert [(float(heat), hint) for _, _, heat, hint in cells] == [
        (0.25, "1 nats · one"),
        (0.5, "\u22122 nats · two"),
        (0, "0 nats"),
        (0.125, "0.5 nats · four"),
        (0, "five"),
    ]
    assert [name for name, *_ in cells] == [
        "cell clickable chosen", "cell cold clickable", "cell space", "cell clickable", "cell clickable chosen",
    ]  # fmt: skip
    assert re.findall(r'data-symbol="(.)" aria-pressed="(\w+)"', text) == [
        ("A", "true"),
        ("B", "false"),
    ]


def test_the_numbers_of_a_text_with_heat_are_a_table():
    records = HEAT.data.records(symbol="A")
    assert records[1] == {"symbol": "A", "place": 1, "character": "B", "below": "F", "weight": -2}
    assert len(HEAT.data.rows) == 10


def test_the_largest_weight_or_the_limit_has_full_colour():
    assert HEAT.largest == 4
    assert HeatText("AB", [0, 0]).largest == 1
    assert HeatText("AB", [1, 9], limit=3).largest == 3


def test_no_text_of_a_section_becomes_an_element():
    heat = HeatText("AB", {EVIL: [1, 2]}, below="<>", notes=[EVIL, EVIL], caption=EVIL, title=EVIL, unit=EVIL)
    hostile = Result(
        "T",
        figures={"f": Figure(go.Figure(), EVIL, title=EVIL)},
        texts={"h": heat},
        cards={"c": Card(LINE, EVIL, [Metric("m", EVIL, label=LINE, unit=EVIL)], [heat])},
        sections=[
            Section("s", LINE, EVIL, texts=["h"], sections=[Section("i", LINE, EVIL)]),
            Section("p", LINE, EVIL, cards=["c"], page=True),
        ],
    )
    for page in pages(hostile).values():
        assert not [tag for tag, _ in page.tags if tag == "img"]
        assert not [attrs for _, attrs in page.tags if any(name.startswith("on") for name in attrs)]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: HeatText("AB", [1]), r"shape \(1,\); give one for each of 2"),
        (lambda: HeatText("AB", ["x", "y"]), "not numbers"),
        (lambda: HeatText("AB", [1, float("inf")]), "not finite"),
        (lambda: HeatText("AB", {}), "no weights"),
        (lambda: HeatText("AB", [1, 2], below="C"), "below .* 1 entries for 2 characters"),
        (lambda: HeatText("AB", [1, 2], limit=0), "above 0"),
        (lambda: Card("T", metrics=[1]), "list of Metric"),
        (lambda: Section("a b", "T"), "a name begins with a letter"),
        (lambda: Section("a", "T", sections=[Section("b", "T", page=True)]), "cannot be a page"),
        (lambda: Result("T", sections=[Section("a", "T"), Section("a", "T")]), "two sections 'a'"),
        (lambda: Result("T", sections=[Section("a", "T", figures=["x"])]), "'x', which is not there"),
        (lambda: Result("T", sections=["a"]), "give a list of alice.reports.Section"),
        (lambda: Result("T", texts={"a": "A"}), r"alice\.reports\.HeatText"),
        (
            lambda: Result(
                "T", texts={"h": HEAT}, sections=[Section("a", "T", texts=["h"]), Section("b", "T", texts=["h"])]
            ),
            "in the sections 'a' and 'b'",
        ),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(make, words):
    with pytest.raises(AliceError, match=words) as raised:
        make()
    assert "\n" not in str(raised.value)
