"""`alice-interp train`: trains a model, or goes on with a training."""

import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click
from rich.console import Console

from alice.alphabet import ALPHABETS
from alice.cli.options import dataclass_options, given
from alice.cli.signals import stop_on_signals
from alice.cli.train_screen import TrainScreen
from alice.config import VARIANTS, Variant
from alice.corpus import POSSIBLE_SOURCES, QUOTES
from alice.errors import AliceError
from alice.presets import PRESETS, model_config
from alice.presets import recipe as preset_recipe
from alice.recipe import Recipe

if TYPE_CHECKING:
    from alice.run_folder import Run

TRACKERS = ("tensorboard", "wandb")
DEFAULT_PRESET = "small"
_OF_A_NEW_RUN = ("variant", "preset", "data", "text_column", "alphabet", "dropout", "stochastic_depth", "init")
"""Options that a run is started with; a resumed one has them in its folder."""


@click.command(epilog=f"DATA is {POSSIBLE_SOURCES}.")
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Run folder to write.")
@click.option("--variant", type=click.Choice(VARIANTS), help="Kind of model.  [default: base]")
@click.option("--preset", type=click.Choice(PRESETS), help="Size and recipe.  [default: small]")
@click.option("--data", help=f"Corpus to train on, its training side.  [default: {QUOTES}]")
@click.option("--text-column", metavar="NAME", help="Column of the corpus with the texts.")
@click.option("--alphabet", type=click.Choice(list(ALPHABETS)), help="Symbols of the model.  [default: english]")
@click.option("--dropout", type=float, help="Dropout of the model.  [default: the preset's]")
@click.option("--stochastic-depth", type=float, help="Stochastic depth of the model.  [default: the preset's]")
@click.option("--resume", is_flag=True, help="Go on with the run in --out.")
@click.option("--init", type=str, help="Start from the weights of a checkpoint.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads.  [default: all cores]")
@click.option("--cpu", is_flag=True, help="Use the CPU even if there is an accelerator.")
@click.option("--track", type=click.Choice(TRACKERS), multiple=True, help="Log to this service, too.")
@dataclass_options(Recipe, defaults="the preset's")
def train(out: Path, resume: bool, threads: int | None, cpu: bool, track: tuple[str, ...], **options: Any) -> None:
    """Train a model, saving often; Ctrl-C saves and stops, --resume goes on.

    The same command runs on several GPUs or machines under `torchrun` or `accelerate launch`.
    """
    chosen = {name: options.pop(name) for name in _OF_A_NEW_RUN}
    changes = given(options)
    if resume and (fixed := given(chosen)):
        raise AliceError(f"--resume takes {', '.join(fixed)} from the run folder; leave those options out")
    recipe = None if resume else _recipe(chosen["preset"] or DEFAULT_PRESET, changes)

    import torch  # after the cheap checks: it takes seconds

    from alice import training
    from alice.run_folder import Run

    if threads:
        torch.set_num_threads(threads)
    run = Run.open(out, changes) if recipe is None else _new_run(out, recipe, **chosen)
    first = os.environ.get("RANK", "0") == "0"  # of several processes one speaks
    screen = TrainScreen(run.recipe, Console(stderr=True, quiet=not first))
    with stop_on_signals() as stop, screen.shown():
        finished = training.train(
            run, resume=resume, cpu=cpu, trackers=track, report=screen.report, say=screen.say, stop=stop
        )
    if first:
        how = f"stopped and saved in {out}; go on with: alice-interp train --out {out} --resume"
        click.echo(f"done: {out}" if finished else how, err=not finished)
    if not finished:
        click.get_current_context().exit(128 + stop.signal)


def _new_run(
    out: Path,
    recipe: Recipe,
    *,
    variant: Variant | None,
    preset: str | None,
    data: str | None,
    text_column: str | None,
    alphabet: str | None,
    dropout: float | None,
    stochastic_depth: float | None,
    init: str | None,
) -> "Run":
    """Return the run that the options describe."""
    from alice.run_folder import Run

    changes = given({"dropout": dropout, "stochastic_depth": stochastic_depth})
    symbols = ALPHABETS[alphabet or "english"].symbols
    model = model_config(preset or DEFAULT_PRESET, variant or "base", symbols=symbols, **changes)
    return Run(model, recipe, data or QUOTES, out, text_column, init)


def _recipe(preset: str, changes: dict[str, Any]) -> Recipe:
    """Return the preset's recipe with the user's changes; one budget given replaces the other."""
    if changes.keys() & {"steps", "hours"}:
        changes = {"steps": None, "hours": None} | changes
    return Recipe(**(preset_recipe(preset).to_dict() | changes))
