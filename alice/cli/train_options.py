"""The options that describe a training, for every command that trains: said once, and turned into a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from alice.cli.options import Decorator, NearestChoice, dataclass_options, given
from alice.model.config import VARIANTS, Variant
from alice.text.alphabet import ALPHABETS
from alice.text.corpus import QUOTES
from alice.training.presets import model_config
from alice.training.presets import recipe as preset_recipe
from alice.training.recipe import Recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from alice.training.folder import Run

TRACKERS = ("tensorboard", "wandb")
DEFAULT_PRESET = "small"
NEW_RUN = ("variant", "data", "text_column", "alphabet", "dropout", "stochastic_depth")
"""Options that settle the model and the texts of a run; those of `Recipe` settle how it is trained."""

_OPTIONS = (
    click.option("--variant", type=NearestChoice(VARIANTS), help="Kind of model.  [default: base]"),
    click.option("--data", help=f"Corpus to train on, its training side.  [default: {QUOTES}]"),
    click.option("--text-column", metavar="NAME", help="Column of the corpus with the texts."),
    click.option("--alphabet", type=NearestChoice(list(ALPHABETS)), help="Symbols of the model.  [default: english]"),
    click.option("--dropout", type=float, help="Dropout of the model.  [default: the preset's]"),
    click.option("--stochastic-depth", type=float, help="Stochastic depth of the model.  [default: the preset's]"),
    click.option("--threads", type=click.IntRange(1, 1024), help="CPU threads.  [default: all cores]"),
    click.option("--cpu", is_flag=True, help="Use the CPU even if there is an accelerator."),
    click.option("--track", type=NearestChoice(TRACKERS), multiple=True, help="Log to this service, too."),
)


def training_options(*, skip: "Iterable[str]" = ()) -> Decorator:
    """Return a decorator that adds every option of a training, but the fields of the recipe to skip."""
    recipe_options = dataclass_options(Recipe, skip=skip, defaults="the preset's")

    def decorate(command: "Callable[..., Any]") -> "Callable[..., Any]":
        command = recipe_options(command)
        for option in reversed(_OPTIONS):
            command = option(command)
        return command

    return decorate


def recipe_of(preset: str, changes: dict[str, Any]) -> Recipe:
    """Return the preset's recipe with the user's changes; one budget given replaces the other."""
    if changes.keys() & {"steps", "hours"}:
        changes = {"steps": None, "hours": None} | changes
    return Recipe(**(preset_recipe(preset).to_dict() | changes))


def new_run(
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
) -> "Run":
    """Return the run that the options describe."""
    from alice.training.folder import Run

    changes = given({"dropout": dropout, "stochastic_depth": stochastic_depth})
    symbols = ALPHABETS[alphabet or "english"].symbols
    model = model_config(preset, variant or "base", symbols=symbols, **changes)
    return Run(model, recipe, data or QUOTES, out, text_column, init)
