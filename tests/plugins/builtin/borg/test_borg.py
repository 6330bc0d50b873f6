"""A made-up historical cipher, read by a model that reads every symbol as E."""

import numpy as np
import pytest
from click.testing import CliRunner
from handmade import reader

from alice.cli import main
from alice.errors import AliceError
from alice.plugins import RunContext, paper
from alice.plugins.builtin.borg import Borg
from alice.plugins.builtin.borg.report import lines
from alice.solving.relabelling import relabellings
from alice.text.alphabet import LETTERS


@pytest.fixture
def page(tmp_path):
    """Cipher and plaintext: 4 is E, m is L, q is C; R is a sign that the plaintext does not have."""
    (tmp_path / "cipher.txt").write_text("4mm4 m44\n<CLEAR Remark>\nq4m,,\nmm4 R.\n")
    (tmp_path / "plain.txt").write_text("Elle lee! [Remark] cel lle (sic)")
    return {"file": tmp_path / "cipher.txt", "plain": tmp_path / "plain.txt"}


def context(*models):
    return RunContext.open(*(models or (always_e(),)), data=["UNUSED"], split="all")


def always_e(variant="base"):
    return reader(variant, **dict.fromkeys(LETTERS, "E"))


def values(result, *names):
    return [result.metric(name, model="base").value for name in names]


def test_the_error_counts_every_character_whose_letter_is_known(page):
    result = Borg(**page, ignore="R", relabellings=3).run(context())
    wrong = 100 * 7 / (13 + 2)  # six L and a C of thirteen letters, and two spaces
    assert result.headline_metric().name == "ser"
    assert values(result, "ser", "ser-spread", "ser-vote", "letters-changed") == pytest.approx([wrong, 0, wrong, 0])
    assert result.metric("symbols").value == 3
    assert result.array("ser", model="base").tolist() == [pytest.approx(wrong)] * 3
    assert not [caveat for caveat in result.caveats if "--ignore" in caveat]


def test_what_was_left_out_is_counted(page):
    result = Borg(**page, ignore="R", relabellings=2).run(context())
    counts = {row["kind"]: (row["transcription"], row["plaintext"]) for row in result.tables["marks"].records()}
    assert counts == {"remark": (1, 2), "ignored": (1, 0)}
    assert "Left out: of cipher.txt 1 remark, 1 ignored; of its plaintext 2 remark (table `marks`)." in result.summary
    page["file"].write_text("4mm4 m44 q4mmm4")
    plain = Borg(page["file"], relabellings=2).run(context())
    assert "marks" not in plain.tables
    assert "Left out" not in plain.summary


def test_symbols_without_a_letter_in_the_plaintext_are_left_out(page):
    with_r = Borg(**page, relabellings=3).run(context())
    assert values(with_r, "ser") == pytest.approx([100 * 7 / (13 + 3)])  # one more space, and no R
    rows = {row[1]: row for row in with_r.tables["key"].rows}
    assert rows["R"] == ("base", "R", 1, "E", 100.0, "?")
    assert rows["m"] == ("base", "m", 6, "E", 100.0, "L")
    assert list(rows)[:2] == ["4", "m"]
    assert with_r.caveats[0].startswith("The plaintext gives R no letter. In a simple substitution")


def test_symbols_that_share_a_letter_are_named(page):
    page["file"].write_text("z 4mm4 m44 q4mmmR")
    caveat = Borg(**page, relabellings=2).run(context()).caveats[0]
    assert caveat.startswith("The plaintext gives 4 and R the same letter, E; z no letter. In a simple")
    assert "use --ignore" in caveat


def test_the_text_is_shown_with_its_errors_in_capitals(page):
    result = Borg(**page, ignore="R", relabellings=3).run(context(always_e(), always_e("bijective")))
    assert result.tables["decipherment"].rows[:2] == (
        ("base", 1, "plaintext", "elle lee cellle"),
        ("base", 1, "decipherment", "eEEe Eee EeEEEe"),
    )
    other = result.tables["decipherment"].records(model="bijective")
    assert [row["reading"] for row in other] == ["plaintext", "decipherment"]
    shown = {row["relabelling"]: row for row in result.tables["relabellings"].records(model="base")}
    assert (shown["plaintext"]["differs"], shown["plaintext"]["text"]) == (None, "elle lee cellle")
    for name in ("best", "worst"):
        assert (shown[name]["differs"], shown[name]["text"]) == (pytest.approx(100 * 7 / 15), "eEEe Eee EeEEEe")


