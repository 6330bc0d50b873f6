"""Whether the decoys of a planted model make no difference, shown from its weights and by intervention."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from alice.causal import Part, parts_of
from alice.model import Alice
from alice.planted.truth import Planted
from alice.text import Batch


def readers_of(model: Alice, head: str) -> tuple[str, ...]:
    """Return the inputs, such as `L1H0 v`, `L1 MLP` or `output`, whose weights do not vanish on what a head writes.

    What a head writes to none of them cannot change an answer, except through the scale of a norm.
    """
    part = _part(model, head)
    block: Any = model.blocks[part.block]
    written: Tensor = block.attn.W_O[part.head]  # (d_head, d_model)
    found = [f"L{part.block} MLP"] * _reads(block.ln2, block.mlp.gate_up.weight, written)
    for number in range(part.block + 1, model.config.n_layers):
        block = model.blocks[number]
        weights = {"q": block.attn.W_Q, "k": block.attn.W_K, "v": block.attn.W_V}
        found += [
            f"L{number}H{there} {name}"
            for there in range(model.config.n_heads)
            for name, weight in weights.items()
            if _reads(block.ln1, weight[there].T, written)
        ]
        found += [f"L{number} MLP"] * _reads(block.ln2, block.mlp.gate_up.weight, written)
    return (*found, *["output"] * _reads(model.ln_final, model.head.unembed.weight, written))


def _reads(norm: Any, weight: Tensor, written: Tensor) -> bool:
    """Return whether weights, (out, d_model), read any of the directions written, (d_head, d_model), after a norm."""
    return bool(((written * norm.w) @ weight.T).any())


@torch.no_grad()
def change_without_decoys(planted: Planted, batch: Batch, *, seed: int = 0) -> float:
    """Return the largest change of a score if the heads that are decoys get random numbers as their values.

    The numbers are standard normal. The scores of a bijective head are those of the soft permutation.
    """
    model, generator = planted.model, torch.Generator().manual_seed(seed)
    heads = [_part(model, decoy.name) for decoy in planted.truth.decoys if decoy.kind != "unused"]

    def randomise(part: Part) -> tuple[str, Callable[..., Tensor]]:
        def random_values(z: Tensor, hook: Any) -> Tensor:
            changed = z.clone()
            taken = part.taken(changed)
            taken.copy_(torch.randn(taken.shape, generator=generator))
            return changed

        return part.hook, random_values

    ids = batch.cipher_ids.to(model.cfg.device)
    clean = model(ids, soft=True)
    with model.hooks(fwd_hooks=[randomise(part) for part in heads]):
        changed = model(ids, soft=True)
    return float((changed - clean).abs().max())


def _part(model: Alice, label: str) -> Part:
    """Return the head of a label such as `L0H1`."""
    return next(part for part in parts_of(model.config) if part.label == label)
