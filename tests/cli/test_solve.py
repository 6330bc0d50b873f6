import json

import pytest
from click.testing import CliRunner
from tiny import tiny

from alice.cli import main


@pytest.fixture(scope="module")
def ckpt(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ckpt") / "tiny"
    tiny("bijective").save_pretrained(folder)
    return str(folder)


def run(*arguments, stdin=None):
    return CliRunner().invoke(main, [*map(str, arguments)], input=stdin)


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
        (["solve", "--file", "missing.txt"], "missing.txt cannot be read"),
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
