"""`alice-interp solve`: decrypts what it is given."""

import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.console import Console
from rich.text import Text

from alice.errors import AliceError

if TYPE_CHECKING:
    from alice.solve import Solution


@click.command()
@click.argument("text", required=False)
@click.option("--file", type=click.Path(path_type=Path, dir_okay=False), help="Solve every line of a file.")
@click.option("--ckpt", default="base", show_default=True, help="Bundled model, checkpoint folder or hub id.")
@click.option("--layers", is_flag=True, help="Show what each layer would answer.")
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object a line.")
def solve(text: str | None, file: Path | None, ckpt: str, layers: bool, as_json: bool) -> None:
    """Decrypt TEXT, or `-` for one text a line from standard input."""
    lines = _lines(text, file)

    from alice.model import Alice
    from alice.solve import solve as solve_texts

    solutions = list(solve_texts(Alice.from_pretrained(ckpt), lines, layers=layers))
    if not any(solution.key for solution in solutions):
        raise AliceError(f"{lines[0][:40]!r} cannot be solved: {solutions[0].note}")
    console = Console(highlight=False, soft_wrap=True)
    for number, solution in enumerate(solutions):
        if as_json:
            click.echo(json.dumps(asdict(solution), ensure_ascii=False))
            continue
        if number:
            console.print()
        _show(solution, console)


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


def _show(solution: "Solution", console: Console) -> None:
    """Print a solution: layers if there are any, plaintext, key with confidence, and what to be careful about."""
    before = solution.ciphertext
    for number, layer in enumerate(solution.layers):
        label = "embeddings" if number == 0 else f"layer {number}"
        console.print(Text(f"{label:<11}", style="dim"), _changed(layer, before), sep="")
        before = layer
    console.print(Text(solution.plaintext, style="bold" if solution.key else "dim"))
    if not solution.key:
        console.print(Text(f"not solved: {solution.note}", style="yellow"))
        return
    console.print(Text("cipher      ", style="dim") + Text("  ".join(f"{letter:>2}" for letter in solution.key)))
    console.print(
        Text("plain       ", style="dim") + Text("  ".join(f"{letter:>2}" for letter in solution.key.values()))
    )
    shares = [f"{round(100 * share):>2}" if share < 0.995 else "**" for share in solution.confidence.values()]
    console.print(Text("confidence  ", style="dim") + Text("  ".join(shares)) + Text("  (%, ** = sure)", style="dim"))
    if solution.note:
        console.print(Text(f"note: {solution.note}", style="yellow"))


def _changed(text: str, before: str) -> Text:
    """Return a text with the characters that differ from the one before set off."""
    shown = Text()
    for new, old in zip(text, before, strict=True):
        shown.append(new, style="reverse" if new != old else "")
    return shown
