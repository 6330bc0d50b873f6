"""A page that shows its data passes; a page that was edited anywhere is found, with its folder or alone."""

import json
import random
import re
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import plotly.graph_objects as go
import pytest

from alice.errors import AliceError
from alice.reports import Card, Figure, HeatText, Metric, Report, Result, Section, Table, Trial
from alice.reports.archive import RESULT, read_report
from alice.reports.html import render_pages, write_report
from alice.reports.publish import publish
from alice.reports.verify import embedded
from alice.reports.verify.embedded import Embedded
from alice.reports.verify.page_check import check_pages
from alice.reports.verify.subject import open_subject

TAMPERED = 200
HEAT = HeatText("AB C", {"A": [1.0, 2, 0, float("nan")], "B": [0, -2, 1, 1]}, below="XY Z", notes=["", "n", "", ""])
CURVE = go.Scatter(x=np.arange(5), y=np.linspace(0, 1.5, 5))
SECTIONS = Result(
    "Parts 12",
    "Half of 2.14 % is gone.",
    "Only 3 texts.",
    metrics=[Metric("share", 31.25, 1.5, unit="%"), Metric("best", "L3H2"), Metric("holds", True)],
    tables={"heads": Table(["head", "loss", "loss_error"], [["L0H1", 1.25, 0.1], ["L3H2", 7.5, 0.2]], "Two heads.")},
    figures={"curve": Figure(go.Figure(CURVE, {"template": {"layout": {}}}), "A curve over 5.")},
    texts={"heat": HEAT},
    cards={"card": Card("Card 7", "It is 0.5.", [Metric("m", 1.75)], [HEAT])},
    sections=[
        Section(
            "first", "First 4", "Words 9.", figures=["curve"], sections=[Section("inner", "Inner", texts=["heat"])]
        ),
        Section("own", "Own page", "Cards.", cards=["card"], page=True),
    ],
    arrays={"b": np.arange(4.0), "a": np.ones((2, 3))},
    trials=[Trial("Switch off L3H2", "tiny", {"off": [["head", 3, 2]]})],
    artefacts={"lens": {"w": np.eye(2)}},
)

ONE_PAGE = Result(
    "One page",
    "All 5 of 12.",
    metrics=[Metric("ser", 2.14, 0.42, unit="%", model="base"), Metric("gap", 0.24, interval=(-0.1, 0.58))],
    tables={"texts": Table(["layer", "text"], [[0, "abc"], [1, None], [2, "<b>"]], "Texts.", monospace=["text"])},
    figures={
        "bars": Figure(go.Figure(go.Bar(y=[1.5, 2.25]), {"template": {"layout": {}}}), data=Table(["a"], [[1.5]]))
    },
    arrays={"file": np.arange(6, dtype=">i2").reshape(2, 3)},
)


@pytest.fixture(scope="module")
def folders(tmp_path_factory, result, provenance):
    """Report folders, whose gallery lies beside them: without sections, with sections, with figures of every kind."""
    place = tmp_path_factory.mktemp("verified") / "runs"
    return [publish(Report(one, provenance), place).stored_in for one in (ONE_PAGE, SECTIONS, result)]


def found(path):
    return check_pages(open_subject(path))


def test_untouched_pages_are_never_flagged(folders, tmp_path):
    for folder in folders:
        check = found(folder)
        assert (check.differences, check.notes) == ([], [])
        for standalone in (False, True):
            page = tmp_path / f"{folder.name}-{standalone}.html"
            write_report(read_report(folder), out=page, standalone=standalone)
            assert found(page).differences == []
    assert found(folders[1]).pages == 2


def test_a_page_alone_needs_neither_its_folder_nor_its_name_nor_its_line_ends(folders, tmp_path):
    for number, folder in enumerate(folders):
        page = tmp_path / f"mail {number}.html"
        page.write_bytes((folder / "report.html").read_bytes().replace(b"\n", b"\r\n"))
        check = found(page)
        assert check.differences == []
        assert check.notes == (["report-own.html is not beside the page"] if number == 1 else [])


def test_where_gallery_and_explorer_lie_is_no_difference(folders, tmp_path):
    report = read_report(folders[1])
    for linked in (False, True):
        pages = render_pages(report, address="../../elsewhere", linked=linked, explorers={"tiny": "explore-tiny.html"})
        for name, text in pages.items():
            (tmp_path / name).write_text(text)
        assert "explore-tiny.html#" in pages["report.html"]
        assert found(tmp_path / "report.html").differences == []


