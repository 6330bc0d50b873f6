"""Numbers of errors by length against texts whose errors can be counted by hand."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from handmade import leave_letters_alone, reader
from tiny import tiny
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.errors_by_length import ErrorsByLength
from alice.plugins.builtin.errors_by_length.report import error_counts, group_names
from alice.plugins.conformance import tiny_texts
from alice.plugins.reproduce import paper
from alice.text.alphabet import LETTERS


@pytest.fixture
def result(monkeypatch):
    """One text of 4 characters without a B, two of 8 with one and with three, one of 130 with 13."""
    leave_letters_alone(monkeypatch)
    texts = ["ACAC", "BACACACA", "BBBACACA", "ACDEFGHIJB" * 13]
    return ErrorsByLength().run(RunContext.open(reader(B="A"), data=texts, split="all"))


def test_the_figure_counts_texts_by_length_and_errors(result):
    rows = [row for row in result.figures["errors"].data.rows if row[3]]
    assert rows == [
        (0, 4, "0 errors", 1, 1),
        (5, 9, "1", 1, 2),
        (5, 9, "3-5", 1, 2),
        (130, 134, "11-20", 1, 1),
    ]
    drawn = {trace.name: dict(zip(trace.x, trace.y, strict=True)) for trace in result.figures["errors"].figure.data}
    assert drawn["0 errors"] == {2.5: 1, 7.5: 0, 132.5: 0}
    assert drawn["1"][7.5] == drawn["3-5"][7.5] == 0.5
    assert sum(shares[7.5] for shares in drawn.values()) == 1


def test_the_tables_have_means_beside_the_papers(result):
    short = 100 * (0 + 1 / 8 + 3 / 8) / 3
    assert result.metrics["SER <128, %"] == pytest.approx(short)
    assert result.metrics["SER >=128, %"] == pytest.approx(10)
    assert result.metrics["texts without an error, %"] == 25
    by_length = {row[0]: row for row in result.tables["by-length"].rows}
    assert by_length["[0,32)"][1:3] == (3, pytest.approx(short))
    assert by_length["[0,32)"][4] == pytest.approx(100 / 8)
    assert by_length["[0,32)"][8] == pytest.approx(100 / 3)
    assert by_length["[0,32)"][7] == str(paper.MEDIAN_SER["base"][0])
    assert list(by_length) == ["[0,32)", "[128,256)", "<128", ">=128", "all"]
    solvers = {row[0]: row for row in result.tables["short-and-long"].rows}
    assert len(solvers) == 1 + len(paper.MEAN_SER) + len(paper.OTHER_SOLVERS)
    assert solvers["ALICE base, 85M"][1:] == ("the paper", 1.09, 0.07, 0.06, 0.01)
    assert solvers["Beam + 6-gram (Nuhn et al. 2013)"][2:] == (22.0, None, 0.0, None)
    assert solvers["base"][2] == pytest.approx(short)


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
    assert "SER >=128, %" not in result.metrics
    assert result.tables["short-and-long"].rows[0][2:] == (0.0, None, None, None)  # one text has no standard error
    assert "SER <128, standard error" not in result.metrics
    assert "0.00 % in texts of <128 characters and unknown" in result.summary


def test_solvers_are_measured_on_the_same_texts_as_the_models_and_beside_them(monkeypatch):
    leave_letters_alone(monkeypatch)
    solvers = {"perfect": lambda setup: str, "base": lambda setup: lambda text: text.replace("A", "X")}
    solvers["broken"] = lambda setup: lambda text: text[1:]
    texts = ["ACAC", "BACACACA", "BBBACACA", "ACDEFGHIJB" * 13]
    ctx = RunContext.open(reader(B="A"), data=texts, split="all", solvers=solvers)
    result = ErrorsByLength(solver=("perfect", "base", "broken"), solver_texts=2).run(ctx)
    table = result.tables["same-texts"]
    assert list(table.columns[::2]) == ["length", "base", "perfect", "base (solver)"]
    rows = {row[0]: row for row in table.rows}
    assert list(rows) == ["[0,32)", "<128", "all"]
    assert rows["all"][1] == 2
    assert rows["all"][2::2] == (pytest.approx(100 / 16), 0, pytest.approx(100 * (2 / 4 + 4 / 8) / 2))
    both = [row for row in result.tables["short-and-long"].rows if row[1] == "measured here, first 2"]
    assert [row[0] for row in both] == ["base", "perfect", "base (solver)"]
    assert "On the first 2 texts alone the mean SER is: base 6.25 %, perfect 0.00 %" in result.summary
    assert result.caveats[0].startswith("broken is not here: the solver 'broken' answered 3 characters")
    assert (result.metrics["SER of perfect, first 2, %"], result.metrics["SER of base, first 2, %"]) == (0, 6.25)
    assert [trace.name for trace in result.figures["same-texts"].figure.data] == ["base", "perfect", "base (solver)"]


@pytest.mark.parametrize("broken", [False, True])
def test_a_model_of_another_alphabet_is_said_to_have_other_texts(broken):
    answer = (lambda text: text[1:]) if broken else str
    models = tiny("base"), tiny("bijective", symbols=LETTERS + " .")
    ctx = RunContext.open(*models, data=tiny_texts(4), split="all", solvers={"mine": lambda setup: answer})
    result = ErrorsByLength(solver=("mine",)).run(ctx)
    told = any(caveat.startswith("bijective has another alphabet than base") for caveat in result.caveats)
    assert told == ("same-texts" in result.tables) == (not broken)


def test_without_solvers_the_report_is_of_the_models_alone(result):
    # All texts of the fixture are the context's own, so that beam has none to learn from.
    assert "beam is not here: no text of the training side is left" in result.caveats[0]
    assert "same-texts" not in result.tables
    assert "measured here, first" not in str(result.tables["short-and-long"].rows)


def test_an_unknown_solver_is_refused_before_anything_is_read(run_context):
    with pytest.raises(AliceError, match="no solver 'beem'; did you mean 'beam'"):
        ErrorsByLength(solver=("beem",)).run(run_context)


@pytest.mark.parametrize(
    ("options", "complaint"), [({"samples": 0}, "leaves no text"), ({"solver_texts": -1}, "no number of texts")]
)
def test_options_that_make_no_sense_are_refused(options, complaint):
    with pytest.raises(AliceError, match=complaint):
        ErrorsByLength(**options)


def test_it_keeps_the_rules_of_an_analysis(check_analysis):
    check_analysis(ErrorsByLength, solver_texts=3)


def test_the_command_line_runs_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_checkpoint(tmp_path / "model")
    save_texts(tmp_path / "texts.txt")
    arguments = ["--ckpt", "model", "--data", "texts.txt", "--split", "all", "--samples", "7"]
    arguments += ["--solver", "hill-climbing", "--solver-texts", "3"]
    done = CliRunner().invoke(main, ["run", "errors-by-length", *arguments])
    assert done.exit_code == 0, done.output
    folder = Path(done.stdout.splitlines()[-1]).parent
    assert json.loads((folder / "result.json").read_text())["provenance"]["options"] == {
        "samples": 7,
        "solver": ["hill-climbing"],
        "solver_texts": 3,
    }
