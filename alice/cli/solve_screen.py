"""How a solution looks: letters as bright as the model is sure of them, layer after layer on a terminal."""

from collections.abc import Iterator, Mapping, Sequence
from math import ceil
from time import sleep
from typing import TYPE_CHECKING

from rich.console import Console
from rich.live import Live
from rich.text import Text

if TYPE_CHECKING:
    from alice.solving.solution import Solution

SHADES = ((0.95, "bold green"), (0.75, "green"), (0.5, "dim green"), (0.0, "dim"))
"""How a letter looks, by the least confidence that it takes."""
SURE = 0.995
"""Confidence that is as good as 100 %."""
SECONDS_TO_ANIMATE = 1.2
LAYER, LABEL, CELL = 11, 12, 4
"""Columns of the name of a layer, of what stands before the key, and of each letter of the key."""
LEGEND = "  (%, ** = sure)"


def solve_console() -> Console:
    """Return the console for solutions: a text stays in one piece, so that it can be copied."""
    return Console(highlight=False, soft_wrap=True)


def can_animate(console: Console) -> bool:
    """Say whether there is a terminal that shows movement, and nobody asked for plain text."""
    return console.file.isatty() and not console.is_dumb_terminal and not console.no_color


def show(solution: "Solution", console: Console, *, layers: bool, animated: bool = False) -> None:
    """Print a solution: layers if asked for, plaintext, key with confidence if known, and what to be careful about."""
    if layers:
        for line in _paced(_layer_lines(solution, console), len(solution.layers), animated=animated):
            console.print(line)
    elif animated:
        _animate(solution, console)
    if not solution.key:
        console.print(Text(solution.plaintext, style="dim"))
        console.print(Text(f"not solved: {solution.note}", style="yellow"))
        return
    console.print(_shaded(solution.plaintext, solution.ciphertext, solution.confidence))
    _show_key(solution, console)
    if solution.note:
        console.print(Text(f"note: {solution.note}", style="yellow"))


def _animate(solution: "Solution", console: Console) -> None:
    """Let the text become readable in place, and take it away again."""
    with Live(console=console, transient=True, auto_refresh=False) as live:
        for line in _paced(_layer_lines(solution, console), len(solution.layers), animated=True):
            live.update(line, refresh=True)


def _paced(lines: Iterator[Text], count: int, *, animated: bool) -> Iterator[Text]:
    for line in lines:
        yield line
        if animated:
            sleep(SECONDS_TO_ANIMATE / count)


def _layer_lines(solution: "Solution", console: Console) -> Iterator[Text]:
    """Yield what each layer would answer, with the letters that it changed underlined; on a terminal in a column."""
    before = solution.ciphertext
    for number, (text, sure) in enumerate(zip(solution.layers, solution.layer_confidence, strict=True)):
        label = "embeddings" if number == 0 else f"layer {number}"
        shown = _shaded(text, solution.ciphertext, sure, before)
        if console.is_terminal:
            shown = Text(f"\n{'':<{LAYER}}").join(shown.wrap(console, max(1, console.width - LAYER)))
        yield Text.assemble((f"{label:<{LAYER}}", "dim"), shown)
        before = text


def _shaded(text: str, ciphertext: str, confidence: Mapping[str, float], before: str | None = None) -> Text:
    """Return a text whose letters show how sure the model is of them, and which differ from the text before."""
    shown = Text()
    for new, cipher, old in zip(text, ciphertext, before or text, strict=True):
        letter = cipher.upper()
        style = _shade(confidence[letter]) if letter in confidence else ""
        shown.append(new, style=f"{style} underline" if new != old else style)
    return shown


def _shade(confidence: float) -> str:
    return next(style for least, style in SHADES if confidence >= least)


def _show_key(solution: "Solution", console: Console) -> None:
    """Print what each cipher letter stands for, and how sure that is; a narrow terminal gets it in equal parts."""
    letters = list(solution.key)
    fitting = max(1, (console.width - LABEL - len(LEGEND)) // CELL) if console.is_terminal else len(letters)
    size = ceil(len(letters) / ceil(len(letters) / fitting))
    for start in range(0, len(letters), size):
        part = letters[start : start + size]
        shares = [solution.confidence[letter] for letter in part if letter in solution.confidence]
        shades = [_shade(share) for share in shares] or [""] * len(part)
        console.print(_row("cipher", part, [""] * len(part)))
        console.print(_row("plain", [solution.key[letter] for letter in part], shades))
        if shares:
            percent = [f"{round(100 * share):>2}" if share < SURE else "**" for share in shares]
            console.print(_row("confidence", percent, shades).append(LEGEND, style="dim"))


def _row(label: str, cells: Sequence[str], shades: Sequence[str]) -> Text:
    styled = (Text(f"{cell:>2}", style=shade) for cell, shade in zip(cells, shades, strict=True))
    return Text.assemble((f"{label:<{LABEL}}", "dim"), Text("  ").join(styled))
