"""Models whose every answer is known, and keys that map every letter to itself."""

import numpy as np
import pytest
import torch
from tiny import tiny

from alice.model import Alice


def leave_letters_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make every key the identity, so that cipher and plain letters are the same."""
    monkeypatch.setattr(
        "alice.text.batches.random_keys", lambda count, rng: np.tile(np.arange(26, dtype=np.uint8), (count, 1))
    )


def reader(variant: str = "base", n_layers: int = 2, **reads: str) -> Alice:
    """Return a model that reads every cipher symbol as itself except those given: `reader(B="A")` reads B as A.

    Its blocks add nothing, each symbol's embedding is a direction of its own, and the head reads that direction.
    """
    model = tiny(variant, d_model=64, n_layers=n_layers)
    table = torch.eye(37, 64)
    ids = {name: (model.to_single_token(name), model.to_single_token(read)) for name, read in reads.items()}
    for own, read in ids.values():
        table[:, own] = torch.eye(37)[read]
    with torch.no_grad():
        for weight in model.blocks.parameters():
            weight.zero_()
        model.embed.weight.copy_(torch.eye(37, 64))
        model.head.unembed.weight.copy_(table)
        model.head.unembed.bias.zero_()
        if variant == "bijective":
            model.head.query.zero_()
    return model