def test_the_table_of_solvers_has_the_papers(page):
    table = Borg(**page, relabellings=3).run(context()).tables["solvers"]
    ours = [(row["model"], row["source"]) for row in table.records(model="base", kind="model")]
    assert ours == [("base", "measured"), ("base", "measured-vote")]
    printed = table.records(source="paper")
    assert {row["model"]: row["ser"] for row in printed} == paper.BORG_MEAN_SER
    assert list(printed[-1].values()) == [paper.BORG_ALICE, "model", "paper", 100, 2.80, None, 0.00, 6.25]


@pytest.mark.parametrize(("length", "passages"), [(256, [15]), (10, [8, 10])])  # the second repeats a word
def test_a_model_that_reads_names_has_the_spread_of_the_names_however_the_text_is_cut(page, length, passages):
    result = Borg(**page, ignore="R", relabellings=50, length=length).run(context(reader()))
    assert [row["characters"] for row in result.tables["passages"].records()] == passages
    keys = relabellings(50, seed=0, number=0)
    four, m, q = keys[:, 0], keys[:, 1], keys[:, 2]  # the names A, B and C after each relabelling
    right = 6 * (four == 4) + 6 * (m == 11) + (q == 2) + 2
    errors = 100 * (1 - right / 15)
    np.testing.assert_allclose(result.array("ser", model="base"), errors)
    assert values(result, "ser-spread") == pytest.approx([np.std(errors, ddof=1)])
    (row,) = result.tables["solvers"].records(source="measured")
    assert (row["relabellings"], row["ser"]) == (50, pytest.approx(errors.mean()))
    assert (row["lowest"], row["highest"]) == (pytest.approx(errors.min()), pytest.approx(errors.max()))
    assert sum(result.figure("relabellings").figure.data[0].y) == 50


def test_without_a_plaintext_there_is_agreement_and_confidence(page):
    result = Borg(page["file"], relabellings=3).run(context())
    assert (result.headline_metric().name, result.headline_metric().value) == ("letters-changed", 0.0)
    assert 0 < result.metric("confidence").value <= 100
    assert not [metric for metric in result.metrics if metric.name.startswith("ser")]
    assert list(result.tables) == ["passages", "decipherment", "relabellings", "key", "marks"]
    assert not result.figures
    assert result.tables["decipherment"].rows == (("base", 1, "decipherment", "eeee eee eeeeee e"),)
    assert result.tables["key"].records()[0]["stands_for"] is None


def test_a_long_text_is_read_in_passages(page):
    result = Borg(**page, ignore="R", relabellings=2, length=8).run(context())
    rows = result.tables["passages"].records()
    assert [(row["passage"], row["characters"]) for row in rows] == [(1, 8), (2, 6)]
    assert [row["ser"] for row in rows] == pytest.approx([100 * 3 / 8, 100 * 4 / 6])
    assert values(result, "ser", "ser-vote") == pytest.approx([100 * 7 / 14, 100 * 7 / 15])  # no passage has the space
    with pytest.raises(AliceError, match="reads at most 320"):
        Borg(**page, length=321).run(context())


def test_lines_end_between_words():
    assert lines(["abc", "de", "f", "ghijkl"], 6) == [(0, 2), (2, 3), (3, 4)]
    assert lines(["abcdefgh"], 4) == [(0, 1)]


def test_a_passage_is_as_long_as_the_papers():
    assert Borg().length == paper.BORG_LENGTH


@pytest.mark.parametrize("options", [{"relabellings": 1}, {"length": 0}])
def test_invalid_options_are_refused(options):
    with pytest.raises(AliceError, match="is too small"):
        Borg(**options)


def test_the_command_line_says_what_to_give():
    missing = CliRunner().invoke(main, ["run", "borg", "--ckpt", "base"])
    assert missing.exit_code == 1
    assert "borg needs --file; give the transcription of a cipher" in missing.stderr
