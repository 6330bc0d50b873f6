"""Optimizers by recipe, and their state as plain tensors under the names of the weights."""

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from alice.errors import AliceError
from alice.recipe import Recipe


def build(model: nn.Module, recipe: Recipe) -> torch.optim.Optimizer:
    """Return AdamW with weight decay on the matrices alone: norms, biases, embeddings and queries are spared."""
    matrices = {id(module.weight) for module in model.modules() if isinstance(module, nn.Linear)}
    decayed = [weight for weight in model.parameters() if id(weight) in matrices]
    spared = [weight for weight in model.parameters() if id(weight) not in matrices]
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": spared, "weight_decay": 0.0}]
    return torch.optim.AdamW(groups, lr=recipe.lr, betas=(recipe.beta1, recipe.beta2), eps=recipe.eps, fused=True)


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