def test_a_report_read_again_gives_the_data_of_its_page(folders):
    for folder in folders:
        text = (folder / "report.html").read_text()
        assert Embedded.read(text, "page").text == Embedded.of(read_report(folder)).text


def pieces(pattern, text):
    return [match.span(1) for match in re.finditer(pattern, text, re.DOTALL) if match[1]]


def change(text, span, rng):
    """Change one digit in a piece of a page, or put one there."""
    begin, end = span
    digits = [place for place in range(begin, end) if text[place].isdigit()]
    if not digits:
        return text[:begin] + str(rng.randrange(10)) + text[begin:]
    place = rng.choice(digits)
    return text[:place] + rng.choice(sorted(set("0123456789") - {text[place]})) + text[place + 1 :]


EDITS = {
    "cell": r"<td[^>]*>([^<]+)</td>",
    "exact value of a cell": r'<td[^>]*title="([^"]+)"',
    "metric": r"<dd title[^>]*>([^<]+)",
    "exact value of a metric": r'<dd title="([^"]+)"',
    "heading": r"<h[123][^>]*>([^<]+)</h",
    "caption": r'<span class="words">(.*?)</span>',
    "summary": r'<p class="summary">([^<]+)</p>',
    "caveat": r'<aside class="caveats".*?<(?:p|li)>([^<]+)<',
    "figure": r'id="figure-[^"]*-data">(.*?)</script>',
    "table data": r'id="table-[^"]*-data">(.*?)</script>',
    "provenance": r"<dt>[^<]*</dt>\s*<dd>([^<]+)</dd>",
    "arrays": r'<p class="arrays">(.*?)</p>',
    "script": r"<script>([^<]+)</script>",
    "style": r"<style>([^<]+)</style>",
    "policy": r'http-equiv="Content-Security-Policy" content="[^"]*?sha256-([^"]+)"',
    "title": r"<title>([^<]+)</title>",
    "data": r'id="report-data">(.*?)</script>',
}


def edit(text, rng):
    """Return a page with one piece changed, and which."""
    kind = rng.choice([*EDITS, "removed row", "swapped cells", "replaced data", "new element"])
    if kind == "removed row":
        rows = [match.span() for match in re.finditer(r"<tr><td.*?</tr>\n", text, re.DOTALL)]
        begin, end = rng.choice(rows)
        return kind, text[:begin] + text[end:]
    if kind == "swapped cells":
        cells = pieces(EDITS["cell"], text)
        (a, b), (c, d) = sorted(rng.sample(cells, 2))
        return kind, text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
    if kind == "replaced data":  # with a hash that fits
        document = Embedded.read(text, "page").document
        words = str(rng.random())
        forged = Embedded({**document, "result": {**document["result"], "summary": words}})
        return kind, embedded.replaced(text, str(forged.packed()).replace("'", '"'))
    if kind == "new element":
        place = rng.choice([match.end() for match in re.finditer(r"</(?:dd|td|p|h1)>", text)])
        return kind, text[:place] + f"<b>{rng.randrange(100)}</b>" + text[place:]
    spans = pieces(EDITS[kind], text)
    return (kind, change(text, rng.choice(spans), rng)) if spans else edit(text, rng)


def test_every_one_of_200_edited_pages_is_flagged(folders, tmp_path):
    rng, kinds, missed = random.Random(5), set(), []  # noqa: S311  (not a secret)
    alone = tmp_path / "sent.html"
    copies = [Path(shutil.copytree(folder, tmp_path / "runs" / folder.name)) for folder in folders[:2]]
    for number in range(TAMPERED):
        copy = rng.choice(copies)
        page = rng.choice([alone, copy / "report.html", *copy.glob("report-*.html")])
        whole = (copy / "report.html" if page is alone else page).read_text()
        kind, text = (
            edit(whole, rng) if page.name in ("sent.html", "report.html") else ("own", whole.replace("1", "4", 1))
        )
        if text == whole:  # two equal cells changed places
            kind, text = "heading", change(whole, pieces(EDITS["heading"], whole)[0], rng)
        kinds.add(kind)
        page.write_text(text)
        try:
            flagged = not found(page).same
        except AliceError:
            flagged = page is alone  # its only data cannot be read
        if not flagged:
            missed.append((number, page.name, kind))
        page.write_text(whole)
    assert missed == []
    assert kinds == {*EDITS, "removed row", "swapped cells", "replaced data", "new element", "own"}
    assert [found(copy).same for copy in copies] == [True, True]


