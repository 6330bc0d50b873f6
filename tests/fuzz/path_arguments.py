"""Odd paths in every command: it works, or ends with one sentence and leaves no file; what was there stays intact."""

import os
import pwd
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from pathlib import Path
from shutil import rmtree
from typing import Any, cast
from unittest.mock import patch

from click.testing import CliRunner, Result
from fuzz.pieces import Choices, Finding, new_folder
from trainings import carry_out, small_training, write_corpus

from alice.cli import main
from alice.cli.root import COMMANDS as ROOT_COMMANDS
from alice.errors import AliceError
from alice.reports import Report
from alice.reports import Result as ReportResult

TINY = "--steps 1 --precision fp32 --compile no"
COMMANDS = [
    "bench startup --out {}",
    "ckpt export training --data texts.txt --out {}",
    "ckpt export {} --out out",
    "ckpt export training --data {} --out out",
    "ckpt import {} --out out",
    "ckpt import theirs.pt --out {}",
    "ckpt show {}",
    "data prepare texts.txt --out {}",
    "data prepare texts.txt --force --out {}",
    "data prepare {} --out out.txt",
    "data prepare --multilingual --source la={} --source en={} --out out.csv",
    "data stats {}",
    "demo --out {}",
    "explore --ckpt {} --out page.html",
    "explore --ckpt training --out {}",
    "evaluate --ckpt training --data {}",
    "evaluate --ckpt {} --data texts.txt",
    "grade early-exit --data {}",
    "grade early-exit --planted frequency --out {}",
    "grade early-exit --plugin {}",
    "plugins --plugin {}",
    "plugins new mine --out {}",
    "plugins new {}",
    "report {}",
    "report report --force --out {}",
    "reproduce --ckpt training --data texts.txt --out {}",
    "reproduce --ckpt {} --out out",
    "reproduce --borg {} --ckpt training --data texts.txt --out out",
    "reproduce --scaling-trainings {} --out out",
    "run borg --ckpt training --data texts.txt --file {}",
    "run borg --ckpt training --data texts.txt --file texts.txt --plain {}",
    "run relabelling --ckpt training --data texts.txt --file {}",
    "run early-exit --ckpt training --data texts.txt --out {}",
    "run early-exit --ckpt training --data {}",
    "run early-exit --ckpt {} --data texts.txt",
    "run absent --plugin {}",
    "run generalization --trainings {}",
    "run scaling --trainings {} --out out",
    "solve --ckpt training --file {}",
    "solve A --ckpt {}",
    "solve A --solver absent --plugin {}",
    f"sweep scaling --presets mini {TINY} --data texts.txt --out {{}}",
    f"train --preset mini {TINY} --data texts.txt --out {{}}",
    f"train --preset mini {TINY} --out out --data {{}}",
    f"train --preset mini {TINY} --out out --data texts.txt --init {{}}",
    "train --resume --out {}",
    "verify --page-only {}",
    "view --no-browser {}",
]
"""Every command of the program, with `{}` for a path; all other paths are good."""
SEEDS = (b"\x00\x02", b"\x07\x01\x03", *(bytes([number, 3, 2, 5, 1]) + bytes(range(20)) for number in range(8)))
PLACE = new_folder()
HOME = PLACE / "home" / "deep" / "here"
HOME.mkdir(parents=True)
NAMES = (
    "texts.txt", "training", "report", "theirs.pt", "empty", "pipe", "socket", "loop", "null", "gone", "a[", "new",
    "training/config.json", "training/training.json", "training/model.safetensors", "report/result.json",
)  # fmt: skip
PARTS = (
    "..", ".", "~", "~nobody-of-this-name", "[/b].txt", "[red]", "[link=x]y", "x" * 255, "x" * 256, "é" * 128, "-x",
    "--out", "a b", " ", "a\nb", "a\rb", "\x1b[31m", "\x1b]0;x\x07", "\x7f", "\u202e", "\udcff.txt", "\udc80", "a\0b",
    "%s", "{}", "{0}", "$HOME", "*", "'", '"', "\\", ":", "hf:", "hf:x", "=", "CON", "new.txt", "x.csv", "x.jsonl.gz",
    "x.py", "x.parquet", "<b>", "&amp;", ".hidden", "Z", "quotes", "base",
)  # fmt: skip
HARMLESS = "./"
STOPPED = "too slow for a fuzzer"
"""What a command says in place of doing its work; it may have written something by then."""
DRAWN_AGAIN = ("/report.html", "/entry.json")
"""What `report` replaces in the folder of a report."""
LONGEST_LINE = 3000
"""Characters of an error: it may name two of the longest paths that are made here."""


def _fill() -> None:
    """Make one thing of each kind to point at."""
    corpus = write_corpus(HOME / "texts.txt", 200)
    carry_out(small_training(HOME / "training", corpus, steps=1, eval_texts=2))
    Report(ReportResult("Depth"), {"analysis": "depth"}).save(HOME / "runs").stored_in.rename(HOME / "report")
    rmtree(HOME / "runs")
    (HOME / "theirs.pt").touch()
    (HOME / "empty").mkdir()
    (HOME / "a[").mkdir()
    os.mkfifo(HOME / "pipe")
    with socket.socket(socket.AF_UNIX) as listening:
        before = os.getcwd()  # noqa: PTH109
        os.chdir(HOME)  # the name of a socket must be short
        listening.bind("socket")
        os.chdir(before)
    (HOME / "loop").symlink_to("loop")
    (HOME / "null").symlink_to(os.devnull)
    (HOME / "gone").symlink_to("nowhere/at/all")


_fill()


