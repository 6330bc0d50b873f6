"""Numbers of errors by length, for texts whose errors can be counted by hand."""

import numpy as np
import pytest
from handmade import leave_letters_alone, reader
from tiny import tiny

from alice.errors import AliceError
from alice.plugins import RunContext, paper
from alice.plugins.builtin.errors_by_length import ErrorsByLength
from alice.plugins.builtin.errors_by_length.report import error_counts, group_names
from alice.plugins.conformance import tiny_texts
from alice.text.alphabet import LETTERS

TEXTS = ["ACAC", "BACACACA", "BBBACACA", "ACDEFGHIJB" * 13]
"""Texts of 4, 8, 8 and 130 characters, with 0, 1, 3 and 13 times the letter B."""
SHORT = 100 * (0 + 1 / 8 + 3 / 8) / 3


@pytest.fixture(scope="module")
def result():
    """The texts read by a model that reads B as A."""
    with pytest.MonkeyPatch.context() as patch:
        leave_letters_alone(patch)
        return ErrorsByLength().run(RunContext.open(reader(B="A"), data=TEXTS, split="all"))


def test_the_figure_counts_texts_by_length_and_errors(result):
    figure = result.figure("errors", model="base")
    assert [row for row in figure.data.rows if row[3]] == [
        (0, 4, "0 errors", 1, 1),
        (5, 9, "1", 1, 2),
        (5, 9, "3-5", 1, 2),
        (130, 134, "11-20", 1, 1),
    ]
    drawn = {trace.name: dict(zip(trace.x, trace.y, strict=True)) for trace in figure.figure.data}
    assert drawn["0 errors"] == {2.5: 1, 7.5: 0, 132.5: 0}
    assert drawn["1"][7.5] == drawn["3-5"][7.5] == 0.5
    assert sum(shares[7.5] for shares in drawn.values()) == 1


def test_metrics_and_arrays_are_in_percent(result):
    assert result.headline_metric().name == "ser"
    assert result.metric("ser", model="base").value == pytest.approx((3 * SHORT + 10) / 4)
    assert result.metric("ser-short").value == pytest.approx(SHORT)
    assert result.metric("ser-short").error > 0
    assert (result.metric("ser-long").value, result.metric("ser-long").error) == (pytest.approx(10), None)
    assert result.metric("texts-without-error").value == 25
    assert result.metric("texts").value == 4
    assert result.array("lengths", model="base").tolist() == [4, 8, 8, 130]
    assert result.array("errors", model="base").tolist() == [0, 1, 3, 13]
    assert result.array("ser", model="base") == pytest.approx([0, 12.5, 37.5, 10])


def test_the_tables_have_our_figures_and_the_papers(result):
    rows = {row["length"]: row for row in result.tables["by-length"].records(model="base")}
    assert list(rows) == ["[0,32)", "[128,256)", "<128", ">=128", "all"]
    first, printed = rows["[0,32)"], paper.MEDIAN_SER["base"][0]
    assert (first["texts"], first["ser"], first["median"]) == (3, pytest.approx(SHORT), pytest.approx(12.5))
    assert first["solved"] == pytest.approx(100 / 3)
    assert (first["paper_median"], first["paper_high"]) == (printed.median, printed.high)
    assert rows["all"]["paper_median"] is None
    (measured,) = result.tables["short-and-long"].records(source="measured")
    assert (measured["model"], measured["kind"], measured["texts"]) == ("base", "model", 4)
    assert (measured["ser_short"], measured["ser_long_error"]) == (pytest.approx(SHORT), None)
    theirs = result.tables["short-and-long"].records(source="paper")
    assert len(theirs) == len(paper.MEAN_SER) + len(paper.OTHER_SOLVERS)
    assert list(theirs[0].values()) == ["ALICE base, 85M", "model", "paper", None, 1.09, 0.07, 0.06, 0.01]
    (beam,) = result.tables["short-and-long"].records(model=paper.NUHN)
    assert (beam["kind"], beam["ser_short"], beam["ser_short_error"], beam["ser_long"]) == ("solver", 22.0, None, 0.0)


def test_groups_and_bins_cover_everything():
    assert group_names() == ["0 errors", "1", "2", "3-5", "6-10", "11-20", "21 or more"]
    lengths, errors = np.array([10, 14, 15, 25, 25]), np.array([0, 2, 5, 6, 300])
    starts, counts = error_counts(lengths, errors)
    assert starts.tolist() == [10, 15, 20, 25]
    assert counts.tolist() == [
        [1, 0, 1, 0, 0, 0, 0],
        [0, 0, 0, 1, 0, 0, 0],
        [0, 0, 0, 0, 0, 0, 0],
        [0, 0, 0, 0, 1, 0, 1],
    ]


