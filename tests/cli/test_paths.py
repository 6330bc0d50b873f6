"""Paths that the system refuses, or that look like markup, in every command that takes one."""

import shutil

import pytest
from click.testing import CliRunner
from workbench import save_checkpoint, save_texts

from alice.cli import main

TINY = "--preset mini --steps 1 --precision fp32 --compile no"
COMMANDS = [
    "bench startup --out {}",
    "ckpt export model --out {}/x",
    "ckpt import {} --out out",
    "ckpt info {}",
    "data prepare texts.txt --out {}",
    "data prepare {} --out out.txt",
    "data stats {}",
    "evaluate --ckpt model --data {}",
    "evaluate --ckpt {}",
    "plugins new mine --out {}",
    "report {}",
    "reproduce --out {}",
    "run early-exit --ckpt model --data texts.txt --split all --samples 2 --out {}",
    "run early-exit --ckpt model --data {}",
    "run early-exit --ckpt {}",
    "run scaling --trainings {}",
    "solve --file {}",
    "solve A --ckpt {}",
    f"train {TINY} --out {{}} --data texts.txt",
    f"train {TINY} --out training --data {{}}",
    f"train {TINY} --out training --data texts.txt --init {{}}",
    "view {}",
]
REFUSED = {
    "too long": "x" * 5000,
    "unknown user": "~nobody-of-this-name/x",
    "below a file": "texts.txt/x",
}
MARKUP = "a[/b].txt"
"""The file `b].txt` in the folder `a[`; to rich, [/b] is a closing tag."""
AS_FOLDER = ("--out {}", "view {}")
"""Where a leading ~ is an ordinary character, since the shell expands it."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paths")
    save_checkpoint(folder / "model")
    save_texts(folder / "texts.txt", 300)
    (folder / "a[").mkdir()
    save_texts(folder / MARKUP)
    return folder


FILES = {"model/config.json", "model/model.safetensors", "texts.txt", MARKUP}


def files_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def run(command, path):
    return CliRunner().invoke(main, [word.format(path) for word in command.split()])


@pytest.mark.parametrize("path", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_that_the_system_refuses_is_one_sentence(place, monkeypatch, command, path):
    if path.startswith("~") and any(word in command for word in AS_FOLDER):
        pytest.skip("a new folder may have this name")
    monkeypatch.chdir(place)
    result = run(command, path)
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2)
    assert result.stderr.splitlines()[-1].startswith(("alice-interp: error: ", "Error: ")), result.stderr
    assert files_in(place) == FILES


@pytest.mark.parametrize(
    "command",
    [
        "data stats {}",
        "data prepare {} --out {}.out",
        "evaluate --ckpt model --data {}",
        "run early-exit --ckpt model --split all --samples 2 --data {}",
        "run early-exit --ckpt {}",
        "solve --ckpt model --file {}",
        "plugins --plugin {}",
        "plugins new {}",
    ],
)
def test_a_path_that_looks_like_markup_is_shown_as_it_is(place, tmp_path, monkeypatch, command):
    shutil.copytree(place, tmp_path / "copy")
    monkeypatch.chdir(tmp_path / "copy")
    result = run(command, MARKUP)
    assert isinstance(result.exception, SystemExit | None), result.exception
