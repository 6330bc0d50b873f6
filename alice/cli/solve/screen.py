"""Solutions on a terminal: the more confident the model is of a letter, the brighter it is, layer by layer if asked."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from time import sleep
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

if TYPE_CHECKING:
    from alice.solving import Solution

SHADES = ((0.95, "bold green"), (0.75, "green"), (0.5, "dim green"), (0.0, "dim"))
"""Style of a letter, by the lowest confidence that has it."""
SECONDS_TO_ANIMATE = 1.2
LAYER, LABEL, CELL = 9, 12, 4
"""Widths in columns: name of a layer, label of a row of the key, letter of the key."""
DEFAULT_WIDTH = 80


def solve_console() -> Console:
    """Return the console for solutions; it does not wrap texts, so that they can be copied."""
    console = Console(highlight=False, soft_wrap=True)
    if console.width < 1:  # COLUMNS=0, and nothing would be printed
        console.width = DEFAULT_WIDTH
    return console


def is_terminal(console: Console) -> bool:
    """Return whether somebody watches the console."""
    return console.file.isatty()


def can_animate(console: Console) -> bool:
    """Return whether the console is a terminal that can move its cursor and may show colours."""
    return is_terminal(console) and not console.is_dumb_terminal and not console.no_color


def show_first(solution: "Solution", console: Console, *, layers: bool, animated: bool) -> None:
    """Print the model's own answer before a search begins, after its layers in place or, if asked for, in lines."""
    _show_layers(solution, console, layers=layers, animated=animated)
    console.print(Text.assemble(("network".ljust(LAYER), "dim"), _shaded(solution.plaintext, *_of(solution))))


def show(
    solution: "Solution",
    console: Console,
    *,
    layers: bool,
    animated: bool = False,
    explain: bool = False,
    before: str | None = None,
) -> None:
    """Print a solution: layers if asked for, plaintext, key with its confidence if known, and the note.

    Letters that differ from the answer that was shown `before` are underlined.
    """
    _show_layers(solution, console, layers=layers, animated=animated)
    if solution.key:
        console.print(_shaded(solution.plaintext, *_of(solution), before))
        _show_key(solution, console)
    else:
        console.print(Text(solution.plaintext, style="dim"))
    if explain and solution.candidates:
        for line in _explained(solution):
            console.print(line)
    if solution.also:
        console.print(Text(solution.also, style="cyan"))
    if solution.message:
        console.print(Text(solution.message, style="yellow"))


def _of(solution: "Solution") -> tuple[str, Mapping[str, float]]:
    return solution.ciphertext, solution.confidence


def _explained(solution: "Solution") -> Iterator[Text]:
    """Yield the language, on how many letters network and search agree, and what the network's others would cost."""
    same, changes = len(solution.key) - len(solution.changes), solution.changes
    if solution.language:
        yield Text(f"language: {solution.language}")
    yield Text(f"network and search agree on {same} of {len(solution.key)} letters")
    for one in sorted(changes, key=lambda change: -change.nats):
        yield Text.assemble(
            f"  {one.cipher}: network {one.network}, search {one.found}", (f"  {one.nats:+.1f} nats", "dim")
        )


def _show_layers(solution: "Solution", console: Console, *, layers: bool, animated: bool) -> None:
    if layers:
        for line in _paced(_layer_lines(solution, console), len(solution.layers), animated=animated):
            console.print(line)
    elif animated:
        _animate(solution, console)


def _animate(solution: "Solution", console: Console) -> None:
    """Show the text layer by layer in place, then remove it."""
    with Live(console=console, transient=True, auto_refresh=False) as live:
        for line in _paced(_layer_lines(solution, console), len(solution.layers), animated=True):
            live.update(line, refresh=True)


def _paced(lines: Iterator[Text], count: int, *, animated: bool) -> Iterator[Text]:
    for line in lines:
        yield line
        if animated:
            sleep(SECONDS_TO_ANIMATE / count)


def _layer_lines(solution: "Solution", console: Console) -> Iterator[Text]:
    """Yield the answer at each layer with the letters that it changed underlined; in a column on a terminal."""
    before = solution.ciphertext
    for number, (text, confidence) in enumerate(zip(solution.layers, solution.layer_confidence, strict=True)):
        shown = _shaded(text, solution.ciphertext, confidence, before)
        if console.is_terminal:
            shown = Text(f"\n{'':<{LAYER}}").join(shown.wrap(console, max(1, console.width - LAYER)))
        yield Text.assemble((f"layer {number}".ljust(LAYER), "dim"), shown)
        before = text


def _shaded(text: str, ciphertext: str, confidence: Mapping[str, float], before: str | None = None) -> Text:
    """Return a text whose letters show the confidence, underlined where they differ from the text before."""
    shown = Text()
    for new, cipher, old in zip(text, ciphertext, before or text, strict=True):
        letter = cipher.upper()
        style = _shade(confidence[letter]) if letter in confidence else ""
        shown.append(new, style=f"{style} underline" if new != old else style)
    return shown


def _shade(confidence: float) -> str:
    return next(style for least, style in SHADES if confidence >= least)


def _show_key(solution: "Solution", console: Console) -> None:
    """Print the plain letter of each cipher letter with its confidence, in equal parts on a narrow terminal."""
    from alice.solving.solution import LEGEND

    letters, percent, legend = list(solution.key), solution.percent, f"  ({LEGEND})"
    fitting = max(1, (console.width - LABEL - len(legend)) // CELL) if console.is_terminal else len(letters)
    size = ceil(len(letters) / ceil(len(letters) / fitting))
    for start in range(0, len(letters), size):
        part = letters[start : start + size]
        shades = [_shade(solution.confidence[letter]) if percent else "" for letter in part]
        console.print(_row("cipher", part, [""] * len(part)))
        console.print(_row("plain", [solution.key[letter] for letter in part], shades))
        if percent:
            row = _row("confidence", [percent[letter] for letter in part], shades)
            console.print(row.append(legend, style="dim"))


def _row(label: str, cells: Sequence[str], shades: Sequence[str]) -> Text:
    styled = (Text(f"{cell:>2}", style=shade) for cell, shade in zip(cells, shades, strict=True))
    return Text.assemble((f"{label:<{LABEL}}", "dim"), Text("  ").join(styled))
