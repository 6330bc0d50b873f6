"""A made-up historical cipher, read by a model that takes every symbol for an E."""

import numpy as np
import pytest
from click.testing import CliRunner
from handmade import reader
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.errors import AliceError
from alice.plugins import RunContext
from alice.plugins.builtin.borg import Borg
from alice.plugins.builtin.borg.measure import lines
from alice.plugins.reproduce import paper
from alice.text.alphabet import LETTERS
from alice.text.relabelling import relabellings


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


def test_the_error_counts_every_character_whose_letter_is_known(page):
    result = Borg(**page, ignore="R", relabellings=3).run(context())
    wrong = 100 * 7 / (13 + 2)  # six L and a C of thirteen letters, and two spaces
    assert result.headline_metric() == ("SER, %", pytest.approx(wrong))
    assert result.metrics["spread over relabellings, %"] == 0
    assert result.metrics["SER of the vote, %"] == pytest.approx(wrong)
    assert result.metrics["letters read differently, %"] == 0
    assert result.metrics["symbols"] == 3
    assert result.arrays["errors"].tolist() == [pytest.approx(wrong)] * 3
    assert not [caveat for caveat in result.caveats if "--ignore" in caveat]


def test_symbols_that_the_plaintext_does_not_tell_are_left_out(page):
    with_r = Borg(**page, relabellings=3).run(context())
    assert with_r.metrics["SER, %"] == pytest.approx(100 * 7 / (13 + 3))  # one more space, and no R
    rows = {row[0]: row for row in with_r.tables["key"].rows}
    assert rows["R"] == ("R", 1, "E", 100.0, "?")
    assert rows["m"] == ("m", 6, "E", 100.0, "L")
    assert list(rows)[:2] == ["4", "m"]
    assert with_r.caveats[0].startswith("The plaintext has no letter for R. In a simple substitution")


def test_symbols_that_share_a_letter_are_named(page):
    page["file"].write_text("z 4mm4 m44 q4mmmR")
    caveat = Borg(**page, relabellings=2).run(context()).caveats[0]
    assert caveat.startswith("The plaintext has one letter, E, for 4 and R; no letter for z. In a simple")
    assert "leave out with --ignore" in caveat


def test_the_text_is_shown_with_its_errors_in_capitals(page):
    result = Borg(**page, ignore="R", relabellings=3).run(context())
    assert result.tables["decipherment"].rows == (
        (1, "plaintext", "elle lee cellle"),
        (1, "decipherment", "eEEe Eee EeEEEe"),
    )
    shown = {row[1]: row[2:] for row in result.tables["relabellings"].rows}
    assert shown["plaintext"] == (None, "elle lee cellle")
    assert shown["best"] == shown["worst"] == (pytest.approx(100 * 7 / 15), "eEEe Eee EeEEEe")


def test_the_papers_table_stands_beside(page):
    rows = Borg(**page, relabellings=3).run(context()).tables["solvers"].rows
    assert [row[0] for row in rows] == ["base", "base, vote", *paper.BORG_MEAN_SER]
    assert rows[-1] == ("ALICE base, multilingual, 85M", "the paper", 100, 2.80, None, 0.00, 6.25)
    assert [row[3] for row in rows[2:]] == [5.47, 4.10, 2.80]


@pytest.mark.parametrize(("length", "passages"), [(256, [15]), (10, [8, 10])])  # the second repeats a word
def test_a_model_that_reads_names_has_the_spread_of_the_names_however_the_text_is_cut(page, length, passages):
    result = Borg(**page, ignore="R", relabellings=50, length=length).run(context(reader()))
    assert [row[2] for row in result.tables["passages"].rows] == passages
    keys = relabellings(50, seed=0, number=0)
    four, m, q = keys[:, 0], keys[:, 1], keys[:, 2]  # the names A, B and C after each relabelling
    right = 6 * (four == 4) + 6 * (m == 11) + (q == 2) + 2
    errors = 100 * (1 - right / 15)
    np.testing.assert_allclose(result.arrays["errors"], errors)
    assert result.metrics["spread over relabellings, %"] == pytest.approx(np.std(errors, ddof=1))
    assert result.tables["solvers"].rows[0][2:4] == (50, pytest.approx(errors.mean()))
    assert result.tables["solvers"].rows[0][5:] == (pytest.approx(errors.min()), pytest.approx(errors.max()))
    assert sum(result.figures["errors"].figure.data[0].y) == 50


def test_without_a_plaintext_there_is_agreement_and_confidence(page):
    result = Borg(page["file"], relabellings=3).run(context())
    assert result.headline_metric() == ("letters read differently, %", 0.0)
    assert 0 < result.metrics["mean probability of an answer, %"] <= 100
    assert not [name for name in result.metrics if "SER" in name]
    assert list(result.tables) == ["passages", "decipherment", "relabellings", "key"]
    assert not result.figures
    assert result.tables["decipherment"].rows == ((1, "decipherment", "eeee eee eeeeee e"),)
    assert result.tables["key"].rows[0][4] is None


def test_a_long_text_is_read_in_passages(page):
    result = Borg(**page, ignore="R", relabellings=2, length=8).run(context())
    assert [row[1:3] for row in result.tables["passages"].rows] == [(1, 8), (2, 6)]
    assert [row[3] for row in result.tables["passages"].rows] == [100 * 3 / 8, pytest.approx(100 * 4 / 6)]
    assert result.metrics["SER, %"] == pytest.approx(100 * 7 / 14)  # no passage has the space between them
    assert result.metrics["SER of the vote, %"] == pytest.approx(100 * 7 / 15)
    with pytest.raises(AliceError, match="reads at most 320"):
        Borg(**page, length=321).run(context())


def test_lines_end_between_words():
    assert lines(["abc", "de", "f", "ghijkl"], 6) == [(0, 2), (2, 3), (3, 4)]
    assert lines(["abcdefgh"], 4) == [(0, 1)]


def test_a_passage_is_as_long_as_the_papers():
    assert Borg().length == paper.BORG_LENGTH


@pytest.mark.parametrize("options", [{"relabellings": 1}, {"length": 0}])
def test_options_that_leave_nothing_are_refused(options):
    with pytest.raises(AliceError, match="leaves no"):
        Borg(**options)


def test_it_keeps_the_rules_of_an_analysis(check_analysis, page):
    check_analysis(Borg, **page, relabellings=3)


def test_the_command_line_runs_it_and_says_what_to_give(tmp_path, monkeypatch, page):
    monkeypatch.chdir(tmp_path)
    save_checkpoint(tmp_path / "model")
    save_texts(tmp_path / "texts.txt")
    missing = CliRunner().invoke(main, ["run", "borg", "--ckpt", "model"])
    assert missing.exit_code == 1
    assert "borg needs --file; give the transcription of a cipher" in missing.stderr
    arguments = ["--ckpt", "model", "--file", "cipher.txt", "--plain", "plain.txt", "--relabellings", "2"]
    done = CliRunner().invoke(main, ["run", "borg", *arguments])
    assert done.exit_code == 0, done.output
    assert "SER, %" in done.stdout
