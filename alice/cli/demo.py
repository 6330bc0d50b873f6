"""`alice-interp demo`: solves cryptograms on the screen, then runs the main analyses on small samples."""

import shlex
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.text import Text

from alice import front_door
from alice.cli.explore import write_explorers
from alice.cli.options import device_option, out_option
from alice.cli.progress import busy
from alice.cli.run import Job, open_context, raise_failures, run_each
from alice.cli.solve.screen import can_animate, show, solve_console
from alice.outputs import check_parent
from alice.plugins.manager import build

if TYPE_CHECKING:
    from alice.plugins import RunContext


@dataclass(frozen=True)
class Cryptogram:
    """A text that the demo encrypts and solves."""

    plaintext: str
    ckpt: str
    """Model that solves it."""
    seed: int
    """Seed of the key."""


@dataclass(frozen=True)
class Small:
    """An analysis of the demo, with options that keep it short."""

    name: str
    ckpt: tuple[str, ...]
    options: dict[str, Any] = field(default_factory=dict)


CRYPTOGRAMS = (
    Cryptogram("YOU CAN LEARN MORE ABOUT A SECRET FROM THE PEOPLE WHO DO NOT KNOW IT THAN FROM THE ONE WHO KEEPS IT.",
               "base", 3),
    Cryptogram("NOTHING IS AS WELL HIDDEN AS THE THING THAT EVERYONE BELIEVES SOMEONE ELSE HAS ALREADY FOUND.",
               "bijective", 1),
    Cryptogram("THE LETTERS THAT WE HIDE FROM THE WORLD ARE THE ONES THAT IT MOST WANTS TO READ.", "bijective", 2),
)  # fmt: skip
"""Sentences written for the demo, so no model has seen them in training."""

BOTH = ("base", "bijective")
ANALYSES = (
    Small("early-exit", BOTH, {"samples": 100}),
    Small("key-recovery", BOTH, {"samples": 100}),
    Small("errors-by-length", BOTH, {"samples": 200, "solver_texts": 0}),
    Small("disagreement", ("bijective",), {"samples": 5, "training_texts": 20_000, "beam": 100}),
    Small("letter-frequency", BOTH, {"samples": 200}),
    Small("attention", ("base",), {"samples": 60}),
    Small("attention", ("bijective",), {"samples": 60}),
    Small("ablation", ("base",), {"samples": 4, "pairs": 2, "permutations": 500}),
    Small("patching", ("base",), {"samples": 8, "map_samples": 1, "kind": ("relabel-two",)}),
    Small("circuit", ("base",), {"samples": 6, "steps": 2}),
    Small("evidence", ("base",), {"samples": 2, "steps": 16}),
    Small("features", ("base",), {"samples": 4, "training": 40, "fitting": 12, "seeds": 2, "expansion": 2, "shown": 2}),
    Small("lens", ("base",), {"samples": 10, "training_texts": 60, "directions": 3, "causal_samples": 2}),
    Small("probe", ("base",), {"samples": 60, "repeats": 1}),
    Small("ngram", ("base",), {"samples": 60}),
    Small("relabelling", BOTH, {"samples": 15, "relabellings": 5}),
    Small("speed", BOTH, {"samples": 10, "rounds": 2, "seconds": 2.0, "classical": 3, "training_texts": 10_000}),
)
"""Every analysis that needs only a checkpoint, in the order to read them; about a minute on one core."""


@click.command()
@device_option
@out_option
def demo(device: str | None, out: Path) -> None:
    """Solve some cryptograms layer by layer, write the explorer, run the main analyses, and say where the pages are.

    Uses the bundled models and texts; takes under three minutes on two cores.
    """
    check_parent(out)
    for cryptogram in CRYPTOGRAMS:
        _solve(cryptogram, device)
    plugins = build(third_party=False)
    contexts = {ckpt: open_context(ckpt, plugins, device=device) for ckpt in {small.ckpt for small in ANALYSES}}
    jobs = [Job(small.name, contexts[small.ckpt], small.options) for small in ANALYSES]
    explorers = _write_explorers(list(contexts.values()), out)
    failed = run_each(jobs, plugins, out=out)
    for path in explorers:
        click.echo(f"explorer: {path}; open it in a browser to ask the model itself")
    _show_gallery(out)
    raise_failures(failed, jobs, out)


def _write_explorers(contexts: "list[RunContext]", out: Path) -> list[Path]:
    """Write the explorer page of every model, before the reports that link to it."""
    models = {one.checkpoint: replace(one, others=()) for ctx in contexts for one in ctx.each}
    return [path for name in sorted(models) for path in write_explorers(models[name], out)]


def _solve(cryptogram: Cryptogram, device: str | None) -> None:
    """Encrypt a text, solve it with the model layer by layer, and say how many letters are wrong."""
    import numpy as np

    from alice.text import Key

    console = solve_console()
    key = Key.random(np.random.default_rng(cryptogram.seed))
    ciphertext = key.encrypt(cryptogram.plaintext)
    console.print(
        Text(f'$ alice-interp solve --solver model --layers --ckpt {cryptogram.ckpt} "{ciphertext}"', style="bold")
    )
    with busy("loading the model"):
        solution = front_door.solve(ciphertext, model=cryptogram.ckpt, layers=True, device=device)
    show(solution, console, layers=True, animated=can_animate(console))
    console.print(Text(_verdict(solution.plaintext, cryptogram.plaintext), style="cyan"), end="\n\n")


def _verdict(found: str, meant: str) -> str:
    letters = sum(map(str.isalpha, meant))
    wrong = sum(one != other for one, other in zip(found, meant, strict=True))
    return f"{wrong} of {letters} letters are wrong; it was: {meant}" if wrong else f"all {letters} letters are right"


def _show_gallery(out: Path) -> None:
    from alice.reports.html import INDEX

    if (out / INDEX).is_file():
        where = "" if out == Path("runs") else f" {shlex.quote(str(out))}"
        click.echo(f"gallery: {out / INDEX}; open it in a browser, or run: alice-interp view{where}")
