"""The network: ALICE with its configuration, layers, heads and hooks, and the TransformerLens surface.

What a model computes belongs here; how it is stored is in `alice.checkpoint`, how it is trained in `alice.training`.

**Blocks and layers.** Blocks are numbered from 0, as in TransformerLens: `blocks.0` is the first. A layer is a residual
stream: layer 0 is the embedding, layer N the stream after `blocks.N-1`. A model of `n_layers` blocks therefore has the
layers 0 to `n_layers`, and head 2 of block 0 (`L0H2`) writes to layer 1.
"""

from typing import TYPE_CHECKING

from alice.lazy import lazy_exports

if TYPE_CHECKING:
    from alice.model.activations import Activations as Activations
    from alice.model.activations import run_batch as run_batch
    from alice.model.config import VARIANTS as VARIANTS
    from alice.model.config import ModelConfig as ModelConfig
    from alice.model.config import Variant as Variant
    from alice.model.device import choose_device as choose_device
    from alice.model.device import default_device as default_device
    from alice.model.exits import AffineLens as AffineLens
    from alice.model.exits import Lens as Lens
    from alice.model.exits import PlainExit as PlainExit
    from alice.model.flops import forward_flops as forward_flops
    from alice.model.flops import training_flops as training_flops
    from alice.model.heads import BijectiveHead as BijectiveHead
    from alice.model.layers import Block as Block
    from alice.model.layers import rotary_table as rotary_table
    from alice.model.model import Alice as Alice
else:
    __getattr__ = lazy_exports(
        __name__,
        {
            "activations": (
                "Activations",
                "run_batch",
            ),
            "config": (
                "ModelConfig",
                "VARIANTS",
                "Variant",
            ),
            "device": (
                "choose_device",
                "default_device",
            ),
            "exits": (
                "AffineLens",
                "Lens",
                "PlainExit",
            ),
            "flops": (
                "forward_flops",
                "training_flops",
            ),
            "heads": ("BijectiveHead",),
            "layers": (
                "Block",
                "rotary_table",
            ),
            "model": ("Alice",),
        },
    )
