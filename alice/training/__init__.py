"""Training a model: recipes and presets, optimizers, the loop and its saved state, training folders and sweeps.

`Training` describes one, `train` carries it out, `read_trainings` reads what trainings have logged.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.training.folder import Training as Training
    from alice.training.folder import kept_checkpoints as kept_checkpoints
    from alice.training.folder import saw_validation as saw_validation
    from alice.training.folder import training_differences as training_differences
    from alice.training.loss import Objective as Objective
    from alice.training.optimizer import Muon as Muon
    from alice.training.presets import PAPER_SIZES as PAPER_SIZES
    from alice.training.presets import PRESETS as PRESETS
    from alice.training.presets import model_config as model_config
    from alice.training.recipe import Recipe as Recipe
    from alice.training.recipe import rate_factor as rate_factor
    from alice.training.records import TrainingRecord as TrainingRecord
    from alice.training.records import read_trainings as read_trainings
    from alice.training.setup import train as train
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "folder": (
                "Training",
                "kept_checkpoints",
                "saw_validation",
                "training_differences",
            ),
            "loss": ("Objective",),
            "optimizer": ("Muon",),
            "presets": (
                "PAPER_SIZES",
                "PRESETS",
                "model_config",
            ),
            "recipe": (
                "Recipe",
                "rate_factor",
            ),
            "records": (
                "TrainingRecord",
                "read_trainings",
            ),
            "setup": ("train",),
        },
    )
