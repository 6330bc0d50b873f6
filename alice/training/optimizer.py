"""The optimizers: AdamW, or Muon for the matrices of the blocks, built from a recipe; their state as plain tensors.

Muon (Jordan et al. 2024) steps along the nearest orthogonal matrix, so that every direction moves equally far. The Muon
of PyTorch orthogonalises in bf16, which is very slow on a CPU without bf16 units. Ours works in the precision of the
weights and processes all matrices of one shape together.
"""

from collections import defaultdict
from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, nn

from alice.errors import AliceError
from alice.training.recipe import Recipe

COEFFICIENTS = (3.4445, -4.7750, 2.0315)
"""Coefficients of the quintic iteration; its authors chose them to raise small singular values fast, not to reach 1."""
ITERATIONS = 5
MOMENTUM = 0.95
ADAMW_RMS = 0.2
"""Typical root mean square of the entries of an AdamW step; Muon's steps are scaled to it."""
PIECES = {"qkv": 3, "out": 1, "gate_up": 2, "down": 1}
"""Weights of a block that Muon takes, by the last part of their names, and how many matrices each one stacks."""


QUANTITIES = ({"step", "exp_avg", "exp_avg_sq"}, {"momentum"})
"""What AdamW and Muon keep of each weight."""


def build(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Return AdamW, with Muon for the matrices of the blocks if the recipe sets `muon_lr`.

    Only matrices have weight decay, not norms, biases, embeddings and queries, unless the recipe decays all weights.
    Each group stores its `peak` rate.
    """
    groups: dict[tuple[bool, int], list[nn.Parameter]] = {}
    for name, weight in model.named_parameters():
        owner, _, kind = name.rpartition(".")
        is_matrix = kind == "weight" and isinstance(model.get_submodule(owner), nn.Linear)
        decayed = is_matrix or recipe.weight_decay_on == "all"
        pieces = PIECES.get(owner.rpartition(".")[2], 0) if recipe.muon_lr else 0
        groups.setdefault((decayed, pieces), []).append(weight)
    optimizer = (Muon if recipe.muon_lr else torch.optim.AdamW)(
        [_group(recipe, weights, decayed, pieces) for (decayed, pieces), weights in groups.items()],
        betas=(float(recipe.beta1), float(recipe.beta2)),  # JSON may have 0 for 0.0
        eps=recipe.eps,
        fused=True,
    )
    set_rate(optimizer, 1.0)
    return optimizer


def _group(recipe: Recipe, weights: list[nn.Parameter], decayed: bool, pieces: int) -> dict[str, Any]:
    decay = recipe.weight_decay if decayed else 0.0
    if not pieces:
        return {"params": weights, "weight_decay": decay, "peak": recipe.lr}
    return {"params": weights, "weight_decay": decay, "peak": recipe.muon_lr, "pieces": pieces}


def set_rate(optimizer: torch.optim.Optimizer, factor: float) -> None:
    """Set every learning rate to a fraction of its peak."""
    for group in optimizer.param_groups:
        group["lr"] = group["peak"] * factor


def state_tensors(optimizer: torch.optim.Optimizer, names: Mapping[Tensor, str]) -> dict[str, Tensor]:
    """Return the optimizer's state as tensors named `<weight>/<quantity>`."""
    return {
        f"{names[weight]}/{quantity}": torch.as_tensor(value)
        for weight, memory in optimizer.state.items()
        for quantity, value in memory.items()
    }


def load_state_tensors(
    optimizer: torch.optim.Optimizer, names: Mapping[Tensor, str], tensors: Mapping[str, Tensor]
) -> None:
    """Restore what `state_tensors` returned."""
    weights = {name: weight for weight, name in names.items()}
    for key, value in tensors.items():
        name, _, quantity = key.rpartition("/")
        if name not in weights:
            raise AliceError(
                f"the training state has an entry for {name!r}, which this model does not have; start a new training"
            )
        wanted = torch.zeros(()) if quantity == "step" else weights[name]
        if (value.shape, value.dtype) != (wanted.shape, wanted.dtype):
            raise ValueError(f"the optimizer state of {name} has another shape or type than it needs")
        # AdamW keeps its step counter on the CPU whatever the device of the weights, unless fused.
        optimizer.state[weights[name]][quantity] = value.to(weights[name].device)
    for weight, memory in optimizer.state.items():
        if set(memory) not in QUANTITIES:
            raise ValueError(f"the optimizer state of {names[weight]} is incomplete")


class Muon(torch.optim.AdamW):
    """AdamW, except for groups with a number of `pieces`, whose matrices take Muon's steps."""

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
        """Update the matrices of a group and remove their gradients, so that AdamW skips them."""
        alike: dict[torch.Size, list[tuple[Tensor, Tensor]]] = defaultdict(list)
        for weight in group["params"]:
            if weight.grad is not None:
                pieces = self._direction(weight, weight.grad).view(group["pieces"], -1, weight.shape[-1])
                alike[pieces.shape].append((weight, pieces))
                weight.grad = None
        for shape, moved in alike.items():
            steps = orthogonalised(torch.cat([pieces for _, pieces in moved])).split(group["pieces"])
            length = group["lr"] * ADAMW_RMS * max(shape[1:]) ** 0.5
            for (weight, _), step in zip(moved, steps, strict=True):
                weight.mul_(1 - group["lr"] * group["weight_decay"])
                weight.add_(step.reshape(weight.shape), alpha=-length)

    def _direction(self, weight: Tensor, gradient: Tensor) -> Tensor:
        """Return the gradient with Nesterov momentum."""
        memory = self.state[weight]
        if "momentum" not in memory:
            memory["momentum"] = torch.zeros_like(weight)
        memory["momentum"].lerp_(gradient, 1 - MOMENTUM)
        return gradient.lerp(memory["momentum"], MOMENTUM)


def orthogonalised(matrices: Tensor) -> Tensor:
    """Return matrices, (n, rows, columns), with all singular values moved to between about 0.7 and 1.2."""
    a, b, c = COEFFICIENTS
    tall = matrices.shape[-2] > matrices.shape[-1]
    wide = matrices.mT if tall else matrices
    wide = wide / wide.norm(dim=(-2, -1), keepdim=True).clamp(min=1e-7)
    for _ in range(ITERATIONS):
        gram = wide @ wide.mT
        wide = torch.baddbmm(wide, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), wide, beta=a)
    return wide.mT if tall else wide
