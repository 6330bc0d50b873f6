"""Named sizes and recipes: the paper's six models and three smaller ones; the paper's recipe, the authors' and ours.

A preset is a size. A recipe is how it is trained, and what that requires of the model. A table in docs/training.md
compares the three recipes and names the option for each difference.
"""

from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from alice.checkpoint.upstream_config import mlp_width
from alice.errors import AliceError, nearest
from alice.model import ModelConfig, Variant
from alice.training.recipe import Recipe

RecipeName = Literal["paper", "authors", "ours"]
RECIPES: tuple[RecipeName, ...] = get_args(RecipeName)


@dataclass(frozen=True)
class Size:
    """Size of a model, as in the paper's table of sizes."""

    d_model: int
    n_layers: int
    n_heads: int
    d_mlp: int


PAPER_SIZES = {
    "0.5m": Size(128, 2, 4, 512),
    "3.4m": Size(256, 4, 4, 768),
    "10.7m": Size(384, 6, 6, 1024),
    "27.3m": Size(512, 8, 8, 1536),
    "85m": Size(768, 12, 12, 2048),
    "308m": Size(1024, 24, 16, 2816),
}
CPU_SIZES = {
    "tiny": Size(48, 4, 2, 96),  # 0.1 million weights, for tests
    "mini": Size(64, 4, 2, 192),  # heads narrower than 32 spend more on their softmax than on products
    "small": Size(128, 8, 4, 384),
}
PRESETS = (*CPU_SIZES, *PAPER_SIZES)

PAPER = Recipe(steps=200_000, batch_texts=96, batch_tokens=None, lr=1e-4, schedule="constant", warmup_steps=0, clip=0.0)
AUTHORS = replace(PAPER, batch_lengths="mixed", bijective_loss="probabilities-as-logits", weight_decay_on="all")
OURS = Recipe(
    steps=20_000,
    batch_texts=None,
    batch_tokens=4096,
    lr=2e-3,
    muon_lr=6e-3,
    schedule="wsd",
    warmup_steps=200,
    clip=1.0,
)
_RECIPES: dict[RecipeName, Recipe] = {"paper": PAPER, "authors": AUTHORS, "ours": OURS}

# The paper does not mention dropout and stochastic depth; the rates are from the authors' configuration.
_PAPER_MODEL = {"dropout": 0.1, "stochastic_depth": 0.1}
_AUTHORS_MODEL = {
    "dropout": 0.1,
    "attention_dropout": 0.1,
    "stochastic_depth": 0.1,
    "stochastic_depth_linear": True,
    "query_init": "random",
    "cross_heads": 1,
    "sinkhorn_tau": 5.0,
    "sinkhorn_iters": 5,
    "whole_vocab": True,
    "hyper_dropout": False,
    "hyper_sees_padding": True,
    "hyper_rope_truncated": True,
}
# A lower temperature with the paper's noise-to-temperature ratio. With the skips the variants learn as fast as base;
# without them the queries must first learn to find their own symbol, which the loss hardly rewards early in training.
_OUR_MODEL = {
    "init_std": 0.04,
    "cross_skip": True,
    "sinkhorn_tau": 1.0,
    "gumbel_noise": 0.21,
    "hyper_skip": True,
}


def default_recipe(preset: str) -> RecipeName:
    """Return the name of the recipe of a preset: ours for CPU sizes, the paper's for its own."""
    _find(preset)
    return "ours" if preset in CPU_SIZES else "paper"


def recipe(preset: str, name: RecipeName | None = None) -> Recipe:
    """Return a recipe by name, by default that of the preset."""
    return _RECIPES[name or default_recipe(preset)]


def model_config(
    preset: str, variant: Variant = "base", *, recipe: RecipeName | None = None, **overrides: Any
) -> ModelConfig:
    """Return the architecture of a preset under a recipe, by default that of the preset."""
    size, name = _find(preset), recipe or default_recipe(preset)
    fields: dict[str, Any] = {**vars(size), "variant": variant, "hyper_heads": size.n_heads}
    if variant == "dynamic" and preset in PAPER_SIZES:  # the paper's dynamic variant trades layers for its hypernetwork
        fields["hyper_layers"] = min(2, size.n_layers // 2)
        fields["n_layers"] = size.n_layers - fields["hyper_layers"]
    return ModelConfig(**(fields | _model_fields(name, size) | overrides))


def _model_fields(name: RecipeName, size: Size) -> dict[str, Any]:
    """Return the fields of the model that a recipe determines."""
    if name == "paper":
        return {**_PAPER_MODEL, "cross_heads": size.n_heads}
    if name == "authors":
        return {**_AUTHORS_MODEL, "hyper_mlp": mlp_width(size.d_model, None, size.d_model // size.n_heads)}
    return _OUR_MODEL


def _find(preset: str) -> Size:
    sizes = CPU_SIZES | PAPER_SIZES
    if preset not in sizes:
        choices = f"; choose one of {', '.join(sizes)}"
        raise AliceError(f"there is no preset {preset!r}{nearest(preset, sizes) or choices}")
    return sizes[preset]
