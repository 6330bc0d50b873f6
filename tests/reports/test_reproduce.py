import json
import math
import re

import pytest

from alice.errors import AliceError
from alice.reports.gallery import is_gallery
from alice.reports.reproduce import Check, Claim, Item, Link, Reproduction, Row, render_reproduction, write_reproduction

CHECK = Check("base", "smallest drop", 0.0123456, 0.01, 0.0151, 0.0, "above", "holds")
CLAIM = Claim(
    "layers", "Error falls", "“at each layer”", "holds", (CHECK,), reports=(Link("early-exit", "runs/a/report.html"),)
)
UNTESTED = Claim(
    "pools",
    "Few <b>",
    "“few”",
    "not tested",
    absent="Make them with `alice-interp sweep` first.",
    note="By <i>design</i>.",
)
ITEM = Item("Table 1", "Errors & lengths", (Row("base", "5.88", "6.1 ± 0.2"),), "layers", "holds", CLAIM.reports)
ABSENT = Item("Figure 3", "Pools", absent="Make them with `alice-interp sweep` first.")
RUN = {"analysis": "early-exit", "models": ["base"], "report": "runs/a/report.html", "error": "", "seconds": 1.23}
FOUND = Reproduction([CLAIM, UNTESTED], [ITEM, ABSENT], {"seed": 0}, [RUN], "2026-01-31T12:00:00+00:00")


def test_the_page_shows_claims_tests_items_and_what_is_missing():
    text = render_reproduction(FOUND)
    assert "0.0123 (0.01 to 0.0151)" in text
    assert "&gt; 0" in text
    assert "6.1 ± 0.2" in text
    assert "Errors &amp; lengths" in text
    assert "<code>alice-interp sweep</code>" in text
    assert "Few &lt;b&gt;" in text
    assert 'class="outcome not-tested"' in text
    assert "By &lt;i&gt;design&lt;/i&gt;." in text
    assert text.count("no claim tested") == 1  # of the two items one has a claim


def test_every_link_into_the_page_has_its_place():
    text = render_reproduction(FOUND)
    wanted = set(re.findall(r'href="#([^"]+)"', text))
    assert wanted >= {"claim-layers", "tests-layers"}
    assert wanted <= set(re.findall(r'id="([^"]+)"', text))


def test_a_test_without_interval_says_so():
    check = Check("base", "drop", 0.5, math.nan, math.nan, 0.0, "above", "undecided")
    assert check.interval == "0.5 (no interval)"
    assert Check("base", "drop", 0.5, 0.4, 0.6, 0.9, "below", "holds").wanted == "< 0.9"


def test_both_files_are_written_and_the_numbers_are_for_programs(tmp_path):
    unknown = Check("base", "drop", 0.5, math.nan, math.nan, 0.0, "above", "undecided")
    page = write_reproduction(tmp_path, Reproduction([Claim("layers", "", "", "undecided", (unknown,))], [ITEM]))
    assert page == tmp_path / "index.html"
    document = json.loads((tmp_path / "reproduce.json").read_text())
    assert (document["format"], document["version"]) == ("alice-interp reproduction", 1)
    assert document["claims"]["layers"]["checks"][0]["low"] is None
    assert document["items"]["Table 1"]["rows"] == [{"what": "base", "paper": "5.88", "ours": "6.1 ± 0.2"}]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["index.html", "reproduce.json"]


def test_it_is_written_again_over_itself_but_over_nothing_else(tmp_path):
    write_reproduction(tmp_path, FOUND)
    assert not is_gallery(write_reproduction(tmp_path, FOUND))
    (tmp_path / "index.html").write_text("my page")
    with pytest.raises(AliceError, match="would be overwritten"):
        write_reproduction(tmp_path, FOUND)
    assert (tmp_path / "index.html").read_text() == "my page"
