"""Contrasts of tiny models, for the tests of this folder."""

from dataclasses import replace

import torch

from alice.model import Alice
from alice.plugins.builtin.circuit.contrasts import Contrasts
from alice.plugins.builtin.circuit.nodes import Contrast
from alice.plugins.conformance import tiny_context


def contrast_of(model: Alice, replacement: str = "resample") -> Contrast:
    """Return the contrast of two texts of different lengths in one batch."""
    contrasts = Contrasts(
        tiny_context(model, texts=6), counterfactual="other-text", replacement=replacement, testing=False
    )
    found = [contrasts[number] for number in range(len(contrasts))]
    return max((contrast for contrast in found if contrast is not None), key=lambda contrast: len(contrast.ids))


def with_linear_score(contrast: Contrast) -> Contrast:
    """Return a contrast whose score is a linear function of the final stream."""
    direction = torch.randn(contrast.clean.shape[2:], generator=torch.Generator().manual_seed(0)).to(contrast.clean)
    mask = contrast.batch.mask.unsqueeze(-1)

    def score(resid: torch.Tensor) -> torch.Tensor:
        return (resid * direction * mask.repeat(len(resid) // len(mask), 1, 1)).sum((1, 2))

    return replace(contrast, score=score)
