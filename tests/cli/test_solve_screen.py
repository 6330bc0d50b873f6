import io
import json
import re
from dataclasses import replace

import pytest
from click.testing import CliRunner
from rich.console import Console
from workbench import save_checkpoint

from alice.cli import main
from alice.cli.solve import screen as solve_screen
from alice.cli.solve.screen import SECONDS_TO_ANIMATE, can_animate, show, solve_console
from alice.solving.solution import Solution

SOLUTION = Solution(
    ciphertext="XYXZ!",
    plaintext="ABAC!",
    key={"X": "A", "Y": "B", "Z": "C"},
    confidence={"X": 1.0, "Y": 0.8, "Z": 0.1},
    layers=["QQQQ!", "ABAC!"],
    note="",
    layer_confidence=[{"X": 0.0, "Y": 0.0, "Z": 0.0}, {"X": 1.0, "Y": 0.8, "Z": 0.1}],
)


class Screen(io.StringIO):
    def isatty(self):
        return True


def terminal(width=80, **options):
    return Console(file=Screen(), force_terminal=True, color_system="standard", width=width, highlight=False, **options)


def printed(*, console=None, solution=SOLUTION, layers=False, animated=False):
    console = console or terminal()
    show(solution, console, layers=layers, animated=animated)
    return console.file.getvalue()


@pytest.fixture
def pauses(monkeypatch):
    """The pauses that would have been made."""
    found = []
    monkeypatch.setattr(solve_screen, "sleep", found.append)
    return found


def test_letters_are_as_bright_as_the_model_is_sure_of_them():
    bold, green, dim = "\x1b[1;32m", "\x1b[32m", "\x1b[2m"
    first = printed().splitlines()[0]
    assert first == f"{bold}A\x1b[0m{green}B\x1b[0m{bold}A\x1b[0m{dim}C\x1b[0m!"


def test_a_terminal_that_claims_no_columns_gets_the_whole_answer(monkeypatch):
    monkeypatch.setenv("COLUMNS", "0")
    console = solve_console()
    with console.capture() as shown:
        show(SOLUTION, console, layers=True)
    assert "ABAC!" in shown.get()


def test_what_a_layer_changed_is_underlined():
    embedding, layer = printed(layers=True).splitlines()[:2]
    assert embedding.count("\x1b[2;4mQ") == 4
    assert len(re.findall(r"[\[;]4[;m]", layer)) == 4


def test_a_long_text_keeps_to_its_column():
    plain = re.sub(r"\x1b\[[\d;]*m", "", printed(layers=True, console=terminal(12)))
    assert plain.splitlines()[:2] == ["layer 0  QQQ", "         Q!"]


@pytest.mark.parametrize("layers", [False, True])
def test_the_animation_shows_every_layer_and_is_short(pauses, layers):
    text = printed(layers=layers, animated=True)
    assert text.index("layer 0") < text.index("layer 1") < text.index("cipher")
    assert len(pauses) == 2
    assert sum(pauses) == pytest.approx(SECONDS_TO_ANIMATE)
    assert SECONDS_TO_ANIMATE < 1.5


def test_without_animation_there_is_no_pause_and_no_cursor_is_moved(pauses):
    text = printed()
    assert not pauses
    assert "layer 1" not in text
    assert re.findall(r"\x1b\[[\d;?]*([a-zA-Z])", text).count("m") == len(re.findall(r"\x1b\[", text))


def test_what_the_search_changed_is_underlined_after_the_networks_own_answer():
    console = terminal()
    show(SOLUTION, console, layers=False, before="ABAD!")
    first, *rest = console.file.getvalue().splitlines()
    assert first.endswith("\x1b[2;4mC\x1b[0m!")
    assert first.count(";4m") == 1
    assert not any(";4m" in line for line in rest)


def test_a_narrow_terminal_gets_the_key_in_parts():
    letters = {letter: letter for letter in "ABCDEFGHIJKLMNOPQRSTUVWXYZ"}
    wide = replace(SOLUTION, ciphertext="A", plaintext="A", key=letters, confidence=dict.fromkeys(letters, 1.0))
    plain = re.sub(r"\x1b\[[\d;]*m", "", printed(solution=wide, console=terminal(80)))
    assert max(map(len, plain.splitlines())) <= 80
    assert [len(line.split()) for line in plain.splitlines() if line.startswith("cipher")] == [14, 14]
    everywhere = Console(file=io.StringIO(), width=80, highlight=False, soft_wrap=True)
    assert printed(solution=wide, console=everywhere).count("cipher") == 1


@pytest.mark.parametrize(
    ("environment", "animated"),
    [({"TERM": "xterm"}, True), ({"TERM": "dumb"}, False), ({"TERM": "xterm", "NO_COLOR": "1"}, False)],
)
def test_only_a_real_terminal_is_animated(environment, animated):
    assert can_animate(Console(file=Screen(), _environ=environment)) is animated
    assert not can_animate(Console(file=io.StringIO(), force_terminal=True, _environ=environment))


@pytest.fixture
def on_a_terminal(monkeypatch, tmp_path, pauses):
    """Every console counts as a terminal."""
    for name in ("can_animate", "is_terminal"):
        monkeypatch.setattr(f"alice.cli.solve.{name}", lambda console: True)
    return str(save_checkpoint(tmp_path / "model"))


@pytest.mark.parametrize(
    ("arguments", "animated"),
    [(["SOME TEXT"], True), (["SOME TEXT", "--no-animation"], False), (["SOME TEXT", "--json"], False), (["-"], False)],
)
def test_only_a_single_text_is_animated(on_a_terminal, pauses, arguments, animated):
    result = CliRunner().invoke(main, ["solve", *arguments, "--ckpt", on_a_terminal], input="ONE TEXT\nANOTHER\n")
    assert result.exit_code == 0, result.output
    assert bool(pauses) is animated


@pytest.mark.parametrize("arguments", [[], ["--no-animation"], ["--layers"]])
def test_on_a_terminal_the_networks_own_answer_comes_first(on_a_terminal, arguments):
    shown = CliRunner().invoke(main, ["solve", "SOME TEXT", "--ckpt", on_a_terminal, *arguments]).stdout
    own = CliRunner().invoke(main, ["solve", "SOME TEXT", "--ckpt", on_a_terminal, "--solver", "model", "--json"])
    network = f"network  {json.loads(own.stdout)['plaintext']}\n"
    assert shown.count(network) == 1
    assert shown.index(network) < shown.index("cipher ")


def test_a_text_that_cannot_be_solved_is_not_shown_as_the_networks_answer(on_a_terminal):
    result = CliRunner().invoke(main, ["solve", "12345", "--ckpt", on_a_terminal])
    assert (result.exit_code, result.stdout) == (1, "")
    assert "there is no letter to solve" in result.stderr


def test_what_is_piped_has_no_colour_and_no_layers_unless_asked(tmp_path):
    ckpt = save_checkpoint(tmp_path / "model")
    result = CliRunner().invoke(main, ["solve", "SOME TEXT", "--ckpt", str(ckpt)])
    assert "\x1b" not in result.stdout
    assert "layer" not in result.stdout


def test_the_confidence_by_layer_is_no_part_of_the_json(tmp_path):
    ckpt = save_checkpoint(tmp_path / "model")
    result = CliRunner().invoke(main, ["solve", "SOME TEXT", "--layers", "--json", "--ckpt", str(ckpt)])
    assert set(SOLUTION.__dict__) - {"layer_confidence"} == set(json.loads(result.stdout))
