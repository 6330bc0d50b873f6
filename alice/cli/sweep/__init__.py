"""`alice-interp sweep`: carries out trainings that differ in one thing, for the analyses that compare them."""

import shlex
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from itertools import product
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click
from rich.console import Console

from alice.cli.options import FOLDER, NearestChoice, NearestGroup, engine_options, given
from alice.cli.signals import stop_on_signals
from alice.cli.sweep.measure import measure
from alice.cli.train.options import (
    DEFAULT_PRESET,
    EPILOG,
    NEW_TRAINING,
    RELABEL_HELP,
    TRAININGS,
    new_training,
    recipe_of,
    training_options,
)
from alice.cli.train.screen import SweepScreen, is_first_process, train_on_screen
from alice.cluster import check_engine
from alice.errors import AliceError, nearest, printable
from alice.files import make_folder
from alice.outputs import check_parent
from alice.text import RELABELS
from alice.training import PRESETS
from alice.training.presets import CPU_SIZES, default_recipe

if TYPE_CHECKING:
    from alice.cli.signals import StopRequest
    from alice.training import Training
    from alice.training.engine import Settings
    from alice.training.sweep import Member

Entry = TypeVar("Entry")
ALL_KEYS = "all"
"""Stands for the pool of all keys: a fresh key for every text."""


@dataclass(frozen=True)
class _Member:
    """How one training differs from the others."""

    preset: str
    """Size of its model."""
    recipe: dict[str, Any] = field(default_factory=dict)
    """Changes to the recipe."""
    model: dict[str, Any] = field(default_factory=dict)
    """Changes to the model."""


def out_option(analysis: str) -> Callable[..., Any]:
    """Return the option for the folder of a sweep."""
    default = Path(TRAININGS) / analysis
    return click.option("--out", type=FOLDER, default=default, show_default=True, help="Folder of the trainings.")


seeds_option = click.option("--seeds", metavar="NUMBERS", help="Train with each of these seeds, separated by commas.")


@click.group(cls=NearestGroup)
def sweep() -> None:
    """Train several models that differ in one thing, one after another or on several workers.

    Ctrl-C saves and stops. Repeat the command to continue: it skips finished trainings, and a larger budget extends all
    of them.
    """


sweep.add_command(measure)


@sweep.command(epilog=EPILOG)
@out_option("generalization")
@click.option("--pools", default="10,100,1000,10000,all", show_default=True, metavar="SIZES",
              help="Numbers of keys to train on, separated by commas; all is a fresh key for every text.")  # fmt: skip
@click.option("--preset", type=NearestChoice(PRESETS), help=f"Size of the model.  [default: {DEFAULT_PRESET}]")
@seeds_option
@engine_options("Train on this many processes of this machine.")
@training_options(skip=["cipher_pool"])
def generalization(out: Path, pools: str, preset: str | None, seeds: str | None, **options: Any) -> None:
    """Train one model for each size of the key pool, to see how many keys it takes to generalise.

    With several seeds, it trains one for each combination.
    """
    sizes = _distinct([_pool_size(entry) for entry in _entries(pools, "--pools")], "--pools")
    preset = preset or DEFAULT_PRESET
    members = {
        f"pool-{size or ALL_KEYS}{ending}": _Member(preset, {"cipher_pool": size} | seed)
        for (ending, seed), size in product(_seeds(seeds, options), sizes)
    }
    _sweep("generalization", out, preset, members, options)


@sweep.command(epilog=EPILOG)
@out_option("scaling")
@click.option("--presets", default=",".join(CPU_SIZES), show_default=True, metavar="NAMES",
              help="Sizes to train, separated by commas; all with one recipe, by default the first's.")  # fmt: skip
@click.option("--relabel", default="none", show_default=True, metavar="NAMES",
              help=f"{RELABEL_HELP} Several of none, frequency and recurrence, separated by commas.")  # fmt: skip
@seeds_option
@engine_options("Train on this many processes of this machine.")
@training_options(skip=["relabel"])
def scaling(out: Path, presets: str, relabel: str, seeds: str | None, **options: Any) -> None:
    """Train one model of each size, to see how the error falls with the operations spent on training.

    With several renamings of the letters, or several seeds, it trains one for each combination.
    """
    sizes = _choices(presets, "--presets", "preset", PRESETS)
    renamings = _choices(relabel, "--relabel", "renaming", RELABELS)
    members = {}
    for (ending, seed), size, renaming in product(_seeds(seeds, options), sizes, renamings):
        name = f"size-{size}" + (f"-{renaming}" if relabel != "none" else "")
        members[name + ending] = _Member(size, seed, {} if renaming == "none" else {"relabel": renaming})
    _sweep("scaling", out, sizes[0], members, options)