def _seen(folder: str = str(PLACE)) -> dict[str, tuple[int, ...]]:
    """Return everything below a folder, with what changes when it is written."""
    found: dict[str, tuple[int, ...]] = {}
    with os.scandir(folder) as entries:
        for entry in entries:
            if entry.is_dir(follow_symlinks=False):
                found |= {entry.path: ()} | _seen(entry.path)
            else:
                about = entry.stat(follow_symlinks=False)
                found[entry.path] = (about.st_ino, about.st_size, about.st_mtime_ns)
    return found


BEFORE = _seen()


class Program(CliRunner):
    """Calls the command line with a standard output like the one that the program sets up."""

    @contextmanager
    def isolation(self, *arguments: Any, **options: Any) -> Iterator[Any]:
        """Replace the standard streams."""
        with super().isolation(*arguments, **options) as streams:
            cast(TextIOWrapper, sys.stdout).reconfigure(errors="backslashreplace")
            yield streams


def try_input(data: bytes) -> None:
    """Call a command with a path made of odd parts."""
    choices = Choices(data)
    command, path = choices.pick(COMMANDS), _path(choices)
    arguments = [word.replace("{}", path) for word in command.split()]
    before = os.getcwd()  # noqa: PTH109
    os.chdir(HOME)
    try:
        with _without_work():
            result = Program().invoke(main, arguments)
    finally:
        os.chdir(before)
        changed = _undo()
    _check(result, arguments, changed)


def _path(choices: Choices) -> str:
    """Return a path of up to four parts, which stays inside the folder of this target if it is written."""
    parts = [choices.pick(NAMES)] if choices.below(2) else []
    parts += [choices.pick(PARTS) if choices.below(4) else choices.text(6) or "." for _ in range(choices.below(4))]
    path = choices.pick(["/", "/", "//", ""]).join(parts)
    path = choices.pick(["", "", HARMLESS, f"{HOME}/", "~/"]) + path
    path = os.fsdecode(path.encode(errors="replace" if choices.below(2) else "surrogatepass"))
    if choices.below(4):
        path = path.replace("\0", "")  # a shell cannot pass it
    return path if _is_inside(path) else HARMLESS + path.replace("..", ".").replace("~", "-").lstrip("/")


def _is_inside(path: str) -> bool:
    """Return whether a path leads into the folder of this target, by any of its names."""
    if path.startswith("~") and path[1:].partition("/")[0] in {one.pw_name for one in pwd.getpwall()}:
        return False
    start = str(HOME) + path[1:] if path == "~" or path.startswith("~/") else path
    whole = start if start.startswith("/") else f"{HOME}/{start}"
    return os.path.normpath(whole).startswith(f"{PLACE}/") and start.count("..") < 3


@contextmanager
def _without_work() -> Iterator[None]:
    """Replace what takes long or leaves this machine: measuring, training steps, serving, downloads."""

    def refuse(*arguments: object, **options: object) -> None:
        raise AliceError(STOPPED)

    slow = (
        "alice.bench.suite.Bench.run", "alice.cli.demo._solve", "alice.cli.demo.open_context",
        "alice.cli.reproduce.open_context", "alice.checkpoint.folder._fetch", "alice.text.corpus.read_hub",
        "alice.plugins.runner.compute", "alice.training.setup._trainer", "alice.reports.server.serving",
        "alice.solving.language_files._learn",
    )  # fmt: skip
    with ExitStack() as stack:
        for name in slow:
            stack.enter_context(patch(name, refuse))
        stack.enter_context(patch.dict(os.environ, {"HOME": str(HOME), "ALICE_INTERP_LOAD_PLUGINS": ""}))
        yield


def _undo() -> list[str]:
    """Remove what is new and return the files among it, with those that have changed."""
    after = _seen()
    new = [path for path in after if path not in BEFORE]
    for path in reversed(new):  # what is in a folder comes after it
        Path(path).unlink() if after[path] else Path(path).rmdir()
    if changed := [path for path, about in BEFORE.items() if after.get(path) != about]:
        rmtree(HOME)
        HOME.mkdir()
        _fill()
        BEFORE.clear()
        BEFORE.update(_seen())
    return [path for path in new if after[path]] + [f"changed: {path}" for path in changed]


def _check(result: Result, arguments: list[str], changed: list[str]) -> None:
    said = f"{arguments} gives {result.exit_code} and {result.stderr[-600:]!r}"
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise Finding(f"{arguments} gives {result.exception!r}") from result.exception
    if result.exit_code not in (0, 1, 2):
        raise Finding(said)
    meant = {"--force", "--resume"} & set(arguments) and (result.exit_code == 0 or STOPPED in result.stderr)
    if arguments[0] == "report" and result.exit_code == 0:  # draws the page of a report again
        changed = [path for path in changed if not path.endswith(DRAWN_AGAIN)]
    if any(path.startswith("changed: ") for path in changed) and not meant:
        raise Finding(f"{said} and {changed}")
    if result.exit_code == 0:
        return
    *before, last = result.stderr.splitlines() or [""]
    if not last.startswith(("alice-interp: error: ", "Error: ")) or len(last) > LONGEST_LINE:
        raise Finding(f"not one sentence: {said}")
    if not all(character.isprintable() for character in "".join([*before, last])):
        raise Finding(f"control characters: {said}")
    if STOPPED not in result.stderr and changed:
        raise Finding(f"{said} and leaves {changed}")


if missing := [name for name in ROOT_COMMANDS if not any(command.startswith(name) for command in COMMANDS)]:
    raise Finding(f"the commands {missing} are not tried")
