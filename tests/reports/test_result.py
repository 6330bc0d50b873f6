import enum
import subprocess
import sys
from dataclasses import FrozenInstanceError, replace

import numpy as np
import plotly.graph_objects as go
import plotly.io
import pytest

from alice.errors import AliceError
from alice.reports import Figure, Metric, Report, Result, Table, distinct_names, model_key


class Tensor:
    """Stands for a torch tensor: the check looks only at the module of the class."""


Tensor.__module__ = "torch"
SEVERAL = [Metric("ser", 2.0, model="base"), Metric("ser", 1.0, model="bijective"), Metric("texts", 500)]


def test_a_title_and_metrics_are_enough():
    result = Result("Depth", metrics=[Metric("layers", 2.0 * 12)])
    assert result.metric("layers").value == 24.0
    assert result.headline_metric() is result.metrics[0]
    assert Result("T").headline_metric() is None


def test_the_headline_is_the_metric_that_was_named():
    assert Result("T", metrics=[Metric("a", 1), Metric("b", 2)], headline="b").headline_metric().value == 2


def test_a_metric_has_the_same_name_for_one_model_and_for_several():
    assert Result("T", metrics=SEVERAL[:1]).metric("ser").value == 2.0
    several = Result("T", metrics=SEVERAL)
    assert several.metric("ser", model="bijective").value == 1.0
    assert several.metric("texts").value == 500
    assert [metric.name for metric in several.metrics] == ["ser", "ser", "texts"]


@pytest.mark.parametrize(
    ("read", "words"),
    [
        (lambda result: result.metric("ser"), "belongs to base, bijective"),
        (
            lambda result: result.metric("ser", model="bse"),
            "of the model 'bse'; it belongs to base, bijective",
        ),
        (lambda result: result.metric("sir"), "no metric 'sir'; did you mean 'ser'"),
        (lambda result: result.figure("key"), "no figure 'key'; there are none"),
        (lambda result: result.tables["error-by-layr"], "no table 'error-by-layr'; did you mean 'error-by-layer'"),
        (lambda result: result.tables["x"], "no table 'x'; there is only error-by-layer"),
        (lambda result: result.arrays["ser"], "no array 'ser'; did you mean 'ser@base'"),
        (lambda result: result.array("ser", model="tiny"), "no array 'ser@tiny'; did you mean 'ser@base'"),
    ],
)
def test_a_name_that_does_not_exist_is_named_with_those_that_do(read, words):
    result = Result("T", metrics=SEVERAL, tables={"error-by-layer": Table(["a"])}, arrays={"ser@base": np.zeros(1)})
    with pytest.raises(AliceError, match=words):
        read(result)


def test_tables_figures_and_arrays_are_mappings_that_cannot_be_changed():
    tables = Result("T", tables={"a": Table(["x"])}).tables
    assert (list(tables), len(tables), "a" in tables, "b" in tables, tables.get("b")) == (["a"], 1, True, False, None)
    assert dict(tables) == Result("T", tables=tables).tables
    with pytest.raises(KeyError):
        tables["b"]
    with pytest.raises(TypeError):
        tables["b"] = Table(["x"])


@pytest.mark.parametrize(
    ("names", "taken", "distinct"),
    [
        (["base", "bijective"], [], ["base", "bijective"]),
        (["tiny", "tiny"], [], ["tiny (1)", "tiny (2)"]),
        (["my solver", "my-solver", "beam"], [], ["my solver (1)", "my-solver (2)", "beam"]),
        (["beam"], ["beam"], ["beam (1)"]),
        (["a", "a", "a (1)"], [], ["a (2)", "a (3)", "a (1)"]),
        ([f"{'x' * 50}a", f"y{'x' * 49}a"], [], [f"{'x' * 50}a (1)", f"y{'x' * 49}a (2)"]),
    ],
)
def test_names_are_distinct_in_keys(names, taken, distinct):
    assert distinct_names(names, taken=taken) == distinct
    keys = {model_key("ser", name) for name in (*distinct_names(names, taken=taken), *taken)}
    assert len(keys) == len(names) + len(taken)


def test_figures_and_arrays_of_a_model_are_found_by_name_and_model():
    name = "runs/my model"
    result = Result("T", figures={model_key("key", name): go.Figure()}, arrays={model_key("ser", name): np.ones(2)})
    assert list(result.figures) == ["key@runs-my-model"]
    assert result.figure("key", model=name) is result.figures["key@runs-my-model"]
    assert result.array("ser", model=name).tolist() == [1, 1]


@pytest.mark.parametrize(
    ("metric", "text"),
    [
        (Metric("ser", 2.1371, 0.4211, unit="%"), "2.14 ± 0.42 %"),
        (Metric("ser", 2.0, float("nan")), "2"),
        (Metric("ser", 0.0, 0.0, unit="%"), "0 %"),
        (Metric("gap", 0.12, interval=(0.0512, 0.188), unit="%"), "0.120 (0.051 to 0.188) %"),
        (Metric("gap", 0.12, interval=(float("nan"), 1.0)), "0.12"),
        (Metric("speed", 123456.7, unit="letters/s"), "123\u202f457 letters/s"),
        (Metric("good", True), "yes"),
        (Metric("name", "tiny"), "tiny"),
    ],
)
def test_a_metric_is_shown_with_its_error_and_unit(metric, text):
    assert str(metric) == text
    assert text in repr(metric)