def _choices(text: str, option: str, what: str, possible: Collection[str]) -> list[str]:
    names = _entries(text, option)
    for name in names:
        if name not in possible:
            choices = f"; choose from {', '.join(possible)}"
            raise AliceError(f"there is no {what} {name!r}{nearest(name, possible) or choices}")
    return names


def _entries(text: str, option: str) -> list[str]:
    entries = [entry.strip() for entry in text.split(",") if entry.strip()]
    if not entries:
        raise AliceError(f"{option} is empty; give one or more names, separated by commas")
    return _distinct(entries, option)


def _distinct(found: list[Entry], option: str) -> list[Entry]:
    """Return what an option names; raise if it names something twice, such as 3 and 03."""
    if repeated := [one for one in found if found.count(one) > 1]:
        raise AliceError(f"{option} names {repeated[0]} twice; name each once")
    return found


def _pool_size(entry: str) -> int | None:
    if entry == ALL_KEYS:
        return None
    if not entry.isascii() or not entry.isdigit() or int(entry) < 1:
        raise AliceError(f"--pools has {entry!r}, which is not a number of keys; give whole numbers, or {ALL_KEYS}")
    return int(entry)


def _seeds(text: str | None, options: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    """Return for each seed the ending of a training's name and the change to its recipe; all of one seed come first."""
    if text is None:
        return [("", {})]
    if "seed" in given(options):
        raise AliceError("--seed and --seeds contradict each other; leave one of them out")
    entries = _entries(text, "--seeds")
    for entry in entries:
        if not entry.isascii() or not entry.isdigit():
            raise AliceError(f"--seeds has {entry!r}, which is not a seed; give whole numbers")
    return [(f"-seed-{seed}", {"seed": seed}) for seed in _distinct([int(entry) for entry in entries], "--seeds")]


def _sweep(analysis: str, out: Path, preset: str, members: dict[str, _Member], options: dict[str, Any]) -> None:
    """Carry out trainings with the recipe of a preset.

    Args:
        analysis: the analysis that reads the trainings.
        out: folder of the trainings.
        preset: the preset whose recipe all of them use.
        members: by name, how each training differs from the others.
        options: the remaining options of the command.

    """
    threads, device, track = (options.pop(name) for name in ("threads", "device", "track"))
    engine, workers, scheduler = (options.pop(name) for name in ("engine", "workers", "scheduler"))
    check_engine(engine, workers, scheduler)
    chosen = {name: options.pop(name, None) for name in NEW_TRAINING}
    chosen["recipe"] = chosen["recipe"] or default_recipe(preset)
    changes = given(options)
    check_parent(out)
    recipes = {name: recipe_of(preset, chosen["recipe"], changes | one.recipe) for name, one in members.items()}

    from alice.training.sweep import plan  # after the quick checks: torch takes seconds

    trainings = [
        new_training(out / name, recipes[name], one.preset, **chosen | one.model) for name, one in members.items()
    ]
    planned = plan(trainings, changes)
    with stop_on_signals() as stop:
        if (workers or scheduler) and not all(member.finished for member in planned):
            from alice.training.engine import Settings

            settings = Settings(threads or 1, device, track, frozenset(changes))
            finished = _on_workers(planned, settings, stop, out, workers=workers, scheduler=scheduler)
        else:
            finished = _one_after_another(planned, stop, threads=threads, device=device, track=track)
    if not finished:
        _say(f"stopped and saved in {out}; repeat the command to continue")
        click.get_current_context().exit(128 + stop.signal)
    if is_first_process():
        click.echo(f"done: {out}; draw it with: alice-interp run {analysis} --trainings {shlex.quote(str(out))}")


def _one_after_another(
    planned: "list[Member]", stop: "StopRequest", *, threads: int | None, device: str | None, track: tuple[str, ...]
) -> bool:
    """Carry out trainings in this process; return whether all are finished."""
    import torch

    from alice.training.sweep import carry_out

    if threads:
        torch.set_num_threads(threads)

    def train(training: "Training", *, resume: bool) -> bool:
        stop.begin()
        return train_on_screen(training, resume=resume, device=device, track=track, stop=stop)

    return carry_out(planned, train, say=_say)


def _on_workers(
    planned: "list[Member]",
    settings: "Settings",
    stop: "StopRequest",
    out: Path,
    *,
    workers: int | None,
    scheduler: str | None,
) -> bool:
    """Carry out trainings on the workers of a cluster, with all of them on one screen; return whether all finished."""
    from alice.cluster import open_cluster
    from alice.training.engine import carry_out_on_workers

    screen = SweepScreen(planned, Console(stderr=True))
    make_folder(out)  # a worker that does not see it does not share the disk
    with open_cluster(workers=workers, scheduler=scheduler) as client, screen.shown():
        return carry_out_on_workers(planned, client, settings, stop=stop, say=screen.say, look=screen.look)


def _say(line: str) -> None:
    if is_first_process():
        click.echo(printable(line), err=True)
