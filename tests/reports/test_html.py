import csv
import io
import json
import re

import numpy as np
import plotly.graph_objects as go
import pytest
from report_page import EVIL, LINE, Page

from alice.errors import AliceError
from alice.reports import Figure, Metric, Report, Result, Table, plotly_script, read_report
from alice.reports.archive import write_result
from alice.reports.blocks import ROWS_SHOWN
from alice.reports.html import render_report, write_report

NONCE = r'nonce(?:-|=")([0-9a-f]{32})'


def page_of(result, provenance=None, **options):
    return Page(render_report(Report(result, provenance or {}), **options))


def test_a_report_says_what_the_result_says(result, provenance):
    words = " ".join(page_of(result, provenance).words)
    for said in (
        result.title,
        "A paragraph.",
        "Another.",
        "Small samples.",
        "Error by layer.",
        "tiny",
        "2026-11-16 07:30",
    ):
        assert said in words


def test_every_figure_and_table_is_numbered(result):
    words = [word.strip() for word in page_of(result).words]
    assert [word for word in words if word.startswith("Figure ")] == [f"Figure {number}." for number in range(1, 7)]
    assert "Table 1." in words


def cards(page):
    return [attrs["class"] for tag, attrs in page.tags if tag == "div" and attrs.get("class", "").startswith("metric")]


def words_of(page):
    return [word.strip() for word in page.words if word.strip()]


def test_the_headline_is_marked_and_numbers_are_short():
    page = page_of(Result("T", metrics=[Metric("a", 1 / 3), Metric("b", 2)], headline="b"))
    assert cards(page) == ["metric", "metric headline"]
    assert "0.3333" in page.words


def test_a_card_shows_a_metric_with_its_error_for_each_model(result):
    page = page_of(result)
    words = words_of(page)
    start = words.index("symbol error rate")
    assert words[start : start + 5] == [
        "symbol error rate", "2.14\xa0±\xa00.42\xa0%", "base", "1.90\xa0±\xa00.40\xa0%", "bijective",
    ]  # fmt: skip
    assert "0.24 (\u22120.10 to 0.58)" in words
    assert len(cards(page)) == 7


def test_the_name_of_a_single_model_is_not_repeated_on_its_cards():
    assert "base" not in words_of(page_of(Result("T", metrics=[Metric("ser", 2.0, model="base")])))


def test_a_table_shows_labels_and_puts_errors_next_to_their_values(result):
    words = words_of(page_of(result))
    start = words.index("SER, %")
    assert words[start - 1 : start + 5] == ["model", "SER, %", "base", "2.14 ± 0.42", "bijective", "1.90"]
    assert "ser_error" not in words
    assert "model,ser,ser_error" in json.loads(page_of(result).data["table-ser-data"])["csv"]


def test_the_csv_in_the_page_is_the_data_of_the_figure(result):
    page = page_of(result)
    assert json.loads(page.data["figure-own-data"])["csv"] == "a\n1.5\n"
    rows = list(csv.DictReader(io.StringIO(json.loads(page.data["figure-error-data"])["csv"])))
    assert float(rows[1]["y"]) == result.figures["error"].figure.data[1].y[1]


def test_a_short_report_has_no_contents_list_and_a_long_one_has(result):
    assert not [tag for tag, _ in page_of(Result("T")).tags if tag == "nav"]
    page = page_of(result)
    links = [attrs["href"][1:] for tag, attrs in page.tags if tag == "a" and attrs["href"].startswith("#")]
    identifiers = [attrs["id"] for _, attrs in page.tags if attrs.get("id")]
    assert set(links) <= set(identifiers)
    assert len(identifiers) == len(set(identifiers))
    assert "figure-error" in links


def test_figures_of_several_models_share_an_entry_of_the_contents():
    names = ("error", *(f"{name}@{model}" for model in ("base", "my-model") for name in ("text", "key")))
    page = page_of(Result("T", figures=dict.fromkeys(names, go.Figure()), tables={"t": Table(["a"])}))
    links = [attrs["href"] for tag, attrs in page.tags if tag == "a" and attrs["href"].startswith("#figure")]
    assert links == [
        "#figure-error",
        "#figure-text@base",
        "#figure-text@my-model",
        "#figure-key@base",
        "#figure-key@my-model",
    ]
    assert re.search(r"Text:\s*base\s*my-model\s*Key:\s*base\s*my-model\s*T \(table\)", " ".join(page.words))


def test_a_percentage_is_not_broken_into_two_lines():
    result = Result("T", "It is 2.1 ± 0.4 % or 3 %.", metrics=[Metric("ser", 2.14, 0.42, unit="%", model="base")])
    words = " ".join(page_of(result).words)
    assert "It is 2.1\xa0±\xa00.4\xa0% or 3\xa0%." in words
    assert "2.14\xa0±\xa00.42\xa0%" in words


def test_a_long_table_is_cut_on_the_page_and_whole_in_the_csv(tmp_path):
    page = page_of(Result("T", tables={"t": Table(["n"], [[number] for number in range(ROWS_SHOWN + 7)])}))
    assert sum(tag == "tr" for tag, _ in page.tags) == ROWS_SHOWN + 1
    assert len(json.loads(page.data["table-t-data"])["csv"].splitlines()) == ROWS_SHOWN + 8
    assert "has 7 more" in " ".join(page.words)


