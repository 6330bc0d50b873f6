"""`alice-interp train`: trains a model, or resumes a training."""

import shlex
from dataclasses import replace
from pathlib import Path
from typing import Any

import click

from alice.cli.options import FOLDER, NearestChoice, given
from alice.cli.signals import stop_on_signals
from alice.cli.train.options import (
    DEFAULT_PRESET,
    DEFAULT_VARIANT,
    EPILOG,
    NEW_TRAINING,
    TRAININGS,
    new_training,
    recipe_of,
    training_options,
)
from alice.cli.train.screen import is_first_process, train_on_screen
from alice.errors import AliceError
from alice.training import PRESETS
from alice.training.presets import default_recipe

_CHOSEN = ("preset", *NEW_TRAINING, "init")
"""Options of a new training; a resumed one takes all but the place of its data from its folder."""


@click.command(epilog=EPILOG)
@click.option("--out", type=FOLDER, help=f"Training folder to write.  [default: {TRAININGS}/VARIANT-PRESET]")
@click.option("--preset", type=NearestChoice(PRESETS), help=f"Size of the model.  [default: {DEFAULT_PRESET}]")
@click.option("--resume", is_flag=True, help="Resume the training in --out.")
@click.option("--allow-changed-data", is_flag=True, help="Resume on other texts than before.")
@click.option("--init", type=str, help="Start from the weights of a checkpoint, of any variant.")
@training_options()
def train(
    out: Path | None,
    resume: bool,
    allow_changed_data: bool,
    threads: int | None,
    device: str | None,
    track: tuple[str, ...],
    **options: Any,
) -> None:
    """Train a model, saving often; Ctrl-C saves and stops, --resume continues.

    The same command trains on several GPUs or machines under `torchrun` or `accelerate launch`.
    """
    chosen = {name: options.pop(name) for name in _CHOSEN}
    changes = given(options)
    if resume and out is None:
        raise AliceError("--resume needs the training folder to continue in; add --out")
    if resume and (fixed := given(chosen).keys() - {"data"}):
        raise AliceError(f"--resume takes {', '.join(sorted(fixed))} from the training folder; leave those options out")
    if allow_changed_data and not resume:
        raise AliceError("--allow-changed-data is for trainings that are resumed; add --resume or leave it out")
    preset = chosen.pop("preset") or DEFAULT_PRESET
    recipe = None if resume else recipe_of(preset, chosen["recipe"], changes)
    out = out or _default_folder(preset, chosen["variant"], chosen["recipe"])

    import torch  # after the quick checks: it takes seconds

    from alice.training import Training

    if threads:
        torch.set_num_threads(threads)
    training = Training.open(out, changes) if recipe is None else new_training(out, recipe, preset, **chosen)
    if resume and chosen["data"] is not None:
        training = replace(training, data=chosen["data"])
    with stop_on_signals() as stop:
        finished = train_on_screen(
            training, resume=resume, allow_changed_data=allow_changed_data, device=device, track=track, stop=stop
        )
    if is_first_process():
        stopped = (
            f"stopped and saved in {out}; continue with: alice-interp train --out {shlex.quote(str(out))} --resume"
        )
        click.echo(f"done: {out}" if finished else stopped, err=not finished)
    if not finished:
        click.get_current_context().exit(128 + stop.signal)


def _default_folder(preset: str, variant: str | None, recipe: str | None) -> Path:
    """Return the folder of a training whose user names none; another recipe than the preset's is part of its name."""
    ending = f"-{recipe}" if recipe not in (None, default_recipe(preset)) else ""
    return Path(TRAININGS) / f"{variant or DEFAULT_VARIANT}-{preset}{ending}"
