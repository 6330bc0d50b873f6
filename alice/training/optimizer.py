"""Optimizers by recipe, and their state as plain tensors under the names of the weights."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from alice.errors import AliceError
from alice.training.muon import Muon
from alice.training.recipe import Recipe

PIECES = {"qkv": 3, "out": 1, "gate_up": 2, "down": 1}
"""Matrices of a block, by the last part of their names, and how many each is made of."""


def build(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Return AdamW, with Muon for the matrices of the blocks if the recipe gives it a rate.

    Weight decay is for matrices alone: norms, biases, embeddings and queries are spared. A group knows its `peak` rate.
    """
    groups: dict[tuple[bool, int], list[nn.Parameter]] = {}
    for name, weight in model.named_parameters():
        owner, _, kind = name.rpartition(".")
        decayed = kind == "weight" and isinstance(model.get_submodule(owner), nn.Linear)
        pieces = PIECES.get(owner.rpartition(".")[2], 0) if recipe.muon_lr else 0
        groups.setdefault((decayed, pieces), []).append(weight)
    optimizer = (Muon if recipe.muon_lr else torch.optim.AdamW)(
        [_group(recipe, weights, decayed, pieces) for (decayed, pieces), weights in groups.items()],
        betas=(recipe.beta1, recipe.beta2),
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
    """Set every learning rate to a share of its peak."""
    for group in optimizer.param_groups:
        group["lr"] = group["peak"] * factor


def state_tensors(optimizer: torch.optim.Optimizer, names: Mapping[Tensor, str]) -> dict[str, Tensor]:
    """Return what the optimizer remembers as `<weight>/<quantity>` tensors."""
    return {
        f"{names[weight]}/{quantity}": torch.as_tensor(value)
        for weight, memory in optimizer.state.items()
        for quantity, value in memory.items()
    }


def load_state_tensors(
    optimizer: torch.optim.Optimizer, names: Mapping[Tensor, str], tensors: Mapping[str, Tensor]
) -> None:
    """Put back what `state_tensors` returned."""
    weights = {name: weight for weight, name in names.items()}
    for key, value in tensors.items():
        name, _, quantity = key.rpartition("/")
        if name not in weights:
            raise AliceError(f"the training state has an entry for {name!r}, which this model lacks; start a new run")
        # AdamW keeps its step counter on the CPU whatever the device of the weights, unless fused.
        optimizer.state[weights[name]][quantity] = value.to(weights[name].device)
