"""`alice-interp train`: trains a model, or goes on with a training."""

from pathlib import Path
from typing import Any

import click
from rich.console import Console

from alice.cli.options import dataclass_options, given
from alice.cli.signals import stop_on_signals
from alice.cli.train_screen import TrainScreen
from alice.config import VARIANTS
from alice.corpus import POSSIBLE_SOURCES, QUOTES
from alice.errors import AliceError
from alice.presets import PRESETS, model_config
from alice.presets import recipe as preset_recipe
from alice.recipe import Recipe

TRACKERS = ("tensorboard", "wandb")


@click.command(epilog=f"DATA is {POSSIBLE_SOURCES}.")
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Run folder to write.")
@click.option("--variant", type=click.Choice(VARIANTS), help="Kind of model.  [default: base]")
@click.option("--preset", type=click.Choice(PRESETS), help="Size and recipe.  [default: small]")
@click.option("--data", help=f"Corpus to train on, its training side.  [default: {QUOTES}]")
@click.option("--resume", is_flag=True, help="Go on with the run in --out.")
@click.option("--init", type=str, help="Start from the weights of a checkpoint.")
@click.option("--threads", type=click.IntRange(min=1), help="CPU threads.  [default: all cores]")
@click.option("--cpu", is_flag=True, help="Use the CPU even if there is an accelerator.")
@click.option("--track", type=click.Choice(TRACKERS), multiple=True, help="Log to this service, too.")
@dataclass_options(Recipe, defaults="the preset's")
def train(
    out: Path,
    variant: str | None,
    preset: str | None,
    data: str | None,
    resume: bool,
    init: str | None,
    threads: int | None,
    cpu: bool,
    track: tuple[str, ...],
    **options: Any,
) -> None:
    """Train a model, saving often; Ctrl-C saves and stops, --resume goes on.

    The same command runs on several GPUs or machines under `accelerate launch -m alice.cli train ...`.
    """
    changes = given(options)
    if resume and (variant or preset or data or init):
        raise AliceError(
            "--resume takes variant, preset, data and weights from the run folder; leave those options out"
        )

    import torch  # after the cheap checks: it takes seconds

    from alice import training
    from alice.run_folder import Run

    if threads:
        torch.set_num_threads(threads)
    if resume:
        run = Run.open(out, changes)
    else:
        model = model_config(preset or "small", variant or "base")  # type: ignore[arg-type]  # click checked it
        run = Run(model, _recipe(preset or "small", changes), data or QUOTES, out, init)
    screen = TrainScreen(run.recipe, Console(stderr=True))
    with stop_on_signals() as stop, screen.shown():
        finished = training.train(
            run, resume=resume, cpu=cpu, trackers=track, report=screen.report, say=screen.say, stop=stop
        )
    if not finished:
        click.echo(f"stopped and saved in {out}; go on with: alice-interp train --out {out} --resume", err=True)
        click.get_current_context().exit(128 + stop.signal)
    click.echo(f"done: {out}")


def _recipe(preset: str, changes: dict[str, Any]) -> Recipe:
    """Return the preset's recipe with the user's changes; one budget given replaces the other."""
    if changes.keys() & {"steps", "hours"}:
        changes = {"steps": None, "hours": None} | changes
    return Recipe(**(preset_recipe(preset).to_dict() | changes))