def test_without_long_texts_their_cells_are_empty(monkeypatch):
    leave_letters_alone(monkeypatch)
    result = ErrorsByLength().run(RunContext.open(reader(), data=["SHORT"], split="all"))
    assert "ser-long" not in {metric.name for metric in result.metrics}
    assert result.tables["short-and-long"].rows[0][4:] == (0.0, None, None, None)  # one text has no standard error
    assert result.metric("ser-short").error is None
    assert "0.00 % in texts of fewer than 128 characters and unknown" in result.summary


def test_models_and_solvers_are_compared_on_the_same_texts(monkeypatch):
    leave_letters_alone(monkeypatch)
    solvers = {"perfect": lambda setup: str, "base": lambda setup: lambda text: text.replace("A", "X")}
    solvers["broken"] = lambda setup: lambda text: text[1:]
    ctx = RunContext.open(reader(B="A"), data=TEXTS, split="all", solvers=solvers)
    result = ErrorsByLength(solver=("perfect", "base", "broken"), solver_texts=2).run(ctx)
    names, means = ["base", "perfect", "base (solver)"], [100 / 16, 0, 100 * (2 / 4 + 4 / 8) / 2]
    assert [row["length"] for row in result.tables["same-texts"].records(model="perfect")] == ["[0,32)", "<128", "all"]
    whole = result.tables["same-texts"].records(length="all")
    assert [(row["model"], row["texts"]) for row in whole] == [(name, 2) for name in names]
    assert [row["ser"] for row in whole] == pytest.approx(means)
    first = result.tables["short-and-long"].records(source="measured-first")
    assert [(row["model"], row["kind"], row["texts"]) for row in first] == [
        ("base", "model", 2),
        ("perfect", "solver", 2),
        ("base (solver)", "solver", 2),
    ]
    assert [result.metric("ser-same-texts", model=name).value for name in names] == pytest.approx(means)
    assert result.array("ser-same-texts", model="base (solver)").tolist() == [50, 50]
    assert "on the first 2 texts alone is: base 6.25 %, perfect 0.00 %" in result.summary
    assert result.caveats[0].startswith("broken is left out: the solver 'broken' returned 3 characters")
    assert [trace.name for trace in result.figure("same-texts").figure.data] == names


def test_solvers_whose_names_differ_only_in_a_hyphen_keep_their_arrays(monkeypatch):
    leave_letters_alone(monkeypatch)
    solvers = {"my solver": lambda setup: str, "my-solver": lambda setup: lambda text: text.replace("A", "X")}
    ctx = RunContext.open(reader(), data=TEXTS, split="all", solvers=solvers)
    result = ErrorsByLength(solver=tuple(solvers), solver_texts=2).run(ctx)
    assert result.array("ser-same-texts", model="my solver (1)").tolist() == [0, 0]
    assert result.array("ser-same-texts", model="my-solver (2)").tolist() == [50, 50]
    assert result.metric("ser-same-texts", model="my-solver (2)").value == 50


@pytest.mark.parametrize("broken", [False, True])
def test_a_model_with_another_alphabet_is_left_out_of_the_comparison(broken):
    answer = (lambda text: text[1:]) if broken else str
    models = tiny("base"), tiny("bijective", symbols=LETTERS + " .")
    ctx = RunContext.open(*models, data=tiny_texts(4), split="all", solvers={"mine": lambda setup: answer})
    result = ErrorsByLength(solver=("mine",)).run(ctx)
    said = any(caveat.startswith("bijective is left out of the comparison") for caveat in result.caveats)
    assert said == ("same-texts" in result.tables) == (not broken)


def test_models_are_compared_with_the_first_on_the_same_texts(monkeypatch):
    leave_letters_alone(monkeypatch)
    ctx = RunContext.open(reader(B="A"), reader(), data=TEXTS, split="all")
    table = ErrorsByLength(solver=()).run(ctx).tables["differences"]
    (short,) = table.records(length="<128")
    assert (short["texts"], short["difference"]) == (3, pytest.approx(-SHORT))
    assert short["low"] < -SHORT < 0 < short["high"], "three texts do not decide"
    assert not table.records(length=">=128"), "a single text says nothing about the error"


def test_without_solvers_the_report_has_only_the_models(result):
    # The context contains all texts, so none are left for the search to learn from.
    assert result.caveats[0].startswith("guided is left out: no text of the training split is left")
    assert result.caveats[1].startswith("beam is left out: no text of the training split is left")
    assert "same-texts" not in result.tables
    assert not result.tables["short-and-long"].records(source="measured-first")


def test_an_unknown_solver_is_refused_before_anything_is_read(run_context):
    with pytest.raises(AliceError, match="no solver 'beem'; did you mean 'beam'"):
        ErrorsByLength(solver=("beem",)).run(run_context)


@pytest.mark.parametrize(
    ("options", "complaint"), [({"samples": 0}, "leaves no text"), ({"solver_texts": -1}, "is too small")]
)
def test_invalid_options_are_refused(options, complaint):
    with pytest.raises(AliceError, match=complaint):
        ErrorsByLength(**options)
