import enum
import subprocess
import sys
from dataclasses import FrozenInstanceError

import numpy as np
import plotly.graph_objects as go
import pytest

from alice.errors import AliceError
from alice.reports import Figure, Result, Table


class Tensor:
    """Stands for a torch tensor: all that the check looks at is where the class comes from."""


Tensor.__module__ = "torch"


def test_a_title_and_metrics_are_enough():
    result = Result("Depth", metrics={"layers": 2.0 * 12})
    assert dict(result.metrics) == {"layers": 24.0}
    assert result.headline_metric() == ("layers", 24.0)


def test_the_headline_is_the_metric_that_was_named():
    result = Result("T", metrics={"a": 1, "b": 2}, headline="b")
    assert result.headline_metric() == ("b", 2)


def test_a_result_without_metrics_has_no_headline():
    assert Result("T").headline_metric() is None


def test_metrics_keep_their_order():
    assert list(Result("T", metrics={"z": 1, "a": 2, "m": 3}).metrics) == ["z", "a", "m"]


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
    value = Result("T", metrics={"m": given}).metrics["m"]
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
        ({"metrics": [1]}, "metrics.*dict"),
        ({"metrics": {"m": None}}, "metric 'm' is None"),
        ({"metrics": {"m": [1]}}, "of type list"),
        ({"metrics": {"m": 1j}}, "complex"),
        ({"metrics": {"m": Tensor()}}, r"torch.*\.item\(\)"),
        ({"metrics": {1: 1}}, "a metric"),
        ({"metrics": {"m": 1}, "headline": "n"}, "headline 'n'"),
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
def test_what_cannot_be_stored_is_told_in_a_sentence(fields, words):
    with pytest.raises(AliceError, match=words) as caught:
        Result(**{"title": "T", **fields})
    assert "\n" not in str(caught.value)


def test_typographic_spaces_are_welcome_in_names():
    assert list(Result("Under 10\u202f%", metrics={"10\u00a0%": 1}).metrics) == ["10\u00a0%"]


def test_one_caveat_may_be_a_string():
    assert Result("T", caveats="Careful.").caveats == ("Careful.",)


def test_nothing_in_a_result_can_be_changed():
    numbers = np.zeros(2)
    result = Result("T", metrics={"m": 1}, arrays={"a": numbers})
    numbers[0] = 5
    assert result.arrays["a"][0] == 0
    with pytest.raises(FrozenInstanceError):
        result.title = "other"
    with pytest.raises(TypeError):
        result.metrics["m"] = 2
    with pytest.raises(ValueError, match="read-only"):
        result.arrays["a"][0] = 1


def test_a_figure_is_copied():
    drawn = go.Figure(go.Scatter(y=[1, 2]))
    kept = Figure(drawn)
    drawn.data[0].y = [9, 9]
    assert list(kept.figure.data[0].y) == [1, 2]


def test_a_bare_plotly_figure_is_taken():
    assert isinstance(Result("T", figures={"f": go.Figure()}).figures["f"], Figure)


def test_a_figure_that_cannot_be_stored_is_told_at_once():
    with pytest.raises(AliceError, match="a figure contains a set"):
        Figure(go.Figure(go.Scatter(y=[1], customdata=[{1, 2}])))


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((["a", "a"],), "two columns"),
        ((["a", "b"], [[1]]), "row 0 .* has 1 cells"),
        ((["a"], ["x"]), "row 0 of a table is 'x'"),
        (("abc",), "give a list"),
        ((["a"], [[[1]]]), "row 0, column 'a'"),
        ((["a"], [], "c", ["b"]), "'b', which is no column"),
        ((["a"], [[Tensor()]]), "torch"),
    ],
)
def test_a_table_that_does_not_fit_is_told_in_a_sentence(arguments, words):
    with pytest.raises(AliceError, match=words):
        Table(*arguments)


def test_a_table_may_be_given_as_a_generator():
    assert Table(["a", "b"], ((row, None) for row in range(2))).rows == ((0, None), (1, None))


def test_the_room_imports_without_torch_and_without_plotly():
    code = "import sys, alice.reports; print({'torch', 'plotly', 'jinja2'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "set()"
