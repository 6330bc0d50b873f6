"""The network: ALICE with its layers, heads and hooks, its configuration, and the TransformerLens surface.

Blocks are numbered from 0 as in TransformerLens (`blocks.0`); layers count residual streams: layer 0 is the embedding,
layer N the stream after `blocks.N-1`.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.model.activations import Activations as Activations
    from alice.model.activations import run_batch as run_batch
    from alice.model.config import ModelConfig as ModelConfig
    from alice.model.model import Alice as Alice

__getattr__ = lazy_exports(
    __name__,
    {
        "Alice": "model",
        "ModelConfig": "config",
        "Activations": "activations",
        "run_batch": "activations",
    },
)