def test_a_metric_without_a_label_shows_its_name():
    assert Metric("key-letters", 1).label == "key letters"
    assert float(Metric("a", 2)) == 2.0


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (np.float32(0.1), float(np.float32(0.1))),
        (np.float64(0.1), 0.1),
        (np.int64(3), 3),
        (np.bool_(True), True),
        (np.str_("x"), "x"),
        (enum.IntEnum("Small", {"ONE": 1}).ONE, 1),
        (enum.StrEnum("Word", {"A": "a"}).A, "a"),
    ],
)
def test_scalars_become_the_plain_python_type(given, kept):
    value = Metric("m", given).value
    assert value == kept
    assert type(value) is type(kept)


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"title": ""}, "title"),
        ({"title": 3}, "string"),
        ({"title": "two\nlines"}, "one line"),
        ({"summary": None}, "summary"),
        ({"caveats": [1]}, "caveat"),
        ({"metrics": {"m": 1}}, "metrics is {'m': 1}; give a list"),
        ({"metrics": [1]}, r"metrics holds 1; give a list of alice\.reports\.Metric"),
        ({"metrics": [Metric("m", 1), Metric("m", 2)]}, "two metrics 'm' of no model"),
        ({"metrics": [Metric("m", 1)], "headline": "n"}, "headline 'n' is not a metric"),
        ({"tables": {"t": [[1]]}}, r"'t' in tables.*Table\("),
        ({"figures": {"f": {"data": []}}}, "'f' in figures.*plotly"),
        ({"arrays": {"a": [1, 2]}}, r"np\.asarray"),
        ({"arrays": {"a": Tensor()}}, r"torch.*numpy\(\)"),
        ({"arrays": {"a": np.array([object()])}}, "dtype object"),
        ({"arrays": {"a": np.zeros(2, dtype="i4,i4")}}, "dtype"),
        ({"arrays": {"a": np.ma.array([1], mask=[True])}}, "masked"),
        ({"arrays": {"../a": np.zeros(1)}}, "name '../a'"),
        ({"figures": {"<b>": go.Figure()}}, "letters, digits"),
        ({"tables": {"": Table(["a"])}}, "name ''"),
        ({"tables": {"a" * 81: Table(["a"])}}, "at most 80"),
    ],
)
def test_what_cannot_be_stored_is_one_sentence(fields, words):
    with pytest.raises(AliceError, match=words) as caught:
        Result(**{"title": "T", **fields})
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("m", None), "metric 'm' is None"),
        (("m", [1]), "of type list"),
        (("m", 1j), "complex"),
        (("m", Tensor()), r"torch.*\.item\(\)"),
        ((1, 1), "a name in metrics"),
        (("of base", 1), "name 'of base'"),
        (("m", 1, "0.1"), "error of the metric 'm' is of type str; give a number"),
        (("m", 1, None, (1, None)), "interval of the metric 'm'"),
        (("m", 1, None, None, "%", "base", "two\nlines"), "one line"),
    ],
)
def test_a_metric_that_cannot_be_stored_is_one_sentence(arguments, words):
    with pytest.raises(AliceError, match=words):
        Metric(*arguments)


def test_one_caveat_may_be_a_string():
    assert Result("T", caveats="Careful.").caveats == ("Careful.",)


def test_nothing_in_a_result_can_be_changed():
    numbers = np.zeros(2)
    result = Result("T", metrics=[Metric("m", 1)], arrays={"a": numbers})
    numbers[0] = 5
    assert result.arrays["a"][0] == 0
    with pytest.raises(FrozenInstanceError):
        result.title = "other"
    with pytest.raises(FrozenInstanceError):
        result.metrics[0].value = 2
    with pytest.raises(ValueError, match="read-only"):
        result.arrays["a"][0] = 1


def test_a_figure_is_copied_and_encoded_once():
    drawn = go.Figure(go.Scatter(y=[1, 2]))
    kept = Figure(drawn)
    drawn.data[0].y = [9, 9]
    assert list(kept.figure.data[0].y) == [1, 2]
    assert kept.json is kept.json


def test_a_plotly_figure_becomes_a_figure_that_shows_itself(monkeypatch):
    figure = Result("T", figures={"f": go.Figure()}).figures["f"]
    assert isinstance(figure, Figure)
    monkeypatch.setattr(plotly.io.renderers, "default", "json")
    assert list(figure._repr_mimebundle_()) == ["application/json"]


