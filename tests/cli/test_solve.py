import json

import numpy as np
import pytest
from click.testing import CliRunner
from made_up_language import language
from tiny import tiny

from alice.cache import FOLDER_VARIABLE
from alice.cli import main
from alice.text import Key


@pytest.fixture(scope="module")
def ckpt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ckpt") / "tiny"
    tiny("bijective").save_pretrained(folder)
    return str(folder)


def run(*arguments, stdin=None, solver="model"):
    if arguments[0] == "solve" and "--solver" not in arguments:
        arguments = (*arguments, "--solver", solver)
    return CliRunner().invoke(main, [*map(str, arguments)], input=stdin)


@pytest.fixture
def corpus(tmp_path, monkeypatch):
    """A corpus of a made-up language, and an empty cache."""
    monkeypatch.setenv(FOLDER_VARIABLE, str(tmp_path / "cache"))
    file = tmp_path / "texts.txt"
    file.write_text("\n".join(language(12, seed=seed) for seed in range(300)))
    return str(file)


def test_a_text_gives_plaintext_key_and_confidence(ckpt):
    result = run("solve", "Some text to solve, whatever comes out.", "--ckpt", ckpt)
    assert result.exit_code == 0
    first, cipher, plain, confidence = result.stdout.splitlines()[:4]
    assert len(first) == len("Some text to solve, whatever comes out.")
    letters = len(set("sometexttosolvewhatevercomesout"))
    assert len(cipher.split()) == len(plain.split()) == letters + 1
    assert confidence.startswith("confidence")


def test_standard_input_is_solved_line_by_line(ckpt):
    result = run("solve", "-", "--json", "--ckpt", ckpt, stdin="FIRST TEXT\n\nSECOND ONE\n")
    rows = [json.loads(line) for line in result.stdout.splitlines()]
    assert [row["ciphertext"] for row in rows] == ["FIRST TEXT", "SECOND ONE"]
    assert all("more than one solution" in row["note"] for row in rows)
    assert set(rows[0]["key"]) == set(rows[0]["confidence"]) == set("FIRSTEX")


def test_a_file_is_solved_line_by_line(ckpt, tmp_path):
    (tmp_path / "texts.txt").write_text("ONE TEXT\nANOTHER TEXT\n")
    result = run("solve", "--file", tmp_path / "texts.txt", "--json", "--ckpt", ckpt)
    assert len(result.stdout.splitlines()) == 2


def test_layers_are_shown_from_the_embedding_on(ckpt):
    result = run("solve", "SOME TEXT", "--layers", "--ckpt", ckpt)
    assert [line[:9].strip() for line in result.stdout.splitlines()[:3]] == ["layer 0", "layer 1", "layer 2"]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["solve"], "give one thing to solve"),
        (["solve", "A", "--file", "x.txt"], "give one thing to solve"),
        (["solve", "--file", "missing.txt"], "there is no file missing.txt; check the path"),
        (["solve", "   "], "no text to solve"),
        (["solve", "1234"], "no letter to solve"),
        (["solve", "TEXT", "--ckpt", "no-such-model"], "there is no checkpoint 'no-such-model'"),
    ],
)
def test_what_cannot_be_solved_is_one_line_on_stderr(arguments, complaint, ckpt):
    if "--ckpt" not in arguments:
        arguments = [*arguments, "--ckpt", ckpt]
    result = run(*arguments)
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1
    assert result.stdout == ""


def test_ckpt_show_prints_the_configuration(ckpt):
    found = json.loads(run("ckpt", "show", ckpt, "--json").stdout)
    assert found["variant"] == "bijective"
    assert "sinkhorn_tau" in run("ckpt", "show", ckpt).stdout


def test_ckpt_list_gives_a_row_for_each_bundled_model():
    rows = json.loads(run("ckpt", "list", "--json").stdout)
    assert [row["name"] for row in rows] == sorted(row["name"] for row in rows)


