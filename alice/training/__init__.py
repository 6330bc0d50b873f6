"""Training a model: recipes and presets, optimizers, the loop and its saved state, training folders and sweeps.

`Training` describes one, `train` carries it out, `read_trainings` reads what trainings have logged.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.training.folder import Training as Training
    from alice.training.presets import model_config as model_config
    from alice.training.recipe import Recipe as Recipe
    from alice.training.records import read_trainings as read_trainings
    from alice.training.setup import train as train

__getattr__ = lazy_exports(
    __name__,
    {
        "Recipe": "recipe",
        "Training": "folder",
        "model_config": "presets",
        "read_trainings": "records",
        "train": "setup",
    },
)
