"""`alice-interp solve`: decrypts a text, or every line of a file or of standard input."""

import json
import sys
from collections.abc import Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from click.core import ParameterSource

from alice.cli.options import FILE, PATH, PLUGIN_HELP, device_option
from alice.cli.progress import busy, track
from alice.cli.run import announce, load_plugins
from alice.cli.solve.screen import can_animate, is_terminal, show, show_first, solve_console
from alice.errors import AliceError
from alice.files import read_text, regular_file
from alice.plugins.builtin.classical_solvers import CLIMBER_TEXTS
from alice.plugins.solvers import MODEL as DEFAULT_MODEL
from alice.plugins.solvers import SolverSetup, check_solver, solutions
from alice.text import QUOTES, open_corpus

if TYPE_CHECKING:
    from alice.solving import Languages, Solution

GUIDED, MODEL = "guided", "model"
"""The solvers that use a checkpoint."""
_COMMAND_LINE = ParameterSource.COMMANDLINE
LARGEST_FILE = 50_000_000
"""Bytes; all lines are solved at once."""
EPILOG = (
    f"Solvers are guided (the model and a language model together, the default), model (the network alone), beam (over "
    f"6-grams), bayes (most probable in a sample of all keys, by 6-grams), hill-climbing (over quadgrams of the "
    f"first {CLIMBER_TEXTS:,} training texts), subbreaker if it is installed, the paper's baselines and those of "
    f"plugins; alice-interp plugins lists them. The language model is learned from the training split of {QUOTES} on "
    f"first use and kept in the cache."
)


@click.command(epilog=EPILOG)
@click.argument("text", required=False)
@click.option("--file", type=FILE, help="Solve every line of a file.")
@click.option("--ckpt", default=DEFAULT_MODEL, show_default=True, help="Bundled model, checkpoint folder or hub id.")
@click.option("--solver", metavar="NAME", default=GUIDED, show_default=True, help="How to solve; see below.")
@click.option(
    "--lm-data",
    metavar="CORPUS",
    multiple=True,
    help=f"Corpus to learn the language from; repeat for several, one language each.  [default: {QUOTES}]",
)
@click.option("--plugin", "files", type=PATH, multiple=True, help=PLUGIN_HELP)
@click.option("--layers", is_flag=True, help="Show the model's answer after each layer.")
@click.option("--explain", is_flag=True, help="Show where network and search disagree, and by how much (guided).")
@click.option("--animation/--no-animation", default=True, help="Show a single text layer by layer on a terminal.")
@device_option
@click.option("--json", "as_json", is_flag=True, help="Print one JSON object per line.")
@click.pass_context
def solve(
    ctx: click.Context,
    text: str | None,
    file: Path | None,
    ckpt: str,
    solver: str,
    lm_data: tuple[str, ...],
    files: tuple[Path, ...],
    layers: bool,
    explain: bool,
    animation: bool,
    device: str | None,
    as_json: bool,
) -> None:
    """Decrypt TEXT, or `-` for one text per line from standard input.

    On a terminal, the brighter a letter, the more confident the solver is of it; letters that a layer or the search
    changed are underlined.
    """
    _check_options(ctx, solver)
    lines, console = _lines(text, file), solve_console()
    alone = not as_json and len(lines) == 1 and solver in (GUIDED, MODEL)
    animated = alone and animation and can_animate(console)
    shows_first = alone and solver == GUIDED and is_terminal(console)
    own, before = None, None
    if solver == MODEL or (solver == GUIDED and (layers or shows_first)):
        own = solve_lines(ckpt, lines, layers=layers or animated, device=device)
    if own and shows_first:
        first, own = next(own), None
        if first.key:
            before = first.plaintext
            show_first(first, console, layers=layers, animated=animated)
        layers, animated = False, False  # what was shown is not shown again
    if solver == GUIDED:
        found = solve_guided(ckpt, lines, lm_data, own=own, device=device)
    else:
        found = _tracked(own, "Solving", len(lines)) if own else solve_lines_by(solver, lines, lm_data, files)
    for number, solution in enumerate(_solved(found)):
        if as_json:
            click.echo(json.dumps(_as_json(solution), ensure_ascii=False))
            continue
        if number:
            console.print()
        show(solution, console, layers=layers, animated=animated, explain=explain, before=before)


