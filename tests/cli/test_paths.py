"""Paths that the system refuses, or that look like markup, in every command that takes one."""

import errno
import shutil
from pathlib import Path

import pytest
from click.testing import CliRunner
from workbench import save_checkpoint, save_texts

from alice.cli import main
from alice.errors import AliceError
from alice.plugins.store import stores_folder
from alice.reports import Report, Result

TINY = "--steps 1 --precision fp32 --compile no"
COMMANDS = [
    "bench startup --out {}",
    "ckpt export model --out {}/x",
    "ckpt export {} --out out",
    "ckpt export training --data {} --out out",
    "ckpt import {} --out out",
    "ckpt import theirs.pt --out {}",
    "ckpt show {}",
    "data prepare texts.txt --out {}",
    "data prepare {} --out out.txt",
    "data prepare hf:{} --out out.txt",
    "data prepare --multilingual --source la={} --source en={} --out out.csv",
    "data prepare --multilingual {} --out out.csv",
    "data stats {}",
    "demo --out {}",
    "evaluate --ckpt model --data {}",
    "evaluate --ckpt {}",
    "plugins new mine --out {}",
    "report {}",
    "report report --out {}",
    "reproduce --out {}",
    "reproduce --ckpt {} --out out",
    "reproduce --ckpt model --data {} --out out",
    "reproduce --borg {} --out out",
    "reproduce --borg texts.txt --borg-plain {} --out out",
    "reproduce --borg texts.txt --multilingual {} --ckpt model --data texts.txt --out out",
    "reproduce --scaling-trainings {} --out out",
    "reproduce --generalization-trainings {} --out out",
    "run borg --ckpt model --file {}",
    "run borg --ckpt model --file texts.txt --plain {}",
    "run relabelling --ckpt model --file {}",
    "run early-exit --ckpt model --data texts.txt --split all --samples 2 --out {}",
    "run early-exit --ckpt model --data {}",
    "run early-exit --ckpt {}",
    "run absent --plugin {}",
    "run absent --plugin={}",
    "run generalization --trainings {}",
    "run scaling --trainings {}",
    "solve --file {}",
    "solve A --ckpt {}",
    "solve A --solver absent --plugin {}",
    f"sweep scaling --presets mini {TINY} --data texts.txt --out {{}}",
    f"sweep scaling --presets mini {TINY} --data {{}} --out out",
    f"train --preset mini {TINY} --out {{}} --data texts.txt",
    f"train --preset mini {TINY} --out out --data {{}}",
    f"train --preset mini {TINY} --out out --data texts.txt --init {{}}",
    "train --resume --out {}",
    "view {}",
]
REFUSED = {
    "too long": "x" * 5000,
    "a null byte": "a\0b",
    "unknown user": "~nobody-of-this-name/x",
    "below a file": "texts.txt/x",
    "a link to itself": "loop",
    "a folder that others locked": "locked/x",
}
MARKUP = "a[/b].txt"
"""The file `b].txt` in the folder `a[`; to rich, [/b] is a closing tag."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paths")
    save_checkpoint(folder / "model")
    save_texts(folder / "texts.txt", 300)
    (folder / "a[").mkdir()
    save_texts(folder / MARKUP)
    (folder / "loop").symlink_to("loop")
    (folder / "theirs.pt").touch()
    Report(Result("Depth"), {"analysis": "depth"}).save(folder / "runs").stored_in.rename(folder / "report")
    return folder


@pytest.fixture(autouse=True)
def locked(monkeypatch):
    """Refuse to look into the folder `locked`, as the system does for everybody but root."""
    look = Path.stat

    def stat(path, **options):
        if path.parent.name == "locked":
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return look(path, **options)

    monkeypatch.setattr(Path, "stat", stat)
    monkeypatch.setenv("ALICE_INTERP_LOAD_PLUGINS", "")


def files_in(folder):
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


def run(command, path):
    return CliRunner().invoke(main, [word.format(path) for word in command.split()])


@pytest.mark.parametrize("path", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_that_the_system_refuses_is_one_sentence(place, monkeypatch, command, path):
    monkeypatch.chdir(place)
    before = files_in(place)
    check_refused(run(command, path))
    assert files_in(place) == before


def check_refused(result):
    """Check that a command ended with one sentence."""
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2)
    assert result.stderr.splitlines()[-1].startswith(("alice-interp: error: ", "Error: ")), result.stderr
    assert len(result.stderr.splitlines()[-1]) < 600


@pytest.mark.parametrize("path", [path for path in REFUSED.values() if "\0" not in path], ids=lambda path: path[:10])
def test_a_folder_in_a_variable_that_the_system_refuses_is_one_sentence(place, monkeypatch, path):
    monkeypatch.chdir(place)
    monkeypatch.delenv("ALICE_INTERP_LOAD_PLUGINS")
    monkeypatch.setenv("ALICE_INTERP_PLUGINS", path)
    result = run("plugins", "")
    assert result.exit_code == 0, result.output
    assert "ALICE_INTERP_PLUGINS" in result.stdout
    assert run("run --help", "").exit_code == 0
    with pytest.raises(AliceError):
        stores_folder({"ALICE_INTERP_CACHE": path})


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
    shutil.copytree(place, tmp_path / "copy", symlinks=True)
    monkeypatch.chdir(tmp_path / "copy")
    result = run(command, MARKUP)
    assert isinstance(result.exception, SystemExit | None), result.exception