def test_a_difference_says_where_it_is_and_what_both_say(folders, tmp_path):
    text = (folders[1] / "report.html").read_text()
    page = tmp_path / "page.html"
    page.write_text(text.replace(">7.50 ± 0.20<", ">9.50 ± 0.20<"))
    assert found(page).differences == [
        "page.html: table heads: the page has '9.50 ± 0.20', the data give '7.50 ± 0.20'"
    ]


def test_data_that_were_edited_beside_an_untouched_page_are_flagged(folders, tmp_path):
    folder = Path(shutil.copytree(folders[1], tmp_path / "runs" / "copy"))
    file = folder / RESULT
    file.write_text(file.read_text().replace("31.25", "13.25"))
    assert found(folder).differences == ["report.html: the data inside the page are not those of the folder"]


def test_a_missing_page_and_a_missing_page_of_a_section_are_flagged(folders, tmp_path):
    folder = Path(shutil.copytree(folders[1], tmp_path / "runs" / "copy"))
    (folder / "report-own.html").unlink()
    assert found(folder).differences == ["report-own.html is not beside the page"]
    (folder / "report.html").unlink()
    assert "report.html is missing" in found(folder).differences[0]


FOREIGN = (
    *("https://example.org/x", "//example.org", "/elsewhere"),
    *(" //example.org", "&#9;//example.org", "/&#9;/example.org", "\\\\example.org"),  # browsers drop spaces and tabs
    *("../evil.js?", "../evil.js#", "%65vil", "%2F%2Fexample.org"),  # a script beside the one that is compared
)
"""Where the drawing script must not come from."""


def test_a_script_from_elsewhere_and_a_changed_drawing_script_are_flagged(folders, tmp_path):
    text = (folders[0] / "report.html").read_text()
    page = tmp_path / "one" / "page.html"
    page.parent.mkdir()
    for address in FOREIGN:
        edited = text.replace('src="../plotly', f'src="{address}/plotly')
        page.write_text(edited)
        assert not found(page).same
        page.write_text(edited.replace('href="../index', f'href="{address}/index'))
        assert not found(page).same, address
    page.write_text(text)
    script = tmp_path / "plotly.min.js"
    script.write_bytes((folders[0].parent / "plotly.min.js").read_bytes().replace(b"function", b"Function", 1))
    assert "is not the script of plotly" in found(page).differences[0]
    script.write_bytes(b"/* plotly.js v1.2.3 */")
    assert found(page).same
    assert "another version of plotly" in found(page).notes[0]


def test_names_with_signs_of_addresses_are_linked_and_verified(folders, tmp_path):
    place = tmp_path / "50%25 #1?" / "a:b"
    shutil.copytree(folders[1], place / "runs" / "one")
    page = tmp_path / "sent&" / "p%41 ?#.html"
    page.parent.mkdir()
    write_report(read_report(place / "runs" / "one"), out=page)
    text = page.read_text()
    assert 'src="../50%2525%20%231%3F/a%3Ab/runs/plotly.min.js"' in text
    assert 'href="p%2541%20%3F%23-own.html"' in text
    assert 'href="p%2541%20%3F%23.html"' in (page.parent / "p%41 ?#-own.html").read_text()
    assert (found(page).pages, found(page).differences) == (2, [])
    script = place / "runs" / "plotly.min.js"
    script.write_bytes(script.read_bytes().replace(b"function", b"Function", 1))
    assert "is not the script of plotly" in found(page).differences[0]


def test_a_nonce_is_left_out_of_policy_and_script_only(folders, tmp_path):
    text = (folders[0] / "report.html").read_text()
    nonce = re.search("nonce-([0-9a-f]{32})", text)[1]
    page = tmp_path / "page.html"
    zeros = text.replace(nonce, "0" * 32)
    page.write_text(zeros)
    assert found(page).same
    page.write_text(zeros.replace(f'nonce="{"0" * 32}"', 'nonce=""').replace("<h1>", f"<h1>{'0' * 32}"))
    assert not found(page).same


