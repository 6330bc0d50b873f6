"""Checkpoint folders: finding, reading, writing and exporting them, and importing checkpoints of the authors' code.

A checkpoint is a folder with `config.json` and `model.safetensors`; the bundled ones are in `alice/bundled/`.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.checkpoint.folder import CARD as CARD
    from alice.checkpoint.folder import METRICS as METRICS
    from alice.checkpoint.folder import TRAINING as TRAINING
    from alice.checkpoint.folder import WEIGHTS as WEIGHTS
    from alice.checkpoint.folder import bundled as bundled
    from alice.checkpoint.folder import read_config as read_config
    from alice.checkpoint.folder import resolve as resolve
    from alice.checkpoint.folder import write_weights as write_weights
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "folder": (
                "CARD",
                "METRICS",
                "TRAINING",
                "WEIGHTS",
                "bundled",
                "read_config",
                "resolve",
                "write_weights",
            ),
        },
    )
