"""Small models with random weights, for tests."""

import torch

from alice.model import Alice
from alice.model.config import ModelConfig

TINY = {
    "d_model": 16,
    "n_layers": 2,
    "n_heads": 2,
    "d_mlp": 24,
    "hyper_layers": 1,
    "hyper_heads": 2,
    "n_ctx": 320,
    "init_std": 0.3,
}


def tiny(variant: str, **changes: object) -> Alice:
    """Return a small model with large random weights, so that nothing it says is a tie."""
    torch.manual_seed(7)
    fields = {**TINY, "variant": variant, "cross_heads": 2, "cross_skip": True, **changes}
    return Alice(ModelConfig(**fields)).eval()  # type: ignore[arg-type]
