import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from alice.cli import COMMANDS, main
from alice.cli.lazy import LazyCommand, RootGroup
from alice.errors import AliceError

HEAVY = "{'torch', 'datasets', 'pyarrow', 'pandas', 'transformer_lens', 'scipy', 'sklearn', 'plotly'}"


@click.command()
@click.argument("what")
def fails(what):
    errors = {
        "alice": AliceError("first line\nsecond line"),
        "interrupt": KeyboardInterrupt(),
        "bug": ValueError("bug"),
    }
    raise errors[what]


@pytest.fixture
def group():
    table = {
        "fails": LazyCommand(f"{__name__}:fails", "Fails."),
        "broken": LazyCommand("alice.nowhere:x", "Is not there."),
    }
    options = [click.Option(["--debug"], is_flag=True)]
    return RootGroup("main", table=table, params=options, callback=lambda debug: None)


def run(command, *args):
    return CliRunner().invoke(command, args)


def test_an_alice_error_is_one_line_on_stderr_and_exit_code_1(group):
    result = run(group, "fails", "alice")
    assert result.exit_code == 1
    assert result.stderr == "alice-interp: error: first line second line\n"
    assert result.stdout == ""


def test_debug_lets_the_traceback_through(group):
    assert isinstance(run(group, "--debug", "fails", "alice").exception, AliceError)


def test_a_bug_is_not_disguised(group):
    assert isinstance(run(group, "fails", "bug").exception, ValueError)


def test_an_interrupt_is_one_line_and_exit_code_130(group):
    result = run(group, "fails", "interrupt")
    assert result.exit_code == 130
    assert result.stderr == "alice-interp: interrupted\n"


def test_help_lists_commands_without_importing_them(group):
    result = run(group, "--help")
    assert result.exit_code == 0
    assert "Is not there." in result.stdout


def test_a_misspelt_command_is_answered_with_the_nearest():
    result = run(main, "dat")
    assert result.exit_code == 2
    assert "there is no command 'dat'; did you mean 'data'?" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "hint"),
    [
        (["DEMO"], "there is no command 'DEMO'; did you mean 'demo'?"),
        (["data", "prepar"], "there is no command 'prepar'; did you mean 'prepare'?"),
        (["ckpt", "lst"], "there is no command 'lst'; did you mean 'list'?"),
        (["sweep", "scalling"], "there is no command 'scalling'; did you mean 'scaling'?"),
        (["plugins", "nwe"], "there is no command 'nwe'; did you mean 'new'?"),
        (["run", "early-exits"], "there is no analysis 'early-exits'; did you mean 'early-exit'?"),
        (["train", "--out", "x", "--preset", "smal"], "did you mean 'small'?"),
        (["sweep", "generalization", "--out", "x", "--preset", "smal"], "did you mean 'small'?"),
        (["run", "early-exit", "--ckpt", "base", "--split", "tset"], "did you mean 'test'?"),
    ],
)
def test_a_misspelt_name_is_answered_with_the_nearest(arguments, hint):
    result = run(main, *arguments)
    assert result.exit_code == 2
    assert hint in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("arguments", [["solve", "A", "--ckpt", "Bijectiv"], ["evaluate", "--ckpt", "Bijectiv"]])
def test_a_misspelt_checkpoint_is_answered_with_the_nearest(arguments):
    assert "there is no checkpoint 'Bijectiv'; did you mean 'bijective'?" in run(main, *arguments).stderr


def test_a_misspelt_corpus_is_answered_with_the_nearest():
    assert "did you mean 'quotes'?" in run(main, "data", "stats", "Quote").stderr


def test_alone_it_shows_where_to_start():
    result = run(main)
    assert result.exit_code == 0
    assert result.stderr == ""
    for start in ("demo", "solve ", "run early-exit ", "--help"):
        assert f"\n  alice-interp {start}" in result.stdout


def test_the_version_is_that_of_the_package():
    assert run(main, "--version").stdout.startswith("alice-interp, version ")


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_can_be_loaded_and_has_help(name):
    result = run(main, name, "--help")
    assert result.exit_code == 0
    assert COMMANDS[name].help


@pytest.mark.parametrize("args", [["--help"], ["--version"], ["data", "--help"], ["data", "prepare", "--help"]])
def test_help_imports_nothing_heavy(args):
    code = (
        f"import sys; from alice.cli import main; main({args!r}, standalone_mode=False)\n"
        f"print(sorted({HEAVY} & set(sys.modules)), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_the_module_can_be_run():
    done = subprocess.run([sys.executable, "-m", "alice.cli", "--help"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("Usage: alice-interp ")


def test_a_closed_pipe_is_no_reason_to_complain(tmp_path):
    (tmp_path / "a.txt").write_text("A sentence of this kind\n")
    command = [sys.executable, "-m", "alice.cli", "data", "stats", str(tmp_path / "a.txt")]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.close()
        assert process.stderr.read() == b""
