"""How many operations reading and training take: those of the blocks' matrix products, two for each multiply-add.

The embedding, the pooling and the head are left out: together they are about one in a hundred.
"""

from alice.model.config import ModelConfig

FORWARD_AND_BACKWARD = 3
"""Each product of the forward pass has two of its size in the backward pass."""


def forward_flops(config: ModelConfig, characters: float, pairs: float) -> float:
    """Return the operations of reading so many characters.

    Args:
        config: the model.
        characters: characters read, padding not counted.
        pairs: characters that attend times those they attend to: the sum over all texts of the squared length.

    """
    linear = 2 * config.block_weights * characters
    attention = 2 * 2 * config.d_model * config.n_blocks * pairs  # the scores, and the mixing of the values
    return linear + attention


def training_flops(config: ModelConfig, characters: float, pairs: float) -> float:
    """Return the operations of a training on so many characters; the arguments are those of `forward_flops`."""
    return FORWARD_AND_BACKWARD * forward_flops(config, characters, pairs)
