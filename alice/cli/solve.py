"""`alice-interp solve`: decrypts what it is given."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from alice.cli.progress import busy
from alice.cli.solve_screen import can_animate, show, solve_console
from alice.errors import AliceError

if TYPE_CHECKING:
    from alice.solve import Solution


@click.command()
@click.argument("text", required=False)
@click.option("--file", type=click.Path(path_type=Path, dir_okay=False), help="Solve every line of a file.")
@click.option("--ckpt", default="base", show_default=True, help="Bundled model, checkpoint folder or hub id.")
@click.option("--layers", is_flag=True, help="Show what each layer would answer.")
@click.option("--animation/--no-animation", default=True, help="Let a single text appear layer by layer on a terminal.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def solve(text: str | None, file: Path | None, ckpt: str, layers: bool, animation: bool, as_json: bool) -> None:
    """Decrypt TEXT, or `-` for one text a line from standard input.

    On a terminal the surer the model is of a letter, the brighter it is, and what a layer changed is underlined.
    """
    lines = _lines(text, file)
    console = solve_console()
    animated = animation and not as_json and len(lines) == 1 and can_animate(console)
    solutions = solve_lines(ckpt, lines, layers=layers or animated)
    for number, solution in enumerate(solutions):
        if as_json:
            click.echo(json.dumps(_as_json(solution), ensure_ascii=False))
            continue
        if number:
            console.print()
        show(solution, console, layers=layers, animated=animated)


def solve_lines(ckpt: str, lines: list[str], *, layers: bool) -> "list[Solution]":
    """Solve texts with a checkpoint; that none of them can be solved is an error."""
    with busy("reading the model"):
        from alice.model import Alice
        from alice.solve import solve as solve_texts

        solutions = list(solve_texts(Alice.from_pretrained(ckpt), lines, layers=layers))
    if not any(solution.key for solution in solutions):
        raise AliceError(f"{lines[0][:40]!r} cannot be solved: {solutions[0].note}")
    return solutions


def _lines(text: str | None, file: Path | None) -> list[str]:
    """Return the texts to solve, without empty lines."""
    if (text is None) == (file is None):
        raise AliceError("give one thing to solve: a text, `-` for standard input, or --file")
    if text is not None and text != "-":
        lines = [text]
    elif file is not None:
        try:
            lines = file.read_text(encoding="utf-8").splitlines()
        except (OSError, UnicodeDecodeError) as error:
            raise AliceError(f"{file} cannot be read as text ({error}); give a UTF-8 text file") from error
    else:
        lines = sys.stdin.read().splitlines()
    texts = [line for line in lines if line.strip()]
    if not texts:
        raise AliceError("there is no text to solve; give at least one letter")
    return texts


def _as_json(solution: "Solution") -> dict[str, Any]:
    return {name: value for name, value in asdict(solution).items() if name != "layer_confidence"}
