"""`alice-interp solve`: decrypts a text, or every line of a file or of standard input."""

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from alice.cli.options import FILE, PATH, PLUGIN_HELP, device_option
from alice.cli.progress import busy, track
from alice.cli.run import announce, load_plugins
from alice.cli.solve_screen import can_animate, show, solve_console
from alice.errors import AliceError
from alice.files import read_text, regular_file
from alice.plugins.builtin.classical_solvers import BEAM_TEXTS, CLIMBER_TEXTS
from alice.plugins.solvers import SolverSetup, check_solver, open_solver
from alice.text import QUOTES

if TYPE_CHECKING:
    from alice.solving import Solution

LARGEST_FILE = 50_000_000
"""Bytes; all lines are solved at once."""
EPILOG = (
    f"Solvers are beam (over 6-grams; it first learns from the first {BEAM_TEXTS:,} texts of the training split of "
    f"{QUOTES}), hill-climbing (over quadgrams of the first {CLIMBER_TEXTS:,}), subbreaker if it is installed, and "
    "those of plugins; alice-interp plugins lists them."
)


@click.command(epilog=EPILOG)
@click.argument("text", required=False)
@click.option("--file", type=FILE, help="Solve every line of a file.")
@click.option("--ckpt", default="base", show_default=True, help="Bundled model, checkpoint folder or hub id.")
@click.option("--solver", metavar="NAME", help="Solve without a model: beam, hill-climbing or another; see below.")
@click.option("--plugin", "files", type=PATH, multiple=True, help=PLUGIN_HELP)
@click.option("--layers", is_flag=True, help="Show the answer after each layer.")
@click.option("--animation/--no-animation", default=True, help="Show a single text layer by layer on a terminal.")
@device_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_context
def solve(
    ctx: click.Context,
    text: str | None,
    file: Path | None,
    ckpt: str,
    solver: str | None,
    files: tuple[Path, ...],
    layers: bool,
    animation: bool,
    device: str | None,
    as_json: bool,
) -> None:
    """Decrypt TEXT, or `-` for one text per line from standard input.

    On a terminal, the brighter a letter, the more confident the model is of it; letters that a layer changed are
    underlined.
    """
    model_options = ("ckpt", "layers", "device")
    given = [f"--{name}" for name in model_options if ctx.get_parameter_source(name) is not ParameterSource.DEFAULT]
    if solver is not None and given:
        raise AliceError(f"{given[0]} is for models and cannot be combined with --solver; leave one of them out")
    if solver is None and files:
        raise AliceError("--plugin adds solvers here; choose one with --solver")
    lines = _lines(text, file)
    console = solve_console()
    animated = animation and not as_json and len(lines) == 1 and can_animate(console) and solver is None
    if solver is not None:
        solutions = solve_lines_by(solver, lines, files)
    else:
        solutions = solve_lines(ckpt, lines, layers=layers or animated, device=device)
    for number, solution in enumerate(solutions):
        if as_json:
            click.echo(json.dumps(_as_json(solution), ensure_ascii=False))
            continue
        if number:
            console.print()
        show(solution, console, layers=layers, animated=animated)


def solve_lines(ckpt: str, lines: list[str], *, layers: bool, device: str | None = None) -> "list[Solution]":
    """Solve texts with a checkpoint; it is an error if none of them can be solved."""
    with busy("loading the model"):
        from alice.front_door import solve as solve_texts

        return _solved(solve_texts(lines, model=ckpt, layers=layers, device=device))


def solve_lines_by(name: str, lines: list[str], files: Sequence[Path] = ()) -> "list[Solution]":
    """Solve texts with a solver that is not a model."""
    announce(files)
    plugins = load_plugins(files)
    check_solver(name, plugins.solvers)
    with busy(f"preparing {name}"):
        from alice.solving import solve_with

        solver = open_solver(name, plugins.solvers, SolverSetup(_training_texts))
    return _solved(list(track(solve_with(solver, lines), f"Solving with {name}", total=len(lines))))


def _training_texts(count: int) -> list[str]:
    """Return training texts of the default corpus, from a context as in an analysis; this imports torch."""
    from alice.plugins.context import RunContext
    from alice.plugins.context.sample import open_samples
    from alice.text import ENGLISH
    from alice.text.cleaning import LONGEST

    texts = open_samples(QUOTES, [ENGLISH], longest=LONGEST, split="test", count=None, seed=0, corpora={})
    return RunContext(texts=texts[0]).training_texts(count)


def _solved(solutions: "list[Solution]") -> "list[Solution]":
    if not any(solution.key for solution in solutions):
        raise AliceError(f"{solutions[0].ciphertext[:40]!r} cannot be solved: {solutions[0].note}")
    return solutions


def _lines(text: str | None, file: Path | None) -> list[str]:
    """Return the texts to solve, without empty lines."""
    if (text is None) == (file is None):
        raise AliceError("give one thing to solve: a text, `-` for standard input, or --file")
    if text is not None and text != "-":
        lines = [text]
    elif file is not None:
        try:
            lines = read_text(regular_file(file), most=LARGEST_FILE).splitlines()
        except (OSError, UnicodeDecodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else error
            raise AliceError(
                f"{file} cannot be read as text ({reason}); give a smaller or a UTF-8 text file"
            ) from error
    elif sys.stdin is None:
        raise AliceError("standard input is closed; give a text or --file")
    else:
        try:
            lines = sys.stdin.read().splitlines()
        except UnicodeDecodeError as error:
            raise AliceError(f"standard input cannot be read as text ({error}); give UTF-8 text") from error
    texts = [line for line in lines if line.strip()]
    if any(map(_is_broken, texts)):
        raise AliceError("the text is not valid UTF-8; convert it to UTF-8 first")
    if not texts:
        raise AliceError("there is no text to solve; give at least one letter")
    return texts


def _is_broken(text: str) -> bool:
    """Return whether a text has bytes that are not valid UTF-8, which Python stores as surrogates."""
    return any("\ud800" <= character <= "\udfff" for character in text)


def _as_json(solution: "Solution") -> dict[str, Any]:
    return {name: value for name, value in asdict(solution).items() if name != "layer_confidence"}