def hostile_result():
    figure = go.Figure(
        go.Bar(
            x=[EVIL, '<a href="javascript:window.pwned=1">x</a>'],
            y=[1, 2],
            name=EVIL,
            text=[EVIL, EVIL],
            hovertext=EVIL,
        ),
        layout={
            "title": {"text": EVIL},
            "annotations": [{"text": EVIL}],
            "xaxis": {"title": {"text": EVIL}},
            "meta": EVIL,
        },
    )
    return Result(
        LINE,
        EVIL,
        caveats=[EVIL, EVIL],
        metrics=[
            Metric("a", EVIL, unit=EVIL, model=EVIL, label=LINE),
            Metric("a", EVIL * 3, model="other"),
        ],
        tables={"t": Table(["a"], [[EVIL]], EVIL, {"a": LINE})},
        figures={"f": Figure(figure, EVIL, Table(["a"], [[EVIL]]))},
        arrays={"a": np.zeros(1)},
    )


def hostile_provenance():
    return {"analysis": EVIL, "checkpoints": [{"name": EVIL}], "time": EVIL, EVIL: {EVIL: [EVIL, {EVIL: EVIL}]}}


@pytest.mark.parametrize("address", ["..", None])
def test_no_text_becomes_an_element(tmp_path, address):
    plain = page_of(result_like(hostile_result()), {"a": {"b": "c"}}, address=address)
    page = page_of(hostile_result(), hostile_provenance(), address=address)
    allowed = {tag for tag, _ in plain.tags}
    assert {tag for tag, _ in page.tags} <= allowed
    assert "img" not in allowed
    assert sum(tag == "script" for tag, _ in page.tags) == sum(tag == "script" for tag, _ in plain.tags)
    assert not [name for _, attrs in page.tags for name in attrs if name.startswith("on")]


def result_like(result):
    """The same shape of result, harmless."""
    return Result(
        "T", "S", caveats=["c", "c"],
        metrics=[Metric("a", "a", model="a"), Metric("a", "b", model="b")], tables={"t": Table(["a"], [["a"]], "c")},
        figures={"f": Figure(go.Figure(go.Bar(y=[1])), "c")}, arrays={"a": np.zeros(1)},
    )  # fmt: skip


def test_the_policy_names_scripts_by_hash_and_allows_no_connection(result):
    page = page_of(result)
    (policy,) = [attrs["content"] for tag, attrs in page.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    directives = dict(directive.split(" ", 1) for directive in policy.split("; "))
    assert directives["default-src"] == "'none'"
    assert re.fullmatch(r"('(sha256|nonce)-[\w+/=]+' ?)+", directives["script-src"])
    assert "connect-src" not in directives
    assert not re.search("https?:", policy)


def test_no_page_refers_to_the_network(result, provenance):
    for _, attrs in page_of(result, provenance).tags:
        for name in ("src", "href"):
            assert not (attrs.get(name) or "").startswith(("http", "//"))


def test_half_a_surrogate_pair_can_be_written():
    text = render_report(Report(Result("T", "a\udc80"), {"options": {"p": "\udcff"}}))
    assert "a\ufffd" in text.encode().decode()


def test_the_drawing_script_is_written_once_for_all_reports(tmp_path, result, provenance):
    folder = tmp_path / "runs" / "one"
    folder.mkdir(parents=True)
    write_report(write_result(folder, result, provenance))
    script = tmp_path / "runs" / plotly_script.FILE
    assert script.read_text(encoding="utf-8") == plotly_script.source()
    assert 'src="../plotly.min.js"' in (folder / "report.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in folder.iterdir()) == ["arrays.npz", "report.html", "result.json"]


def test_a_report_written_elsewhere_finds_the_script(tmp_path, result):
    (tmp_path / "runs" / "one").mkdir(parents=True)
    run = write_result(tmp_path / "runs" / "one", result, {})
    out = write_report(run, out=tmp_path / "page.html")
    assert 'src="runs/plotly.min.js"' in out.read_text(encoding="utf-8")


def test_a_standalone_report_needs_no_other_file(tmp_path, result):
    run = write_result(tmp_path, result, {})
    text = write_report(run, out=tmp_path / "page.html", standalone=True).read_text(encoding="utf-8")
    assert plotly_script.source() in text
    assert "<script src" not in text
    assert not (tmp_path.parent / plotly_script.FILE).exists()


@pytest.mark.parametrize("name", ["result.json", "arrays.npz", "notes.html"])
def test_a_page_never_overwrites_another_file(tmp_path, name):
    report = write_result(tmp_path, Result("T"), {})
    (tmp_path / "notes.html").write_text("mine")
    before = (tmp_path / name).read_bytes()
    with pytest.raises(AliceError, match=r"is read by this command|already exists; add --force"):
        write_report(report, out=tmp_path / name)
    assert (tmp_path / name).read_bytes() == before


def test_rendering_again_gives_the_same_page(tmp_path, result, provenance):
    stored = write_result(tmp_path, result, provenance)
    again, first = (re.sub(NONCE, "", render_report(one)) for one in (read_report(tmp_path), stored))
    assert again == first


def test_the_nonce_of_a_report_cannot_be_predicted():
    one, other = (set(re.findall(NONCE, render_report(Report(Result("T"), {})))) for _ in range(2))
    assert len(one) == len(other) == 1
    assert one != other
