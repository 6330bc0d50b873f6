"""Muon (Jordan et al. 2024): a step along the nearest orthogonal matrix, so that every direction moves equally far.

PyTorch has one, which orthogonalises in bf16: very slow on a CPU without bf16 units. This one works in the precision of
the weights and takes all matrices of one shape together. It is for the matrices of the blocks; whatever else a model
has stays with AdamW, which this class is too.
"""

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Of the quintic iteration; chosen by its authors to lift small singular values fast, not to end exactly at one."""
ITERATIONS = 5
MOMENTUM = 0.95
LIKE_ADAMW = 0.2
"""Root mean square of an entry of AdamW's step, measured by others; matched, so that one size of rate fits both."""


def orthogonalised(matrices: Tensor) -> Tensor:
    """Return matrices, (n, rows, columns), with all their singular values between about 0.7 and 1.2."""
    a, b, c = COEFFICIENTS
    tall = matrices.shape[-2] > matrices.shape[-1]
    wide = matrices.mT if tall else matrices
    wide = wide / wide.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram = wide @ wide.mT
        wide = torch.baddbmm(wide, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide.mT if tall else wide


class Muon(torch.optim.AdamW):
    """AdamW, except for groups that say of how many `pieces` their matrices consist: those take Muon's steps."""

    @torch.no_grad()
    def step(self, closure: Callable[[], Any] | None = None) -> Any:
        """Take one step."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if "pieces" in group:
                self._step_matrices(group)
        super().step()
        return loss

    def _step_matrices(self, group: dict[str, Any]) -> None:
        """Move the matrices of a group, and take their gradients away, so that AdamW leaves them alone."""
        alike: dict[torch.Size, list[tuple[Tensor, Tensor]]] = defaultdict(list)
        for weight in group["params"]:
            if weight.grad is not None:
                pieces = self._direction(weight, weight.grad).view(group["pieces"], -1, weight.shape[-1])
                alike[pieces.shape].append((weight, pieces))
                weight.grad = None
        for shape, moved in alike.items():
            steps = orthogonalised(torch.cat([pieces for _, pieces in moved])).split(group["pieces"])
            length = group["lr"] * LIKE_ADAMW * max(shape[1:]) ** 0.5
            for (weight, _), step in zip(moved, steps, strict=True):
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.add_(step.reshape(weight.shape), alpha=-length)

    def _direction(self, weight: Tensor, gradient: Tensor) -> Tensor:
        """Return the gradient with Nesterov's momentum."""
        memory = self.state[weight]
        if "momentum" not in memory:
            memory["momentum"] = torch.zeros_like(weight)
        memory["momentum"].lerp_(gradient, 1 - MOMENTUM)
        return gradient.lerp(memory["momentum"], MOMENTUM)
