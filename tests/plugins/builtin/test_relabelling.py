"""Changes under relabellings, for models that never change and for one that always does."""

import json
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from handmade import leave_letters_alone, reader
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.relabelling import Relabelling
from alice.text.alphabet import LETTERS
from alice.text.relabelling import relabellings

TEXTS = ["EEEA", "ABBA EVE", "EA" * 70]


def always_e(variant="base"):
    """Return a model that reads every letter as E."""
    return reader(variant, **dict.fromkeys(LETTERS, "E"))


def open_texts(*models, texts=TEXTS):
    return RunContext.open(*models, data=texts, split="all")


def test_a_model_that_minds_no_names_never_changes():
    result = Relabelling(relabellings=4).run(open_texts(always_e()))
    assert result.headline_metric() == ("letters read differently, %", 0.0)
    assert result.metrics["texts read differently, %"] == 0
    error = np.mean([1 / 4, 5 / 8, 1 / 2])  # all letters but E
    assert result.metrics["SER, %"] == pytest.approx(100 * error)
    assert result.metrics["spread of the SER over relabellings, %"] == 0
    assert result.metrics["SER of a vote, %"] == pytest.approx(100 * error)
    rows = {row[1]: row for row in result.tables["changes"].rows}
    assert list(rows) == ["[0,32)", "[128,256)", "all"]
    assert rows["[128,256)"][2:4] == (1, 0.0)
    errors = {row[1]: row for row in result.tables["errors"].rows}
    assert errors["[128,256)"][2:4] == (1, pytest.approx(50))
    assert errors["all"][5:7] == (0, pytest.approx(100 * error))


def test_a_model_that_reads_names_changes_whenever_they_do(monkeypatch):
    leave_letters_alone(monkeypatch)
    result = Relabelling(relabellings=6).run(open_texts(reader(), texts=["ABAB"]))
    keys = relabellings(6, seed=0, number=0)
    pairs = [(i, j) for i in range(6) for j in range(i)]
    changed = np.mean([[keys[i, letter] != keys[j, letter] for letter in (0, 1)] for i, j in pairs])
    assert result.metrics["letters read differently, %"] == pytest.approx(100 * changed)
    right = [(keys[number, :2] == [0, 1]).mean() for number in range(6)]
    assert result.arrays["errors"].tolist() == [pytest.approx(1 - np.array(right))]
    assert result.metrics["SER, %"] == pytest.approx(100 * (1 - np.mean(right)))
    table = result.tables["answers"]
    assert table.rows[0] == ("solution", None, None, "abab")
    first = "".join(LETTERS[keys[0, letter]] for letter in (0, 1, 0, 1))
    assert first.lower() in [row[3].lower() for row in table.rows[2:]]


def test_the_text_that_changes_most_is_shown_or_the_one_wished(monkeypatch):
    leave_letters_alone(monkeypatch)
    ctx = open_texts(reader(), texts=["?!? A", "ABCD"])
    assert "example 1" in Relabelling(example=1).run(ctx).tables["answers"].caption
    ctx = open_texts(always_e(), texts=["ABCD", "AB"])
    assert "1 different answer under 10 relabellings" in Relabelling().run(ctx).tables["answers"].caption
    with pytest.raises(AliceError, match="no example 2 among 2 texts"):
        Relabelling(example=2).run(ctx)


def test_a_text_of_ones_own_is_shown_with_its_error_only_if_it_was_encrypted():
    ctx = open_texts(always_e())
    rows = Relabelling(text="Eve!").run(ctx).tables["answers"].rows
    assert rows == (("vote", None, None, "eee!"), ("answer 1", 10, None, "eee!"))
    rows = Relabelling(text="Eve!", encrypt=True).run(ctx).tables["answers"].rows
    assert rows == (
        ("solution", None, None, "eve!"),
        ("vote", None, 25.0, "eee!"),
        ("answer 1", 10, 25.0, "eee!"),
    )


def test_lines_of_a_file_have_changes_but_no_errors(tmp_path):
    (tmp_path / "own.txt").write_text("QXQ ZZ\n\nABC\n")
    result = Relabelling(file=tmp_path / "own.txt").run(open_texts(always_e()))
    assert result.metrics == {
        "letters read differently, %": 0.0,
        "texts read differently, %": 0.0,
        "texts": 2,
        "relabellings": 10,
    }
    assert list(result.figures) == ["changes-by-length"]
    assert list(result.tables) == ["changes", "answers"]
    assert "text 0 of own.txt" in result.tables["answers"].caption


@pytest.mark.parametrize(("content", "complaint"), [("\n", "has no line with a text"), ("123\n", "no letter to solve")])
def test_a_file_without_ciphertexts_is_refused(tmp_path, content, complaint):
    (tmp_path / "own.txt").write_text(content)
    with pytest.raises(AliceError, match=complaint):
        Relabelling(file=tmp_path / "own.txt").run(open_texts(always_e()))


def test_models_stand_side_by_side():
    result = Relabelling(relabellings=3).run(open_texts(reader(), always_e(), always_e("bijective")))
    assert result.metrics["letters read differently by base (2), %"] == 0
    assert result.metrics["letters read differently by base (1), %"] > 50
    assert [trace.name for trace in result.figures["changes-by-length"].figure.data] == [
        "base (1)",
        "base (2)",
        "bijective",
    ]
    assert {"answers-base-1", "answers-base-2", "answers-bijective"} < result.tables.keys()


@pytest.mark.parametrize(
    ("options", "complaint"),
    [
        ({"relabellings": 1}, "leaves nothing to compare"),
        ({"samples": 0}, "leaves no text"),
        ({"encrypt": True}, "nothing to encrypt"),
        ({"example": -1}, "no example -1"),
    ],
)
def test_options_that_leave_nothing_are_refused(options, complaint):
    with pytest.raises(AliceError, match=complaint):
        Relabelling(**options)


def test_it_keeps_the_rules_of_an_analysis(check_analysis):
    check_analysis(Relabelling, relabellings=3)


def test_the_command_line_runs_it(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    save_checkpoint(tmp_path / "model")
    save_texts(tmp_path / "texts.txt")
    arguments = ["--ckpt", "model", "--data", "texts.txt", "--split", "all", "--samples", "4", "--relabellings", "2"]
    done = CliRunner().invoke(main, ["run", "relabelling", *arguments])
    assert done.exit_code == 0, done.output
    folder = Path(done.stdout.splitlines()[-1]).parent
    assert json.loads((folder / "result.json").read_text())["provenance"]["options"]["relabellings"] == 2