def _check_options(ctx: click.Context, solver: str) -> None:
    """Refuse options that the solver does not use."""

    def given(*names: str) -> list[str]:
        return [f"--{name}" for name in names if ctx.get_parameter_source(name.replace("-", "_")) is _COMMAND_LINE]

    if solver not in (GUIDED, MODEL) and (found := given("ckpt", "layers", "device")):
        raise AliceError(
            f"{found[0]} is for models and cannot be combined with --solver {solver}; leave one of them out"
        )
    if solver in (GUIDED, MODEL) and given("files"):
        raise AliceError("--plugin adds solvers here; choose one with --solver")
    if solver == MODEL and (found := given("lm-data", "explain")):
        raise AliceError(f"{found[0]} is for the search and cannot be combined with --solver {MODEL}; leave one out")
    if solver != GUIDED and (found := given("explain")):
        raise AliceError(f"{found[0]} needs --solver {GUIDED}, which compares the model with the search")


def solve_lines(ckpt: str, lines: list[str], *, layers: bool, device: str | None = None) -> "Iterator[Solution]":
    """Load a checkpoint and solve texts with it."""
    with busy("loading the model"):
        from alice.front_door import load_kept
        from alice.solving import solve as solve_texts

        model = load_kept(ckpt, device)
    return solve_texts(model, lines, layers=layers)


def solve_guided(
    ckpt: str,
    lines: list[str],
    lm_data: Sequence[str],
    *,
    own: "Iterator[Solution] | None" = None,
    device: str | None = None,
) -> "Iterator[Solution]":
    """Solve texts with a checkpoint and language models together; with a model's own answers, keep their layers.

    Without the default corpus there is no language model, and the model alone solves.
    """
    try:
        sources = [open_corpus(source).name for source in lm_data or (QUOTES,)]
    except AliceError as error:
        if lm_data:
            raise
        click.echo(f"note: solving with the model alone ({error})", err=True)
        own = own or solve_lines(ckpt, lines, layers=False, device=device)
        yield from _tracked(own, "Solving", len(lines))
        return
    with busy("loading the model"):
        from alice.front_door import load_kept
        from alice.solving import GuidedSolver, open_languages

        model = load_kept(ckpt, device)
    solver = GuidedSolver(model, open_languages(sources, track))
    for solution in _tracked(solver.solutions(lines), "Solving", len(lines)):
        shown = next(own) if own else solution
        yield replace(solution, layers=shown.layers, layer_confidence=shown.layer_confidence)


def solve_lines_by(
    name: str, lines: list[str], lm_data: Sequence[str] = (), files: Sequence[Path] = ()
) -> "Iterator[Solution]":
    """Solve texts with a solver that is not a model; a corpus that it does not learn from is refused."""
    announce(files)
    plugins = load_plugins(files)
    check_solver(name, plugins.solvers.keys() | {MODEL})
    learned: list[str] = []

    def languages() -> "Languages":
        from alice.solving import open_languages

        learned.extend(lm_data)
        return open_languages(lm_data or (QUOTES,), track)

    def training_texts(count: int) -> list[str]:
        from alice.front_door import first_training_texts

        learned.extend(lm_data[:1])
        return first_training_texts(lm_data[0] if lm_data else QUOTES, count)

    setup = SolverSetup(training_texts, open_languages=languages)
    for solution in _tracked(solutions(name, plugins.solvers, setup, lines), f"Solving with {name}", len(lines)):
        if unused := [corpus for corpus in lm_data if corpus not in learned]:
            raise AliceError(f"the solver {name} does not learn from --lm-data {unused[0]}; leave it out")
        yield solution


def _tracked(solutions: "Iterator[Solution]", label: str, total: int) -> "Iterator[Solution]":
    """Show progress, unless the solutions themselves appear on the terminal one by one."""
    return solutions if total > 1 and sys.stdout.isatty() else track(solutions, label, total=total)


def _solved(solutions: "Iterator[Solution]") -> "Iterator[Solution]":
    """Yield solutions as they come; it is an error if none of the texts can be solved, and nothing is yielded then."""
    waiting: list[Solution] = []
    is_any = False
    for solution in solutions:
        is_any = is_any or bool(solution.key)
        waiting.append(solution)
        if is_any:
            yield from waiting
            waiting.clear()
    if waiting:
        raise AliceError(f"{waiting[0].ciphertext[:40]!r} cannot be solved: {waiting[0].note}")


def _lines(text: str | None, file: Path | None) -> list[str]:
    """Return the texts to solve, without empty lines."""
    if (text is None) == (file is None):
        raise AliceError("give one thing to solve: a text, `-` for standard input, or --file")
    if text is not None and text != "-":
        lines = [text]
    elif file is not None:
        try:
            lines = read_text(regular_file(file), most=LARGEST_FILE).splitlines()
        except FileNotFoundError as error:
            raise AliceError(f"there is no file {file}; check the path") from error
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
