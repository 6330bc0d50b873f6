"""The page of a reproduction: what it shows, and that it overwrites nothing but itself."""

import json
import math
import re
from dataclasses import replace

import pytest

from alice.errors import AliceError
from alice.plugins.reproduce.page import (
    Check,
    Claim,
    Evidence,
    Item,
    Link,
    Reproduction,
    Row,
    render_reproduction,
    write_reproduction,
)
from alice.reports import Figure
from alice.reports.figures import bars
from alice.reports.gallery import is_gallery


def drop(value, low, high, threshold=0.0, side="above", outcome="holds"):
    return Check("drop", ("base",), "base", "smallest drop", value, low, high, threshold, side, outcome)


CHECK = drop(0.0123456, 0.01, 0.0151)
UNKNOWN = drop(0.5, math.nan, math.nan, outcome="undecided")
CLAIM = Claim(
    "layers", "Error falls", "“at each layer”", "holds", (CHECK,), reports=(Link("early-exit", "runs/a/report.html"),)
)
UNTESTED = Claim(
    "pools",
    "Few <b>",
    "“few”",
    "not tested",
    absent="Make them with `alice-interp sweep` first.",
    note="By <i>design</i> of `alice`.",
)
ITEM = Item("Table 1", "Errors & lengths", (Row("base", "5.88", "6.1 ± 0.2"),), "layers", "holds", CLAIM.reports)
ABSENT = Item("Figure 3", "Pools", absent="Make them with `alice-interp sweep` first.")
ANALYSIS = {"analysis": "early-exit", "models": ["base"], "report": "runs/a/report.html", "error": "", "seconds": 1.23}
FOUND = Reproduction([CLAIM, UNTESTED], [ITEM, ABSENT], {"seed": 0}, [ANALYSIS], "2026-01-31T12:00:00+00:00")


def test_the_page_shows_claims_tests_items_and_what_is_missing():
    text = render_reproduction(FOUND)
    assert "0.0123 (0.01 to 0.0151)" in text
    assert "&gt; 0" in text
    assert "6.1 ± 0.2" in text
    assert "Errors &amp; lengths" in text
    assert "<code>alice-interp sweep</code>" in text
    assert "Few &lt;b&gt;" in text
    assert 'class="outcome not-tested"' in text
    assert "By &lt;i&gt;design&lt;/i&gt; of <code>alice</code>." in text
    assert text.count("no claim tested") == 1  # of the two items one has a claim


def test_every_link_within_the_page_has_a_target():
    text = render_reproduction(FOUND)
    wanted = set(re.findall(r'href="#([^"]+)"', text))
    assert wanted >= {"claim-layers", "tests-layers"}
    assert wanted <= set(re.findall(r'id="([^"]+)"', text))


def test_evidence_and_figures_stand_beside_the_claim_and_the_item():
    shown = Evidence("erasure", "Erased", "It moves `23 %`.", "Control: <none>.", ("layer",), (("1",),), ("probe-use",))
    missing = Evidence("phases", "Phases", absent="Run `alice-interp sweep measure`.")
    claim = replace(CLAIM, evidence=("erasure", "phases"))
    rows = (Row("base", "1", "2", "On 100 texts"), Row("beam", "", "3", "On 100 texts"), Row("all", "", "4", "Quoted"))
    item = replace(ITEM, rows=rows, figures=("early-exit-errors",), evidence=("erasure",))
    drawn = {name: Figure(bars([1.0, 2.0]), f"Bars of {name}.") for name in ("probe-use", "early-exit-errors")}
    found = Reproduction([claim], [item], evidence=[shown, missing], figures=drawn)
    text = render_reproduction(found)
    assert text.count('href="#evidence-erasure"') == 2
    assert "It moves <code>23 %</code>." in text
    assert "Control: &lt;none&gt;." in text
    assert "<code>alice-interp sweep measure</code>" in text
    assert text.count('class="group"') == 2
    assert text.index('id="figure-probe-use"') < text.index('id="figure-early-exit-errors"')
    assert re.findall(r"<b>Figure (\d)\.", text) == ["1", "2"]
    (nonce,) = re.findall(r'<script src="runs/plotly.min.js" nonce="(\w+)"', text)
    assert f"'nonce-{nonce}'" in re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#39;", "'")
    document = found.document()
    assert document["evidence"]["erasure"]["rows"] == [["1"]]
    assert document["figures"]["probe-use"] == "Bars of probe-use."


def test_a_test_without_interval_says_so():
    assert UNKNOWN.interval == "0.5 (no interval)"
    assert drop(math.nan, math.nan, math.nan).interval == "no data"
    assert drop(0.5, 0.4, 0.6, 0.9, "below").wanted == "< 0.9"


def test_both_files_are_written_and_an_unknown_number_is_null(tmp_path):
    page = write_reproduction(tmp_path, Reproduction([Claim("layers", "", "", "undecided", (UNKNOWN,))], [ITEM]))
    assert page == tmp_path / "index.html"
    document = json.loads((tmp_path / "reproduce.json").read_text())
    assert (document["format"], document["version"]) == ("alice-interp reproduction", 3)
    assert document["claims"]["layers"]["checks"][0]["low"] is None
    assert document["items"]["Table 1"]["rows"] == [{"what": "base", "paper": "5.88", "ours": "6.1 ± 0.2", "group": ""}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.html", "reproduce.json"]


def test_it_overwrites_itself_but_nothing_else(tmp_path):
    write_reproduction(tmp_path, FOUND)
    assert not is_gallery(write_reproduction(tmp_path, FOUND))
    (tmp_path / "index.html").write_text("my page")
    with pytest.raises(AliceError, match="would be lost"):
        write_reproduction(tmp_path, FOUND)
    assert (tmp_path / "index.html").read_text() == "my page"
