"""The table 'same data, same compute': errors, speed, and whether answers are substitutions at all."""

import pytest
from tiny import tiny

from alice.plugins import RunContext, paper
from alice.plugins.builtin.baseline_solvers import BASELINES, REFERENCE
from alice.plugins.builtin.errors_by_length import ErrorsByLength
from alice.plugins.builtin.errors_by_length.same_compute import QUOTED, substitutions
from alice.plugins.conformance import tiny_texts


def test_an_answer_is_a_substitution_if_equal_letters_stay_equal_and_different_ones_different():
    consistent, one_to_one = substitutions(["AAB, B", "AAB, B", "ABA, C", "A"], ["XXY, Y", "XXY, Z", "XXX, Y", "Q"])
    assert consistent.tolist() == [1, 0, 1, 1]
    assert one_to_one.tolist() == [1, 1, 0, 1]


def test_every_baseline_has_its_own_row_of_the_papers_table_and_the_reference_has_none():
    words = {
        "beam-nlm": "Beam + NLM (",
        "beam-nlm-freq": "NLM + Freq",
        "seq2seq-freq": "Seq2Seq + Freq",
        "causal-freq": "Causal LM + Freq",
        "causal-recurrence": "Causal LM + Recurrence",
    }
    assert QUOTED.keys() == words.keys() == {*BASELINES} - {REFERENCE}
    assert all(words[name] in quoted for name, quoted in QUOTED.items())


@pytest.fixture(scope="module")
def table():
    """The table for solvers that answer with one letter, or fail."""
    solvers = {name: lambda setup: lambda text: "E" * len(text) for name in BASELINES}
    solvers["causal-freq"] = lambda setup: lambda text: ""
    ctx = RunContext.open(tiny("base"), data=tiny_texts(20), split="all", solvers=solvers)
    result = ErrorsByLength(samples=5, solver=(), solver_texts=4, baselines=True).run(ctx)
    assert "causal-freq is left out" in result.caveats[0]
    return result.tables["same-compute"]


def test_the_table_has_errors_by_length_speed_and_shares_next_to_the_quoted_figures(table):
    assert list(dict.fromkeys(row["model"] for row in table.records())) == [
        name for name in BASELINES if name != "causal-freq"
    ]
    (whole,) = table.records(model="seq2seq-freq", length="all")
    assert (whole["texts"], whole["consistent"], whole["one_to_one"]) == (4, 100, 0)
    assert 50 < whole["ser"] < 100
    assert whole["letters_per_second"] > 0
    (short,) = table.records(model="seq2seq-freq", length="<128")
    assert short["quoted"] == paper.OTHER_SOLVERS[QUOTED["seq2seq-freq"]][0].mean
    assert table.records(model=REFERENCE, length="<128")[0]["quoted"] is None


def test_the_default_run_leaves_the_baselines_out():
    solvers = {name: lambda setup: lambda text: 1 / 0 for name in BASELINES}
    ctx = RunContext.open(tiny("base"), data=tiny_texts(20), split="all", solvers=solvers)
    assert "same-compute" not in ErrorsByLength(samples=5, solver=(), solver_texts=4).run(ctx).tables
