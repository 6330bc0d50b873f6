"""Training a model: recipes, presets, optimizers, the loop, its saved state, training folders and sweeps."""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.training.folder import Training as Training
    from alice.training.recipe import Recipe as Recipe
    from alice.training.setup import train as train

__getattr__ = lazy_exports(
    __name__,
    {
        "Recipe": "recipe",
        "Training": "folder",
        "train": "setup",
    },
)
