"""Small models with random weights, for tests: those of the shipped test kit, with torch's global generator seeded."""

from typing import Any

import torch

from alice.model import Alice
from alice.plugins.conformance import tiny_model


def tiny(variant: str, **changes: Any) -> Alice:
    """Return a tiny model, and leave torch's global generator in a known state."""
    torch.manual_seed(7)
    return tiny_model(variant, **changes)
