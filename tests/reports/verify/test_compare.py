"""Results that agree, that move within their stated error, and that differ, by the rules that `verify` states."""

from dataclasses import replace

import numpy as np
import plotly.graph_objects as go
import pytest

from alice.reports import Card, Figure, HeatText, Metric, Result, Table
from alice.reports.verify.compare import compare
from alice.reports.verify.numbers import masked, same_numbers

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


def test_a_figure_follows_the_number_that_it_repeats_and_differs_otherwise():
    assert compare(made(), made(drawn=1.2)).verdict == "different"
    assert compare(made(), made(drawn=1.2, ser=2.2)).verdict == "different"
    assert compare(made(drawn=2.0), made(drawn=2.2, ser=2.2)).verdict == "the same within stated error"
    assert compare(made(drawn=0.02), made(drawn=0.022, ser=2.2)).verdict == "the same within stated error"
    assert compare(made(drawn=2.0), made(drawn=9.0, ser=2.2)).verdict == "different"


def test_a_number_in_words_follows_the_number_that_it_repeats_and_differs_otherwise():
    before, after = replace(made(), summary="2.00 % of 12 heads"), made(ser=2.2)
    for words, verdict in (
        ("2.20 % of 12 heads", "the same within stated error"),
        ("2.50 % of 12 heads", "different"),
        ("2.20 % of 2 heads", "different"),
    ):
        assert compare(before, replace(after, summary=words)).verdict == verdict


def test_only_the_numbers_of_a_figure_and_of_its_table_follow_what_moved():
    def drawn(ser, height, label="a", rows=1):
        figure = go.Figure(go.Bar(x=[label], y=[height]), PLAIN)
        table = Table(["what", "height"], [[label, height]] * rows)
        return Result("Title", metrics=[Metric("ser", ser, 0.25)], figures={"f": Figure(figure, data=table)})

    assert compare(drawn(2.0, 2.0), drawn(2.2, 2.2)).verdict == "the same within stated error"
    assert compare(drawn(2.0, 1.0), drawn(2.0, 1.2)).different == ["figure f: data.y has 1 other numbers"]
    assert compare(drawn(2.0, 2.0), drawn(2.2, 2.2, "b")).different == ["figure f: data.x is drawn otherwise"]
    assert compare(drawn(2.0, 2.0), drawn(2.2, 2.2, rows=2)).verdict == "different"


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


def stating(value, low, high):
    """Return a result with numbers that state an error or an interval."""
    error = (high - low) / 4
    metrics = [Metric("a", value, error), Metric("b", value, interval=(low, high))]
    cells = [value, error, value, low, high]
    return Result("Title", metrics=metrics, tables={"t": Table(["x", "x_error", "y", "y_low", "y_high"], [cells])})


def test_a_forged_number_cannot_hide_behind_an_error_that_was_forged_with_it():
    honest = stating(3.0, 2.5, 3.5)
    for low, high in ((-9.0, 11.0), (0.9, 1.1)):
        found = {line.split(":")[0] for line in compare(stating(1.0, low, high), honest).different}
        assert found >= {"metric a", "metric b", "table t, column x", "table t, column y"}
    assert compare(stating(3.1, 2.5, 3.5), honest).verdict == "the same within stated error"
    assert compare(stating(3.1, 2.6, 3.7), honest).verdict == "the same within stated error"


def test_declared_timings_are_named_and_not_compared():
    found = compare(made(), made(ser=9.0, other=5.0, array=4.0), timings=("summary", "metrics.s*", "tables.t.y", "a*"))
    assert found.left_out == ["summary", "metrics.ser", "metrics.strongest", "tables.t.y", "arrays.a", "arrays.n"]
    assert [line.split(":")[0] for line in found.different] == ["text h, weights", "card c, m"]


def test_words_are_compared_without_the_numbers_that_stand_alone():
    assert masked("L3H2 has 2.14 ± 0.4 % of 1,000") == "L3H2 has # ± # % of #"
    assert masked("L3H2") != masked("L2H3")


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("SER 2.32 %", "SER 2.33 %", True),  # a last digit that rounds otherwise
        ("SER 2.32 %", "SER 2.34 %", False),
        ("SER 2.32 %", "SER 2.3 %", True),
        ("5 of 12 heads", "6 of 12 heads", False),
        ("by \u22120.25", "by 0.25", False),
        ("10\u202f000 texts", "10,000 texts", True),
        ("1.5e-05", "1.6e-05", True),
        ("1.5e-05", "1.5e-04", False),
        ("version 1.2.3", "version 1.2.4", False),
    ],
)
def test_numbers_in_words_agree_up_to_their_last_digit_and_whole_numbers_exactly(one, other, same):
    assert same_numbers(one, other) is same
    for changed in ({"summary": other}, {"tables": {"t": Table(["c"], [[other]])}}):
        before = replace(made(), summary=one, tables={"t": Table(["c"], [[one]])})
        after = replace(made(), **({"summary": one, "tables": before.tables} | changed))
        assert (compare(before, after).verdict == "the same") is same


def test_numbers_in_words_may_follow_what_moved_and_are_then_listed():
    found = compare(replace(made(), caveats="Half of 2.00."), replace(made(ser=2.2), caveats="Half of 2.20."))
    assert found.verdict == "the same within stated error"
    assert "caveats: 'Half of 2.00.' before, 'Half of 2.20.' now (words repeat what moved)" in found.moved


def drawing(shape=(2, 3), name="loss 0.25", **layout):
    return Figure(go.Figure(go.Heatmap(z=np.arange(6.0).reshape(shape), name=name), {**PLAIN, **layout}))


FORGED = {
    "column labels": {"tables": {"t": Table(["x", "y"], [[1.5, 3.0]], labels={"x": "lens", "y": "probe"})}},
    "order of metrics": {"metrics": [Metric("b", 2.0), Metric("a", 1.0)]},
    "headline": {"headline": "b"},
    "axis range": {"figures": {"f": drawing(yaxis={"range": [0, 0.1]})}},
    "annotation": {"figures": {"f": drawing(annotations=[{"text": "p < 0.001"}])}},
    "number in the name of a trace": {"figures": {"f": drawing(name="loss 0.75")}},
    "shape of a map": {"figures": {"f": drawing(shape=(3, 2))}},
    "colour scale of a text": {"texts": {"h": HeatText("AB", [1.0, 2.0], limit=0.5)}},
    "metric of a card twice": {"cards": {"c": Card("Card", metrics=[Metric("m", 9.0), Metric("m", 1.0)])}},
}


@pytest.mark.parametrize("name", FORGED)
def test_what_only_readers_see_must_be_the_same_as_well(name):
    honest = Result(
        "Title",
        metrics=[Metric("a", 1.0), Metric("b", 2.0)],
        tables={"t": Table(["x", "y"], [[1.5, 3.0]], labels={"x": "probe", "y": "lens"})},
        figures={"f": drawing()},
        texts={"h": HeatText("AB", [1.0, 2.0])},
        cards={"c": Card("Card", metrics=[Metric("m", 1.0)])},
    )
    assert compare(honest, honest).verdict == "the same"
    assert compare(replace(honest, **FORGED[name]), honest).verdict == "different"


def test_layouts_are_not_compared_where_another_version_drew_them():
    one, other = (Result("Title", figures={"f": drawing(yaxis={"range": [0, end]})}) for end in (1, 2))
    assert compare(one, other).verdict == "different"
    assert compare(one, other, design=False).verdict == "the same"