def test_the_guided_solver_is_the_default_and_solves_what_the_model_cannot(ckpt, corpus):
    plain = language(20, seed=1000)
    cipher = Key.random(np.random.default_rng(0)).encrypt(plain)
    result = CliRunner().invoke(main, ["solve", cipher, "--ckpt", ckpt, "--lm-data", corpus, "--json"])
    assert result.exit_code == 0, result.output
    found = json.loads(result.stdout)
    assert found["plaintext"] == plain
    assert found["candidates"][0]["plaintext"] == plain
    assert set(found["candidates"][0]["scores"]) == {"chars", "words", "network"}
    assert all(change["found"] == found["key"][change["cipher"]] for change in found["changes"])
    shown = run("solve", cipher, "--ckpt", ckpt, "--lm-data", corpus, "--explain", "--layers", solver="guided").stdout
    assert [line[:7] for line in shown.splitlines()[:3]] == ["layer 0", "layer 1", "layer 2"]
    assert plain in shown.splitlines()
    assert f"agree on {len(found['key']) - len(found['changes'])} of {len(found['key'])} letters" in shown


def test_of_several_languages_the_one_that_was_chosen_is_named(ckpt, corpus, tmp_path):
    plain = language(20, seed=1000)
    cipher = Key.random(np.random.default_rng(0)).encrypt(plain)
    backwards = tmp_path / "backwards.txt"
    backwards.write_text("\n".join(language(12, seed=seed)[::-1] for seed in range(300)))
    both = ["--lm-data", backwards, "--lm-data", corpus]
    found = json.loads(run("solve", cipher, "--ckpt", ckpt, *both, "--json", solver="guided").stdout)
    assert (found["plaintext"], found["language"]) == (plain, "texts.txt")
    shown = run("solve", cipher, "--ckpt", ckpt, *both, "--explain", solver="guided").stdout
    assert "language: texts.txt" in shown.splitlines()
    alone = run("solve", cipher, "--ckpt", ckpt, "--lm-data", corpus, "--json", solver="guided")
    assert json.loads(alone.stdout)["language"] == ""


def test_without_the_default_corpus_the_model_alone_solves_and_says_so(ckpt, monkeypatch):
    monkeypatch.setattr("alice.text.corpus.find_spec", lambda name: None)
    result = run("solve", "SOME TEXT", "--ckpt", ckpt, solver="guided")
    assert result.exit_code == 0
    assert "note: solving with the model alone (the corpus 'quotes' needs the package" in result.stderr
    assert result.stdout.splitlines()[0] == run("solve", "SOME TEXT", "--ckpt", ckpt).stdout.splitlines()[0]


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--lm-data", "nowhere.txt"], "there is no file nowhere.txt"),
        (["--lm-data", "x.txt", "--solver", "model"], "--lm-data is for the search"),
        (["--explain", "--solver", "beam"], "--explain needs --solver guided"),
    ],
)
def test_options_of_the_search_that_make_no_sense_are_refused_in_one_line(ckpt, arguments, complaint):
    models = [] if "beam" in arguments else ["--ckpt", ckpt]
    result = run("solve", "TEXT", *models, *arguments, solver="guided")
    assert result.exit_code == 1
    assert complaint in result.stderr
    assert len(result.stderr.strip().splitlines()) == 1


def test_lines_that_cannot_be_solved_come_back_if_one_can(ckpt, corpus):
    result = run("solve", "-", "--ckpt", ckpt, "--lm-data", corpus, "--json", stdin="123\nQUI NA\n", solver="guided")
    assert [bool(json.loads(line)["key"]) for line in result.stdout.splitlines()] == [False, True]
    assert result.exit_code == 0


@pytest.mark.parametrize(
    ("solver", "corpora", "complaint"),
    [
        ("beam", 2, "the solver beam searches in one language"),
        ("hill-climbing", 2, "the solver hill-climbing does not learn from --lm-data"),
        ("beam-nlm", 1, "the solver beam-nlm does not learn from --lm-data"),
    ],
)
def test_a_corpus_that_a_solver_does_not_learn_from_is_refused(corpus, tmp_path, solver, corpora, complaint):
    other = tmp_path / "others.txt"
    other.write_text("\n".join(language(12, seed=seed) for seed in range(300, 500)))
    given = [argument for file in (corpus, other)[:corpora] for argument in ("--lm-data", file)]
    result = run("solve", "QUI NA TAV", *given, solver=solver)
    assert result.exit_code == 1
    assert complaint in result.stderr
