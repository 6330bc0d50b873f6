"""The options that describe a training, shared by `train` and `sweep`, and the training that they describe."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from alice.cli.options import Decorator, NearestChoice, dataclass_options, device_option, given
from alice.model import VARIANTS, Variant
from alice.text import ALPHABETS, QUOTES
from alice.text.corpus import POSSIBLE_SOURCES
from alice.training import Recipe, model_config
from alice.training.presets import recipe as preset_recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from alice.training import Training

TRAININGS = "trainings"
"""Folder of all training folders, unless the user names another."""
TRACKERS = ("tensorboard", "wandb")
DEFAULT_PRESET = "small"
DEFAULT_VARIANT: Variant = "base"
NEW_TRAINING = ("variant", "data", "text_column", "alphabet", "dropout", "stochastic_depth")
"""Options that determine the model and the texts of a training; those of `Recipe` determine how it is trained."""

EPILOG = f"DATA is {POSSIBLE_SOURCES}. Where no default is shown, that of the preset applies."
"""Below the help of every command that trains."""

_OPTIONS = (
    click.option("--variant", type=NearestChoice(VARIANTS), help=f"Kind of model.  [default: {DEFAULT_VARIANT}]"),
    click.option("--data", help=f"Corpus to train on; its training split is used.  [default: {QUOTES}]"),
    click.option("--text-column", metavar="NAME", help="Column of the corpus with the texts."),
    click.option("--alphabet", type=NearestChoice(list(ALPHABETS)), help="Symbols of the model.  [default: english]"),
    click.option("--dropout", type=float, help="Dropout of the model."),
    click.option("--stochastic-depth", type=float, help="Stochastic depth of the model."),
    click.option("--threads", type=click.IntRange(1, 1024), help="CPU threads.  [default: all cores]"),
    device_option,
    click.option("--track", type=NearestChoice(TRACKERS), multiple=True, help="Log to this service as well."),
)


def training_options(*, skip: "Iterable[str]" = ()) -> Decorator:
    """Return a decorator that adds every option of a training, except for the fields of the recipe to skip."""
    recipe_options = dataclass_options(Recipe, skip=skip, show_defaults=False)

    def decorate(command: "Callable[..., Any]") -> "Callable[..., Any]":
        command = recipe_options(command)
        for option in reversed(_OPTIONS):
            command = option(command)
        return command

    return decorate


def recipe_of(preset: str, changes: dict[str, Any]) -> Recipe:
    """Return the preset's recipe with the user's changes; a budget in hours replaces one in steps and vice versa."""
    if changes.keys() & {"steps", "hours"}:
        changes = {"steps": None, "hours": None} | changes
    return Recipe(**(preset_recipe(preset).to_dict() | changes))


def new_training(
    out: Path,
    recipe: Recipe,
    preset: str,
    *,
    variant: Variant | None,
    data: str | None,
    text_column: str | None,
    alphabet: str | None,
    dropout: float | None,
    stochastic_depth: float | None,
    init: str | None = None,
) -> "Training":
    """Return the training that the options describe."""
    from alice.training import Training

    changes = given({"dropout": dropout, "stochastic_depth": stochastic_depth})
    symbols = ALPHABETS[alphabet or "english"].symbols
    model = model_config(preset, variant or DEFAULT_VARIANT, symbols=symbols, **changes)
    return Training(model, recipe, data or QUOTES, out, text_column, init)
