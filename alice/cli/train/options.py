"""The options that describe a training, shared by `train` and `sweep`, and the training that they describe."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from alice.cli.options import AtLeast, Decorator, NearestChoice, dataclass_options, device_option, given
from alice.model import VARIANTS, Variant
from alice.model.config import QUERY_INITS
from alice.text import ALPHABETS, QUOTES, RELABELS
from alice.text.corpus import POSSIBLE_SOURCES
from alice.training import Recipe, model_config
from alice.training.presets import RECIPES, RecipeName
from alice.training.presets import recipe as preset_recipe

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from alice.training import Training

TRAININGS = "trainings"
"""Folder of all training folders, unless the user names another."""
TRACKERS = ("tensorboard", "wandb")
DEFAULT_PRESET = "small"
DEFAULT_VARIANT: Variant = "base"
RELABEL_HELP = "Rename the letters of each text before the model reads them: by frequency, or by first appearance."
MODEL_OPTIONS = {
    "relabel": click.option("--relabel", type=NearestChoice(RELABELS), help=f"{RELABEL_HELP}  [default: none]"),
    "dropout": click.option("--dropout", type=float, help="Dropout of the model."),
    "attention_dropout": click.option("--attention-dropout", type=float, help="Dropout on the attention patterns."),
    "stochastic_depth": click.option("--stochastic-depth", type=float, help="Stochastic depth of the model."),
    "stochastic_depth_linear": click.option(
        "--stochastic-depth-linear/--no-stochastic-depth-linear",
        default=None,
        help="Raise the stochastic depth linearly from 0 in the first block, or use the same in all.",
    ),
    "query_init": click.option(
        "--query-init",
        type=NearestChoice(QUERY_INITS),
        help="Start queries as the embedding of their symbol, or at random (bijective, dynamic).",
    ),
    "whole_vocab": click.option(
        "--whole-vocab/--no-whole-vocab", default=None, help="Let any symbol be an answer, padding included."
    ),
    "cross_heads": click.option("--cross-heads", type=AtLeast(1), help="Heads of the cross-attention (bijective)."),
    "sinkhorn_tau": click.option("--sinkhorn-tau", type=float, help="Temperature of Gumbel-Sinkhorn (bijective)."),
    "sinkhorn_iters": click.option(
        "--sinkhorn-iters", type=AtLeast(1), help="Row and column normalisations of Gumbel-Sinkhorn (bijective)."
    ),
    "hyper_dropout": click.option(
        "--hyper-dropout/--no-hyper-dropout", default=None, help="Use dropout in the hypernetwork, too (dynamic)."
    ),
    "hyper_sees_padding": click.option(
        "--hyper-sees-padding/--no-hyper-sees-padding",
        default=None,
        help="Let the hypernetwork read padding as text, in training only (dynamic).",
    ),
    "hyper_rope_truncated": click.option(
        "--hyper-rope-truncated/--no-hyper-rope-truncated",
        default=None,
        help="Truncate the rotary tables of the hypernetwork to integers (dynamic).",
    ),
}
"""Options for the renaming of letters and for the fields of the model in which the recipes differ, by field."""
NEW_TRAINING = ("recipe", "variant", "data", "text_column", "alphabet", *MODEL_OPTIONS)
"""Options that determine the model and the texts of a training; those of `Recipe` determine how it is trained."""

EPILOG = f"DATA is {POSSIBLE_SOURCES}. Where no default is shown, that of the recipe applies."
"""Below the help of every command that trains."""

_OPTIONS = (
    click.option(
        "--recipe",
        type=NearestChoice(RECIPES),
        help="Defaults of all options below: as the paper describes, as the authors' code does, or ours for CPUs.  "
        "[default: ours for tiny, mini and small, else paper]",
    ),
    click.option("--variant", type=NearestChoice(VARIANTS), help=f"Kind of model.  [default: {DEFAULT_VARIANT}]"),
    click.option("--data", help=f"Corpus to train on; its training split is used.  [default: {QUOTES}]"),
    click.option("--text-column", metavar="NAME", help="Column of the corpus with the texts."),
    click.option("--alphabet", type=NearestChoice(list(ALPHABETS)), help="Symbols of the model.  [default: english]"),
    click.option("--threads", type=click.IntRange(1, 1024), help="CPU threads.  [default: all cores]"),
    device_option,
    click.option("--track", type=NearestChoice(TRACKERS), multiple=True, help="Log to this service as well."),
)


def training_options(*, skip: "Iterable[str]" = ()) -> Decorator:
    """Return a decorator that adds every option of a training, except for the fields of recipe or model to skip."""
    recipe_options = dataclass_options(Recipe, skip={"held_out", *skip}, show_defaults=False)
    model_options = [option for name, option in MODEL_OPTIONS.items() if name not in skip]

    def decorate(command: "Callable[..., Any]") -> "Callable[..., Any]":
        command = recipe_options(command)
        for option in reversed((*_OPTIONS, *model_options)):
            command = option(command)
        return command

    return decorate


def recipe_of(preset: str, name: RecipeName | None, changes: dict[str, Any]) -> Recipe:
    """Return a recipe, by default the preset's, with the user's changes; a budget in hours replaces one in steps."""
    if changes.keys() & {"steps", "hours"}:
        changes = {"steps": None, "hours": None} | changes
    return Recipe(**(preset_recipe(preset, name).to_dict() | changes))


def new_training(
    out: Path,
    settings: Recipe,
    preset: str,
    *,
    recipe: RecipeName | None,
    variant: Variant | None,
    data: str | None,
    text_column: str | None,
    alphabet: str | None,
    init: str | None = None,
    **fields: Any,
) -> "Training":
    """Return the training that the options describe; `fields` are those of `MODEL_OPTIONS`."""
    from alice.training import Training

    symbols = ALPHABETS[alphabet or "english"].symbols
    model = model_config(preset, variant or DEFAULT_VARIANT, recipe=recipe, symbols=symbols, **given(fields))
    return Training(model, settings, data or QUOTES, out, text_column, init)
