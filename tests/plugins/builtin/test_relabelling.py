"""Changes under relabellings, for a model that never changes its answer and one that always does."""

import numpy as np
import pytest
from handmade import leave_letters_alone, reader
from tiny import tiny

from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.relabelling import Relabelling
from alice.solving.relabelling import relabellings
from alice.text.alphabet import LETTERS

TEXTS = ["EEEA", "ABBA EVE", "EA" * 70]


def always_e(variant="base"):
    """Return a model that reads every letter as E."""
    return reader(variant, **dict.fromkeys(LETTERS, "E"))


def open_texts(*models, texts=TEXTS):
    return RunContext.open(*models, data=texts, split="all")


def test_a_model_that_ignores_names_never_changes():
    result = Relabelling(relabellings=4).run(open_texts(always_e()))
    error = 100 * np.mean([1 / 4, 5 / 8, 1 / 2])  # all letters but E
    assert result.headline_metric().name == "letters-changed"
    metrics = {name: result.metric(name, model="base").value for name in ("letters-changed", "texts-changed")}
    assert metrics == {"letters-changed": 0, "texts-changed": 0}
    assert result.metric("ser").value == result.metric("ser-vote").value == pytest.approx(error)
    assert result.metric("ser").error > 0
    assert result.metric("ser-spread").value == 0
    rows = {row["length"]: row for row in result.tables["changes-by-length"].records(model="base")}
    assert list(rows) == ["[0,32)", "[128,256)", "all"]
    assert (rows["[128,256)"]["texts"], rows["[128,256)"]["letters_changed"]) == (1, 0.0)
    errors = {row["length"]: row for row in result.tables["error-by-length"].records(model="base")}
    assert (errors["[128,256)"]["texts"], errors["[128,256)"]["ser"]) == (1, pytest.approx(50))
    assert (errors["all"]["spread"], errors["all"]["ser_vote"]) == (0, pytest.approx(error))


def test_a_model_that_renames_letters_itself_never_changes():
    for how, changes in (("none", True), ("frequency", False), ("recurrence", False)):
        result = Relabelling(relabellings=4).run(open_texts(tiny("bijective", relabel=how)))
        assert (result.metric("letters-changed").value > 0) is changes


def test_a_model_that_reads_names_changes_whenever_they_do(monkeypatch):
    leave_letters_alone(monkeypatch)
    result = Relabelling(relabellings=6).run(open_texts(reader(), texts=["ABAB"]))
    keys = relabellings(6, seed=0, number=0)
    pairs = [(i, j) for i in range(6) for j in range(i)]
    changed = np.mean([[keys[i, letter] != keys[j, letter] for letter in (0, 1)] for i, j in pairs])
    assert result.metric("letters-changed").value == pytest.approx(100 * changed)
    assert result.array("letters-changed", model="base") == pytest.approx([100 * changed])
    right = np.array([(keys[number, :2] == [0, 1]).mean() for number in range(6)])
    assert result.array("ser", model="base").tolist() == [pytest.approx(100 * (1 - right))]
    assert result.metric("ser").value == pytest.approx(100 * (1 - np.mean(right)))
    table = result.tables["answers"]
    assert table.rows[0] == ("base", "plaintext", None, None, "abab")
    first = "".join(LETTERS[keys[0, letter]] for letter in (0, 1, 0, 1))
    assert first.lower() in [row["text"].lower() for row in table.records()[2:]]


def test_the_text_that_changes_most_is_shown_or_the_chosen_one(monkeypatch):
    leave_letters_alone(monkeypatch)
    ctx = open_texts(reader(), texts=["?!? A", "ABCD"])
    assert "example 1" in Relabelling(example=1).run(ctx).tables["answers"].caption
    ctx = open_texts(always_e(), texts=["ABCD", "AB"])
    assert "1 different answer under 10 relabellings" in Relabelling().run(ctx).tables["answers"].caption
    with pytest.raises(AliceError, match="no example 2 among 2 texts"):
        Relabelling(example=2).run(ctx)


def test_a_given_text_has_an_error_only_if_it_is_the_plaintext():
    ctx = open_texts(always_e())
    rows = Relabelling(text="Eve!").run(ctx).tables["answers"].rows
    assert rows == (("base", "vote", None, None, "eee!"), ("base", "answer 1", 10, None, "eee!"))
    rows = Relabelling(text="Eve!", encrypt=True).run(ctx).tables["answers"].rows
    assert rows == (
        ("base", "plaintext", None, None, "eve!"),
        ("base", "vote", None, 25.0, "eee!"),
        ("base", "answer 1", 10, 25.0, "eee!"),
    )


def test_lines_of_a_file_have_changes_but_no_errors(tmp_path):
    (tmp_path / "own.txt").write_text("QXQ ZZ\n\nABC\n")
    result = Relabelling(file=tmp_path / "own.txt").run(open_texts(always_e()))
    assert {metric.name: metric.value for metric in result.metrics} == {
        "letters-changed": 0.0,
        "texts-changed": 0.0,
        "texts": 2,
        "relabellings": 10,
    }
    assert list(result.figures) == ["changes-by-length"]
    assert list(result.tables) == ["changes-by-length", "answers"]
    assert "text 0 of own.txt" in result.tables["answers"].caption


@pytest.mark.parametrize(("content", "complaint"), [("\n", "is empty; write"), ("123\n", "no letter to solve")])
def test_a_file_without_ciphertexts_is_refused(tmp_path, content, complaint):
    (tmp_path / "own.txt").write_text(content)
    with pytest.raises(AliceError, match=complaint):
        Relabelling(file=tmp_path / "own.txt").run(open_texts(always_e()))


def test_models_stand_side_by_side():
    names = ["base (1)", "base (2)", "bijective"]
    result = Relabelling(relabellings=3).run(open_texts(reader(), always_e(), always_e("bijective")))
    assert result.metric("letters-changed", model="base (2)").value == 0
    assert result.metric("letters-changed", model="base (1)").value > 50
    assert [trace.name for trace in result.figures["changes-by-length"].figure.data] == names
    assert list(dict.fromkeys(row["model"] for row in result.tables["answers"].records())) == names
    assert all(result.array("ser", model=name).shape == (3, 3) for name in names)
