import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from alice.cli import COMMANDS, main
from alice.cli.root import LazyCommand, RootGroup
from alice.errors import AliceError

ERRORS = {
    "alice": AliceError("first line\nsecond line"),
    "path": PermissionError(13, "Permission denied", "a[/b]"),
    "home": RuntimeError("Could not determine home directory."),
    "interrupt": KeyboardInterrupt(),
    "bug": ValueError("bug"),
    "bug of torch": RuntimeError("bug"),
    "bug with files": OSError("bug"),
}


@click.command()
@click.argument("what")
def fails(what):
    raise ERRORS[what]


@pytest.fixture
def group():
    table = {
        "fails": LazyCommand(f"{__name__}:fails", "Fails."),
        "broken": LazyCommand("alice.nowhere:x", "Does not exist."),
    }
    options = [click.Option(["--debug"], is_flag=True)]
    return RootGroup("main", table=table, params=options, callback=lambda debug: None)


def run(command, *args):
    return CliRunner().invoke(command, args)


@pytest.mark.parametrize(
    ("what", "sentence"),
    [
        ("alice", "first line second line"),
        ("path", "cannot use the path 'a[/b]': Permission denied; give another"),
        ("home", "a path begins with ~ and a name that is not a user of this machine; write ./~name for a file"),
    ],
)
def test_an_error_that_the_user_can_fix_is_one_line_and_exit_code_1(group, what, sentence):
    result = run(group, "fails", what)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"alice-interp: error: {sentence}\n"
    assert run(group, "--debug", "fails", what).exception is ERRORS[what]


@pytest.mark.parametrize("what", ["bug", "bug of torch", "bug with files"])
def test_a_bug_keeps_its_traceback(group, what):
    assert run(group, "fails", what).exception is ERRORS[what]


def test_an_interrupt_is_one_line_and_exit_code_130(group):
    result = run(group, "fails", "interrupt")
    assert (result.exit_code, result.stderr) == (130, "alice-interp: interrupted\n")


def test_help_lists_commands_without_importing_them(group):
    result = run(group, "--help")
    assert result.exit_code == 0
    assert "Does not exist." in result.stdout


@pytest.mark.parametrize(
    ("arguments", "code", "hint"),
    [
        (["dat"], 2, "there is no command 'dat'; did you mean 'data'?"),
        (["DEMO"], 2, "there is no command 'DEMO'; did you mean 'demo'?"),
        (["data", "prepar"], 2, "there is no command 'prepar'; did you mean 'prepare'?"),
        (["ckpt", "lst"], 2, "there is no command 'lst'; did you mean 'list'?"),
        (["sweep", "scalling"], 2, "there is no command 'scalling'; did you mean 'scaling'?"),
        (["plugins", "nwe"], 2, "there is no command 'nwe'; did you mean 'new'?"),
        (["run", "early-exits"], 2, "there is no analysis 'early-exits'; did you mean 'early-exit'?"),
        (["train", "--out", "x", "--preset", "smal"], 2, "did you mean 'small'?"),
        (["sweep", "generalization", "--out", "x", "--preset", "smal"], 2, "did you mean 'small'?"),
        (["run", "early-exit", "--ckpt", "base", "--split", "tset"], 2, "did you mean 'test'?"),
        (["solve", "A", "--ckpt", "Bijectiv"], 1, "there is no checkpoint 'Bijectiv'; did you mean 'bijective'?"),
        (["evaluate", "--ckpt", "Bijectiv"], 1, "there is no checkpoint 'Bijectiv'; did you mean 'bijective'?"),
        (["data", "stats", "Quote"], 1, "did you mean 'quotes'?"),
    ],
)
def test_a_misspelt_name_suggests_the_nearest(arguments, code, hint):
    result = run(main, *arguments)
    assert (result.exit_code, result.stdout) == (code, "")
    assert hint in result.stderr


def test_without_arguments_it_shows_where_to_start():
    result = run(main)
    assert (result.exit_code, result.stderr) == (0, "")
    for start in ("demo", "solve ", "run early-exit ", "--help"):
        assert f"\n  alice-interp {start}" in result.stdout


def test_the_version_is_that_of_the_package():
    assert run(main, "--version").stdout.startswith("alice-interp, version ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded_and_has_help(name):
    assert run(main, name, "--help").exit_code == 0
    assert COMMANDS[name].help


COMPUTING = ["demo", "solve", "train", "evaluate", "run early-exit", "run all", "reproduce", "sweep scaling"]


@pytest.mark.parametrize("command", [*COMPUTING, "sweep generalization", "ckpt import", "ckpt export"])
def test_every_command_that_computes_has_a_device(command):
    assert "--device" in run(main, *command.split(), "--help").stdout


def test_the_module_can_be_run():
    done = subprocess.run([sys.executable, "-m", "alice.cli", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: alice-interp ")


def test_a_closed_pipe_is_not_an_error(tmp_path):
    (tmp_path / "a.txt").write_text("A sentence of this kind\n")
    command = [sys.executable, "-m", "alice.cli", "data", "stats", str(tmp_path / "a.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""


LEFT_BEHIND = """
import atexit, multiprocessing, threading, time
from pathlib import Path
from alice.files import remove_at_exit

Path("temporary").mkdir()
remove_at_exit(Path("temporary"))
{early}
atexit.register(print, "cleaned up")
{late}
"""
THREAD = 'threading.Thread(target=time.sleep, args=(600,), name="sleeper").start()'
PROCESS = 'multiprocessing.get_context("fork").Process(target=time.sleep, args=(600,), name="sleeper").start()'


def run_with(place, arguments, **parts):
    """Run the program in a process in which a plugin has left something behind."""
    (place / "mine.py").write_text(LEFT_BEHIND.format(**{"early": "", "late": ""} | parts))
    script = "from alice.cli import __main__ as program; program.GRACE = 2.0; import mine; program.run()"
    command = [sys.executable, "-c", script, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=place, timeout=60, check=False)
    assert not (place / "temporary").exists()
    return done


@pytest.mark.parametrize(
    ("parts", "what", "arguments", "code"),
    [
        ({"early": THREAD}, "the thread sleeper", ["plugins", "--json"], 0),
        ({"early": "atexit.register(time.sleep, 600)"}, "exit functions", ["data", "stats", "gone.txt"], 1),
        ({"late": PROCESS}, "the process sleeper", ["plugins", "--json"], 0),
    ],
    ids=["thread", "exit function", "process"],
)
def test_what_a_plugin_leaves_behind_does_not_keep_the_program_alive(tmp_path, parts, what, arguments, code):
    done = run_with(tmp_path, arguments, **parts)
    assert done.returncode == code
    assert done.stderr.endswith(f"alice-interp: finished, stopping {what}\n")
    assert done.stdout.endswith("cleaned up\n")


def test_an_exit_function_that_hangs_does_not_keep_temporary_folders_alive(tmp_path):
    done = run_with(tmp_path, ["plugins", "--json"], late="atexit.register(time.sleep, 600)")
    assert done.returncode == 0
    assert done.stderr.endswith("alice-interp: finished, stopping exit functions\n")


def test_a_program_that_ends_by_itself_says_nothing(tmp_path):
    done = run_with(tmp_path, ["plugins", "--json"], early="threading.Thread(target=int).start()")
    assert done.returncode == 0
    assert "stopping" not in done.stderr
    assert done.stdout.endswith("cleaned up\n")
