"""Training a model: recipes, presets, optimizers, the loop, its saved state, training folders, sweeps."""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.training.recipe import Recipe as Recipe

__getattr__ = lazy_exports(
    __name__,
    {
        "Recipe": "recipe",
    },
)
