"""`alice-interp train`: trains a model, or goes on with a training."""

from pathlib import Path
from typing import Any

import click

from alice.cli.options import NearestChoice, given
from alice.cli.signals import stop_on_signals
from alice.cli.train_options import DEFAULT_PRESET, NEW_RUN, new_run, recipe_of, training_options
from alice.cli.train_screen import is_first_process, train_on_screen
from alice.errors import AliceError
from alice.text.corpus import POSSIBLE_SOURCES
from alice.training.presets import PRESETS

_OF_A_NEW_RUN = ("preset", *NEW_RUN, "init")
"""Options that a run is started with; a resumed one has them in its folder."""


@click.command(epilog=f"DATA is {POSSIBLE_SOURCES}.")
@click.option("--out", required=True, type=click.Path(path_type=Path, file_okay=False), help="Run folder to write.")
@click.option("--preset", type=NearestChoice(PRESETS), help=f"Size and recipe.  [default: {DEFAULT_PRESET}]")
@click.option("--resume", is_flag=True, help="Go on with the run in --out.")
@click.option("--init", type=str, help="Start from the weights of a checkpoint, of any variant.")
@training_options()
def train(out: Path, resume: bool, threads: int | None, cpu: bool, track: tuple[str, ...], **options: Any) -> None:
    """Train a model, saving often; Ctrl-C saves and stops, --resume goes on.

    The same command runs on several GPUs or machines under `torchrun` or `accelerate launch`.
    """
    chosen = {name: options.pop(name) for name in _OF_A_NEW_RUN}
    changes = given(options)
    if resume and (fixed := given(chosen)):
        raise AliceError(f"--resume takes {', '.join(fixed)} from the run folder; leave those options out")
    preset = chosen.pop("preset") or DEFAULT_PRESET
    recipe = None if resume else recipe_of(preset, changes)

    import torch  # after the cheap checks: it takes seconds

    from alice.training.folder import Run

    if threads:
        torch.set_num_threads(threads)
    run = Run.open(out, changes) if recipe is None else new_run(out, recipe, preset, **chosen)
    with stop_on_signals() as stop:
        finished = train_on_screen(run, resume=resume, cpu=cpu, track=track, stop=stop)
    if is_first_process():
        how = f"stopped and saved in {out}; go on with: alice-interp train --out {out} --resume"
        click.echo(f"done: {out}" if finished else how, err=not finished)
    if not finished:
        click.get_current_context().exit(128 + stop.signal)
