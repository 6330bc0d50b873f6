"""The parts of a network that write to the residual stream, and what replaces what they write."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from alice.errors import AliceError, nearest
from alice.model import Alice, ModelConfig
from alice.text import Batch, Pair

Replacement = Literal["zero", "mean", "resample"]
REPLACEMENTS: tuple[str, ...] = get_args(Replacement)
"""Nothing; the mean over texts and positions; what the part writes for the counterfactual text at the same position."""


@dataclass(frozen=True, order=True)
class Part:
    """An attention head, or the feed-forward layer of a block."""

    block: int
    """Number of its block, from 0."""
    head: int | None = None
    """Number of the head in the block, from 0; None for the feed-forward layer."""

    @property
    def label(self) -> str:
        """Its name as in TransformerLens: `L0H3` is head 3 of block 0, `L0 MLP` the feed-forward layer."""
        return f"L{self.block} MLP" if self.head is None else f"L{self.block}H{self.head}"

    @property
    def hook(self) -> str:
        """The hook at which its output can be replaced: a head's mixed values, or what the feed-forward layer adds."""
        return f"blocks.{self.block}.{'hook_mlp_out' if self.head is None else 'attn.hook_z'}"

    def taken(self, activation: Tensor) -> Tensor:
        """Return what belongs to this part of the activation at its hook: (batch, pos, d_head) or (..., d_model)."""
        return activation if self.head is None else activation[:, :, self.head]


def parts_of(config: ModelConfig) -> tuple[Part, ...]:
    """Return every head and feed-forward layer of the backbone, in the order of computation."""
    return tuple(
        part
        for block in range(config.n_layers)
        for part in (*(Part(block, head) for head in range(config.n_heads)), Part(block))
    )


@torch.no_grad()
def mean_activations(model: Alice, batches: Iterable[Batch], names: Sequence[str]) -> dict[str, Tensor]:
    """Return the mean of each activation over all positions of texts, such as (d_model,) or (head, d_head)."""
    sums: dict[str, Tensor] = {}
    count = 0
    for batch in batches:
        _, cache = model.run_with_cache(batch.cipher_ids, names_filter=frozenset(names).__contains__)
        count += int(batch.mask.sum())
        for name in names:
            total = cache[name][batch.mask].double().sum(0)
            sums[name] = sums[name] + total if name in sums else total
    if not count:
        raise AliceError("there is no text to take the mean activation of; check the corpus")
    return {name: (total / count).to(model.cfg.dtype) for name, total in sums.items()}


@dataclass(frozen=True, eq=False)
class Replacements:
    """What replaces the output of a part: nothing, means, or activations of another run."""

    kind: Replacement
    """Where the values come from."""
    values: Mapping[str, Tensor]
    """Values by hook, which broadcast to its activation; empty for `zero`."""

    @classmethod
    def of(
        cls, kind: str, model: Alice, pair: Pair, *, means: Mapping[str, Tensor], names: Sequence[str]
    ) -> "Replacements":
        """Return the replacements of one kind for the texts of a pair, at the hooks `names`."""
        if kind == "zero":
            return cls("zero", {})
        if kind == "mean":
            return cls("mean", {name: means[name] for name in names})
        if kind == "resample":
            with torch.no_grad():
                _, cache = model.run_with_cache(pair.corrupted.cipher_ids, names_filter=frozenset(names).__contains__)
            return cls("resample", {name: cache[name] for name in names})
        known = f"; choose one of {', '.join(REPLACEMENTS)}"
        raise AliceError(f"there is no replacement {kind!r:.60}{nearest(kind, REPLACEMENTS) or known}")

    def hooks(self, parts: Iterable[Part]) -> list[tuple[str, Callable[..., Tensor]]]:
        """Return the hooks that replace what these parts write, for `model.hooks(fwd_hooks=...)`."""
        by_hook: dict[str, list[Part]] = {}
        for part in parts:
            by_hook.setdefault(part.hook, []).append(part)
        return [(name, self._replace(name, there)) for name, there in by_hook.items()]

    def _replace(self, name: str, parts: list[Part]) -> Callable[..., Tensor]:
        def replace_output(activation: Tensor, hook: Any) -> Tensor:
            changed = activation.clone()
            given = self.values.get(name)
            value = torch.zeros_like(activation) if given is None else given.expand_as(activation)
            for part in parts:
                part.taken(changed).copy_(part.taken(value))
            return changed

        return replace_output