def test_nothing_but_the_data_may_be_in_their_element(folders, tmp_path):
    text = (folders[0] / "report.html").read_text()
    packed = json.loads(text[slice(*embedded.find(text))])
    page = tmp_path / "page.html"
    page.write_text(embedded.replaced(text, json.dumps(packed)))
    assert found(page).same
    page.write_text(embedded.replaced(text, json.dumps(packed | {"x": "<!--<script>"})))  # hides what follows
    with pytest.raises(AliceError, match="damaged or were changed"):
        found(page)


def test_a_difference_late_in_a_long_text_is_quoted(folders, tmp_path):
    long = replace(ONE_PAGE, summary=f"{'Many words come first. ' * 20}Then 2.14 %.")
    page = tmp_path / "page.html"
    text = render_pages(Report(long, {}))["report.html"]
    page.write_text(text.replace("Then 2.14", "Then 1.14"))
    said = found(page).differences[0]
    assert said.endswith("the page has '...first. Then 1.14 %.', the data give '...first. Then 2.14 %.'")


def test_a_page_of_an_earlier_version_may_look_otherwise_but_must_say_the_same(provenance, tmp_path):
    report = publish(Report(SECTIONS, {**provenance, "versions": {"alice-interp": "0.0.1"}}), tmp_path / "runs")
    text = render_pages(report, address=None)["report.html"].replace("<style>", "<style>p{color:red}")
    page = tmp_path / "old.html"
    page.write_text(text)
    check = found(page)
    assert (check.same, check.design) == (True, False)
    assert "alice-interp 0.0.1" in check.notes[0]
    page.write_text(text.replace(">7.50 ± 0.20<", ">9.50 ± 0.20<"))
    assert not found(page).same


def test_a_page_without_data_is_checked_in_its_folder_and_refused_alone(folders, tmp_path):
    folder = Path(shutil.copytree(folders[0], tmp_path / "runs" / "copy"))
    page = folder / "report.html"
    page.write_text(embedded.removed(page.read_text()))
    assert found(folder).same
    shutil.copy(page, tmp_path / "alone.html")
    with pytest.raises(AliceError, match="carries no data"):
        found(tmp_path / "alone.html")


BROKEN = {
    "missing": (None, "does not exist"),
    "empty": (b"", "is not a page of a report"),
    "another page": (b"<html><body>1</body></html>", "is not a page of a report"),
    "not text": (b"\xff\xfe\x00", "is not UTF-8"),
    "no JSON": (b'{"version"', "damaged or were changed"),
    "no object": (b"[1]", "damaged or were changed"),
    "not base64": (b'{"version": 1, "sha256": "", "data": "%%"}', "damaged or were changed"),
    "not packed": (b'{"version": 1, "sha256": "", "data": "AAAA"}', "damaged or were changed"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_what_is_no_page_is_one_sentence(name, folders, tmp_path):
    content, message = BROKEN[name]
    page = tmp_path / "page.html"
    if content is not None and content[:1] in b"{[" and content:
        page.write_text(embedded.replaced((folders[0] / "report.html").read_text(), content.decode()))
    elif content is not None:
        page.write_bytes(content)
    with pytest.raises(AliceError, match=message) as raised:
        found(page)
    assert "\n" not in str(raised.value)


def test_a_folder_without_a_result_and_a_huge_page_are_one_sentence(folders, tmp_path, monkeypatch):
    with pytest.raises(AliceError, match=r"has no result\.json"):
        found(tmp_path)
    shutil.copy(folders[0] / "report.html", tmp_path / "page.html")
    monkeypatch.setattr("alice.reports.verify.subject.LARGEST_PAGE", 1000)
    with pytest.raises(AliceError, match="larger than"):
        found(tmp_path / "page.html")


def test_data_that_would_fill_the_memory_are_refused(folders, tmp_path, monkeypatch):
    shutil.copy(folders[0] / "report.html", tmp_path / "page.html")
    monkeypatch.setattr("alice.reports.verify.embedded.LARGEST_JSON", 1000)
    with pytest.raises(AliceError, match="too large"):
        found(tmp_path / "page.html")
