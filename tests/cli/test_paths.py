"""Paths that the system refuses, or that look like markup, in every command that takes one."""

import errno
import shutil
from pathlib import Path

import pytest
import torch
import upstream_reference as reference
from click.testing import CliRunner
from trainings import carry_out, small_training, write_corpus
from workbench import save_checkpoint, save_texts, write_plugin

from alice.cache import cache_folder
from alice.cli import main
from alice.errors import AliceError
from alice.model import Alice
from alice.reports import Report, Result
from alice.training.presets import model_config

TINY = "--steps 1 --precision fp32 --compile no"
COMMANDS = [
    "bench startup --out {}",
    "ckpt export training --data texts.txt --out {}",
    "ckpt export training --data texts.txt --out {}/x",
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
    "too long": ("x" * 5000, "xxxxx"),
    "a null byte": ("a\0b", r"a\x00b"),
    "unknown user": ("~nobody-of-this-name/x", "~"),
    "below a file": ("a-file/x", "a-file"),
    "a link to itself": ("loop", "loop"),
    "a folder that others locked": ("locked/x", "locked/x"),
}
"""Paths, and what a sentence about each says; without it, the command would have failed for another reason."""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    folder = tmp_path_factory.mktemp("paths")
    save_checkpoint(folder / "model")
    save_texts(folder / "texts.txt", 300)
    carry_out(small_training(folder / "training", write_corpus(folder / "corpus.txt", 1500), steps=1, eval_texts=2))
    torch.save(reference.file_of(reference.random_state(reference.BASE), reference.BASE), folder / "theirs.pt")
    (folder / "a-file").touch()
    (folder / "loop").symlink_to("loop")
    (folder / "locked").mkdir()
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


@pytest.mark.parametrize(("path", "named"), REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_path_that_the_system_refuses_is_one_sentence(place, monkeypatch, command, path, named):
    monkeypatch.chdir(place)
    before = files_in(place)
    assert named in check_refused(run(command, path))
    assert files_in(place) == before


def check_refused(result):
    """Check that a command ended with one sentence, and return it."""
    assert isinstance(result.exception, SystemExit), result.exception
    assert result.exit_code in (1, 2)
    assert result.stderr.splitlines()[-1].startswith(("alice-interp: error: ", "Error: ")), result.stderr
    assert len(result.stderr.splitlines()[-1]) < 600
    return result.stderr.splitlines()[-1]


@pytest.mark.parametrize("path", [path for path, _ in REFUSED.values() if "\0" not in path], ids=lambda path: path[:10])
def test_a_folder_in_a_variable_that_the_system_refuses_is_one_sentence(place, monkeypatch, path):
    monkeypatch.chdir(place)
    monkeypatch.delenv("ALICE_INTERP_LOAD_PLUGINS")
    monkeypatch.setenv("ALICE_INTERP_PLUGINS", path)
    result = run("plugins", "")
    assert result.exit_code == 0, result.output
    assert "ALICE_INTERP_PLUGINS" in result.stdout
    assert run("run --help", "").exit_code == 0
    with pytest.raises(AliceError):
        cache_folder("activations", {"ALICE_INTERP_CACHE": path})


@pytest.fixture
def marked(tmp_path, monkeypatch):
    """Files in the folder `a[`, all of which are called like a closing tag of rich, such as `a[/b].txt`."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")  # no path is broken into lines
    Path("a[").mkdir()
    Alice(model_config("tiny")).save_pretrained("a[/model]")
    write_corpus(Path("a[/b].txt"))
    Path("a[/languages]").mkdir()
    for code in ("[red]", "[b]"):
        shutil.copy("a[/b].txt", f"a[/languages]/{code}.txt")
    write_plugin(Path("a[/mine].py"))


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        ("data stats a[/b].txt", ["a[/b].txt: 4"]),
        ("data prepare a[/b].txt --out a[/out].txt", ["a[/b].txt: 400", "written to a[/out].txt"]),
        ("data prepare --multilingual a[/languages] --out a[/out].csv", ["[red] ", "[b] ", "written to a[/out].csv"]),
        ("evaluate --ckpt a[/model] --data a[/b].txt", ["a[/model] on", "texts of a[/b].txt", " a[/model] "]),
        (
            "run early-exit --ckpt a[/model] --split all --samples 2 --data a[/b].txt --out a[/runs]",
            ["/a[/runs]/early"],
        ),
        (f"train --preset tiny {TINY} --data a[/b].txt --init a[/model] --out a[/t]", ["/a[/model]\n", "done: a[/t]"]),
        ("ckpt show a[/model]", ["d_model"]),
        ("solve --ckpt a[/gone] ABC", ["a[/gone]"]),
        ("solve --file a[/gone].txt", ["a[/gone].txt"]),
        ("plugins --plugin a[/mine].py", ["file: a[/mine].py"]),
        ("plugins new mine --out a[/new]", ["a[/new]/alice-interp-mine"]),
    ],
)
def test_a_path_that_looks_like_markup_is_shown_as_it_is(marked, command, shown):
    result = run(command, "")
    assert isinstance(result.exception, SystemExit | None), result.exception
    assert result.exit_code == ("gone" in command), result.output
    for text in shown:
        assert text in result.output