def test_a_figure_that_cannot_be_stored_is_refused_at_once():
    with pytest.raises(AliceError, match="a figure cannot be written as JSON"):
        Figure(go.Figure(go.Scatter(y=[1], customdata=[{1, 2}])))
    with pytest.raises(AliceError, match="data of a figure is not a Table"):
        Figure(go.Figure(), data=[[1]])


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((["a", "a"],), "two columns"),
        ((["SER, %"],), "column 'SER, %'; use lower-case letters"),
        ((["a", "b"], [[1]]), "row 0 .* has 1 cells"),
        ((["a"], ["x"]), "row 0 of a table is 'x'"),
        (("abc",), "give a list"),
        ((["a"], [[[1]]]), "row 0, column 'a'"),
        ((["a"], [], "c", {"b": "B"}), "'b', which is not a column"),
        ((["a"], [], "c", {}, ["b"]), "'b', which is not a column"),
        ((["a"], [[Tensor()]]), "torch"),
    ],
)
def test_a_table_that_does_not_fit_is_one_sentence(arguments, words):
    with pytest.raises(AliceError, match=words):
        Table(*arguments)


def test_a_table_gives_its_rows_as_records_and_as_a_data_frame():
    table = Table(["model", "n", "ser"], (row for row in [("base", 1, 2.0), ("base", 2, 1.0), ("tiny", 1, None)]))
    assert table.records(model="base", n=2) == [{"model": "base", "n": 2, "ser": 1.0}]
    assert len(table.records()) == 3
    assert table.to_pandas().groupby("model").ser.sum().to_dict() == {"base": 3.0, "tiny": 0.0}
    with pytest.raises(AliceError, match="no column 'modl'; did you mean 'model'"):
        table.records(modl="base")


def test_a_reader_sees_labels_and_a_program_names():
    table = Table(["ser", "key_length"], [[1.0, 2]], labels={"ser": "SER, %"})
    assert (table.label("ser"), table.label("key_length")) == ("SER, %", "key length")
    assert list(table.to_pandas()) == ["ser", "key_length"]
    assert "SER, %" in table._repr_html_()


def test_a_repr_is_one_line_however_much_there_is(tmp_path):
    rows = [[str(row), 1.5] for row in range(1000)]
    table = Table(["model", "ser"], rows, "Long. " * 100)
    drawn = Figure(go.Figure(go.Scatter(y=list(range(1000)))), "A caption.")
    many = {f"{name}-{number}": drawn for name in ("key", "text") for number in range(40)}
    metrics = [Metric("ser", 2.137, 0.42, unit="%", model="base"), Metric("ser", 1.0, unit="%", model="bijective")]
    result = Result("Early exit", "Words. " * 500, metrics=metrics, tables={"long": table}, figures=many)
    report = Report(result, {"analysis": "early-exit", "checkpoints": [{"name": "base"}, {"name": "bijective"}]})
    assert repr(table) == "<Table: 1000 rows of model, ser>"
    assert repr(drawn) == "<Figure: A caption.>"
    assert repr(Figure(go.Figure())) == "<Figure: 0 traces>"
    assert repr(result.tables) == "<1 table: long>"
    headline = "ser 2.14 ± 0.42 % (base), 1 % (bijective) | 2 metrics, 1 table, 80 figures"
    assert repr(result) == f"<Result Early exit: {headline}>"
    assert repr(report) == f"<Report early-exit on base, bijective: {headline}>"
    assert repr(replace(report, folder=tmp_path)).endswith(f"; saved in {tmp_path}>")
    assert repr(Report(Result("T"), {})) == "<Report T | empty>"
    shown = [
        repr(one) for one in (result, report, table, drawn, result.figures, metrics[0], Figure(go.Figure(), "x " * 999))
    ]
    assert all(len(text) < 400 and "\n" not in text for text in shown)


def test_printing_a_report_shows_title_metrics_and_folder(tmp_path):
    report = Report(Result("Early exit", metrics=SEVERAL), {})
    lines = ["Early exit", "  ser, base: 2", "  ser, bijective: 1", "  texts: 500"]
    assert str(report).splitlines() == [*lines, "not saved; call save()"]
    assert str(replace(report, folder=tmp_path)).splitlines() == [*lines, f"saved in {tmp_path}"]


def test_a_report_shows_itself_in_a_notebook_with_all_text_escaped():
    shown = Report(Result("<b>T", "Words & more.", metrics=SEVERAL), {})._repr_html_()
    for part in ("&lt;b&gt;T", "Words &amp; more.", "<td>bijective</td><td>1</td>", "texts"):
        assert part in shown


@pytest.mark.parametrize(
    ("provenance", "found"),
    [
        ({}, ("", [], "")),
        ({"analysis": "a", "time": "2026-11-16T07:30:09"}, ("a", [], "2026-11-16 07:30")),
        ({"checkpoints": [{"name": "base", "sha256": "ab"}]}, ("", ["base"], "")),
        ({"checkpoints": [{"name": "base"}, {"name": "tiny"}]}, ("", ["base", "tiny"], "")),
        ({"analysis": 5, "checkpoints": [1, {}, {"name": 2}], "time": {}}, ("", [], "")),
        ({"checkpoints": {"name": "base"}}, ("", [], "")),
    ],
)
def test_a_report_knows_its_analysis_models_and_date(provenance, found):
    report = Report(Result("T"), provenance)
    assert (report.analysis, report.models, report.date) == found


def test_the_room_imports_without_torch_and_without_plotly():
    code = "import sys, alice.reports; print({'torch', 'plotly', 'jinja2', 'pandas'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
