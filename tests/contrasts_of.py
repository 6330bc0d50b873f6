"""Contrasts of tiny models, for the tests of this folder."""

from dataclasses import replace

import torch

from alice.model import Alice
from alice.plugins import RunContext
from alice.plugins.builtin.circuit.contrasts import Contrasts
from alice.plugins.builtin.circuit.nodes import Contrast

TEXTS = [
    "THE CAT SAW A DOG AND A HEN",
    "NO DOG SAW THE CAT OR BEE",
    "A BEE SAW THAT THE DOG SAT.",
    "IT SAT WITH A CAT OR HEN.",
]


def contrast_of(model: Alice, replacement: str = "resample") -> Contrast:
    """Return the contrast of two texts of different lengths in one batch."""
    ctx = RunContext.open(model, data=TEXTS)
    (contrast,) = Contrasts(ctx, counterfactual="other-text", replacement=replacement, testing=False)
    assert contrast is not None
    assert sorted(contrast.batch.mask.sum(1).tolist()) == [25, 27]
    return contrast


def with_linear_score(contrast: Contrast) -> Contrast:
    """Return a contrast whose score is a linear function of the final stream."""
    direction = torch.randn(contrast.clean.shape[2:], generator=torch.Generator().manual_seed(0)).to(contrast.clean)
    mask = contrast.batch.mask.unsqueeze(-1)

    def score(resid: torch.Tensor) -> torch.Tensor:
        return (resid * direction * mask.repeat(len(resid) // len(mask), 1, 1)).sum((1, 2))

    return replace(contrast, score=score)
