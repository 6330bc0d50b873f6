"""Floating-point operations of a forward pass and of training: the blocks' matrix products, two per multiply-add.

Embedding, pooling and head are left out; together they are about 1 %.
"""

from alice.model.config import ModelConfig

FORWARD_AND_BACKWARD = 3
"""Each matrix product of the forward pass takes two of the same size in the backward pass."""


def forward_flops(config: ModelConfig, characters: float, pairs: float) -> float:
    """Return the operations of a forward pass.

    Args:
        config: the model.
        characters: characters read, padding not counted.
        pairs: pairs of attending positions: the sum of the squared lengths of all texts.

    """
    linear = 2 * config.block_weights * characters
    attention = 2 * 2 * config.d_model * config.n_blocks * pairs  # the scores, and the mixing of the values
    return linear + attention


def training_flops(config: ModelConfig, characters: float, pairs: float) -> float:
    """Return the operations of forward and backward passes; the arguments are those of `forward_flops`."""
    return FORWARD_AND_BACKWARD * forward_flops(config, characters, pairs)
