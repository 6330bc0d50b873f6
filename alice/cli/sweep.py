"""`alice-interp sweep`: carries out trainings that differ in one thing, for the analyses that compare them."""

import shlex
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from alice.cli.options import FOLDER, NearestChoice, NearestGroup, given
from alice.cli.signals import stop_on_signals
from alice.cli.train_options import (
    DEFAULT_PRESET,
    EPILOG,
    NEW_TRAINING,
    TRAININGS,
    new_training,
    recipe_of,
    training_options,
)
from alice.cli.train_screen import is_first_process, train_on_screen
from alice.errors import AliceError, nearest, printable
from alice.outputs import check_parent
from alice.training import PRESETS
from alice.training.presets import CPU_SIZES, default_recipe

if TYPE_CHECKING:
    from alice.training import Training

ALL_KEYS = "all"
"""Stands for the pool of all keys: a fresh key for every text."""


def out_option(analysis: str) -> Callable[..., Any]:
    """Return the option for the folder of a sweep."""
    default = Path(TRAININGS) / analysis
    return click.option("--out", type=FOLDER, default=default, show_default=True, help="Folder of the trainings.")


@click.group(cls=NearestGroup)
def sweep() -> None:
    """Train several models that differ in one thing, one after another.

    Ctrl-C saves and stops. Repeat the command to continue: it skips finished trainings, and a larger budget extends all
    of them.
    """


@sweep.command(epilog=EPILOG)
@out_option("generalization")
@click.option("--pools", default="10,100,1000,10000,all", show_default=True, metavar="SIZES",
              help="Numbers of keys to train on, separated by commas; all is a fresh key for every text.")  # fmt: skip
@click.option("--preset", type=NearestChoice(PRESETS), help=f"Size of the model.  [default: {DEFAULT_PRESET}]")
@training_options(skip=["cipher_pool"])
def generalization(out: Path, pools: str, preset: str | None, **options: Any) -> None:
    """Train one model for each size of the key pool, to see how many keys it takes to generalise."""
    sizes = [_pool_size(entry) for entry in _entries(pools, "--pools")]
    preset = preset or DEFAULT_PRESET
    members = {f"pool-{size or ALL_KEYS}": (preset, {"cipher_pool": size}) for size in sizes}
    _sweep("generalization", out, preset, members, options)


@sweep.command(epilog=EPILOG)
@out_option("scaling")
@click.option("--presets", default=",".join(CPU_SIZES), show_default=True, metavar="NAMES",
              help="Sizes to train, separated by commas; all with one recipe, by default the first's.")  # fmt: skip
@training_options()
def scaling(out: Path, presets: str, **options: Any) -> None:
    """Train one model of each size, to see how the error falls with the operations spent on training."""
    names = _entries(presets, "--presets")
    for name in names:
        if name not in PRESETS:
            choices = f"; choose from {', '.join(PRESETS)}"
            raise AliceError(f"there is no preset {name!r}{nearest(name, PRESETS) or choices}")
    members: dict[str, tuple[str, dict[str, Any]]] = {f"size-{name}": (name, {}) for name in names}
    _sweep("scaling", out, names[0], members, options)


def _entries(text: str, option: str) -> list[str]:
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    if not entries:
        raise AliceError(f"{option} is empty; give one or more names, separated by commas")
    if repeated := [entry for entry in entries if entries.count(entry) > 1]:
        raise AliceError(f"{option} names {repeated[0]} twice; name each once")
    return entries


def _pool_size(entry: str) -> int | None:
    if entry == ALL_KEYS:
        return None
    if not entry.isascii() or not entry.isdigit() or int(entry) < 1:
        raise AliceError(f"--pools has {entry!r}, which is not a number of keys; give whole numbers, or {ALL_KEYS}")
    return int(entry)


def _sweep(
    analysis: str, out: Path, preset: str, members: dict[str, tuple[str, dict[str, Any]]], options: dict[str, Any]
) -> None:
    """Carry out trainings with the recipe of a preset.

    Args:
        analysis: the analysis that reads the trainings.
        out: folder of the trainings.
        preset: the preset whose recipe all of them use.
        members: by name, the preset of the model's size and the changes to the recipe.
        options: the remaining options of the command.

    """
    threads, device, track = (options.pop(name) for name in ("threads", "device", "track"))
    chosen = {name: options.pop(name) for name in NEW_TRAINING}
    chosen["recipe"] = chosen["recipe"] or default_recipe(preset)
    changes = given(options)
    check_parent(out)
    recipes = {name: recipe_of(preset, chosen["recipe"], changes | own) for name, (_, own) in members.items()}

    import torch  # after the quick checks: it takes seconds

    from alice.training.sweep import carry_out, plan

    if threads:
        torch.set_num_threads(threads)
    trainings = [new_training(out / name, recipes[name], size, **chosen) for name, (size, _) in members.items()]
    first = is_first_process()

    def say(line: str) -> None:
        if first:
            click.echo(printable(line), err=True)

    with stop_on_signals() as stop:

        def train(training: "Training", *, resume: bool) -> bool:
            stop.begin()
            return train_on_screen(training, resume=resume, device=device, track=track, stop=stop)

        finished = carry_out(plan(trainings, changes), train, say=say)
    if not finished:
        say(f"stopped and saved in {out}; repeat the command to continue")
        click.get_current_context().exit(128 + stop.signal)
    if is_first_process():
        click.echo(f"done: {out}; draw it with: alice-interp run {analysis} --trainings {shlex.quote(str(out))}")
