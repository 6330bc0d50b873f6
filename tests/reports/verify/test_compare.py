"""Results that agree, that move within their stated error, and that differ, by the rules that `verify` states."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from alice.reports import Card, Figure, HeatText, Metric, Result, Table
from alice.reports.verify.compare import compare
from alice.reports.verify.numbers import masked

PLAIN = {"template": {"layout": {}}}


def made(**changes):
    """Return a result with one number of every kind."""
    values = {"ser": 2.0, "gap": 0.5, "cell": 1.5, "other": 3.0, "array": 1.0, "drawn": 1.0, "count": 7, "word": "L3H2"}
    at = values | changes
    return Result(
        "Title",
        f"It is {at['ser']:.2f} %, mostly in {at['word']}.",
        metrics=[
            Metric("ser", at["ser"], 0.25, unit="%", model="base"),
            Metric("gap", at["gap"], interval=(0.25, 0.75)),
            Metric("count", at["count"]),
            Metric("strongest", at["word"]),
        ],
        tables={"t": Table(["x", "x_error", "y"], [[at["cell"], 0.1, at["other"]], [1.0, None, 2.0]])},
        arrays={"a@base": np.array([at["array"], 2.0, np.nan]), "n": np.arange(3)},
        figures={"f": Figure(go.Figure(go.Scatter(y=np.array([at["drawn"], 2.0])), PLAIN))},
        texts={"h": HeatText("AB", [at["array"], 2.0])},
        cards={"c": Card("Card", metrics=[Metric("m", at["other"])])},
    )


def test_the_same_result_is_equal_to_the_last_bit():
    found = compare(made(), made())
    assert (found.verdict, found.exact) == ("the same", True)
    assert found.compared == {"metrics": 4, "tables": 1, "arrays": 2, "figures": 1, "texts": 1, "cards": 1}


@pytest.mark.parametrize("name", ["ser", "gap", "cell", "other", "array", "drawn"])
def test_rounding_of_another_machine_is_the_same(name):
    found = compare(made(), made(**{name: {"ser": 2.0, "gap": 0.5, "cell": 1.5, "other": 3.0}.get(name, 1.0) + 1e-6}))
    assert (found.verdict, found.exact) == ("the same", False)


@pytest.mark.parametrize(("name", "value"), [("ser", 2.49), ("gap", 0.74), ("cell", 1.69)])
def test_a_number_may_move_within_its_stated_error(name, value):
    assert compare(made(), made(**{name: value})).verdict == "the same within stated error"


@pytest.mark.parametrize(
    ("name", "value"),
    [("ser", 2.51), ("gap", 0.76), ("cell", 1.71), ("other", 3.001), ("array", 1.001), ("count", 8), ("word", "L2H3")],
)
def test_a_number_outside_its_error_and_one_without_an_error_differ(name, value):
    assert compare(made(), made(**{name: value})).verdict == "different"


def test_a_figure_follows_what_moved_and_differs_alone():
    assert compare(made(), made(drawn=1.2)).verdict == "different"
    assert compare(made(), made(drawn=1.2, ser=2.2)).verdict == "the same within stated error"


def test_parts_and_rows_that_come_or_go_are_differences():
    less = replace(made(), metrics=made().metrics[1:], tables={})
    assert compare(made(), less).different == [
        "metrics ser@base: only in the stored result",
        "tables t: only in the stored result",
    ]
    shorter = replace(made(), tables={"t": Table(["x", "x_error", "y"], [[1.5, 0.1, 3.0]])})
    assert "2 rows" in compare(made(), shorter).different[0]


def test_uncertainties_may_move_with_their_numbers_but_not_vanish_into_others():
    other = replace(made(), metrics=[Metric("ser", 2.0, 0.3, unit="%", model="base"), *made().metrics[1:]])
    assert compare(made(), other).verdict == "the same within stated error"
    wild = replace(made(), metrics=[Metric("ser", 2.0, 2.5, unit="%", model="base"), *made().metrics[1:]])
    assert compare(made(), wild).verdict == "different"
    bare = replace(made(), metrics=[Metric("ser", 2.0, unit="%", model="base"), *made().metrics[1:]])
    assert compare(made(), bare).verdict == "different"


def test_declared_timings_are_named_and_not_compared():
    found = compare(made(), made(ser=9.0, other=5.0, array=4.0), timings=("summary", "metrics.s*", "tables.t.y", "a*"))
    assert found.left_out == ["summary", "metrics.ser", "metrics.strongest", "tables.t.y", "arrays.a", "arrays.n"]
    assert [line.split(":")[0] for line in found.different] == ["text h, weights", "card c, m"]


def test_words_are_compared_without_the_numbers_that_stand_alone():
    assert masked("L3H2 has 2.14 ± 0.4 % of 1,000") == "L3H2 has # ± # % of #"
    assert masked("L3H2") != masked("L2H3")
