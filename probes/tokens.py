"""Tokens of some texts with their labels, read from stored activations one shard at a time.

Training and test sets are split by text, never within a text.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformer_lens import ActivationCache

from alice.errors import AliceError
from alice.probes.linear import Pair
from alice.probes.tasks import Task
from alice.text import Batch

Texts = NDArray[np.bool_]
"""Mask of the chosen texts by number, (text,)."""


class Shards(Protocol):
    """Pairs (batch, activations) by number, such as `ctx.store` returns."""

    def __len__(self) -> int: ...

    def __getitem__(self, number: int) -> tuple[Batch, ActivationCache]: ...


def split_texts(count: int, rng: np.random.Generator, *, held_out: float = 0.25) -> tuple[Texts, Texts]:
    """Split texts at random into masks of training and held-out texts, with at least one text each."""
    if count < 2:
        raise AliceError(f"probes need at least 2 texts, for training and for testing, not {count}; give more")
    held = np.zeros(count, dtype=bool)
    held[rng.permutation(count)[: min(count - 1, max(1, round(held_out * count)))]] = True
    return ~held, held


@dataclass(frozen=True, eq=False)
class Splits:
    """Several splits of the same texts, whose held-out texts do not overlap."""

    held: tuple[Texts, ...]
    """Held-out texts of each split; the others are for training."""
    tuning: Texts
    """Texts that no split holds out, from which options of probes may be chosen."""

    @classmethod
    def draw(cls, count: int, repeats: int, rng: np.random.Generator, *, held_out: float = 0.25) -> Self:
        """Split texts at random so often, each time holding out a share of `held_out`, or less for many splits."""
        if count < 2 * (repeats + 1):
            raise AliceError(
                f"{repeats} splits of the texts need at least {2 * (repeats + 1)} texts, not {count}; "
                "give more texts or fewer repeats"
            )
        size = max(1, round(min(held_out, 1 / (repeats + 1)) * count))
        order = rng.permutation(count)
        masks = np.zeros((repeats + 1, count), dtype=bool)
        for number in range(repeats):
            masks[number, order[number * size : (number + 1) * size]] = True
        masks[-1] = ~masks.any(0)
        return cls(tuple(masks[:-1]), masks[-1])


@dataclass(frozen=True, eq=False)
class TokenPairs(Sequence[Pair]):
    """Pairs (X, y) of the chosen texts for `LayerProbes.fit`; `pairs[i]` is loaded on access."""

    shards: Shards
    """The stored activations."""
    names: Sequence[str]
    """Hooks of the layers, in order."""
    tasks: Sequence[Task]
    """The targets; y is (task, token)."""
    texts: Texts
    """The chosen texts."""
    every: int = 1
    """Take only every so-many-th character of a text, which is quicker."""

    def __len__(self) -> int:
        return len(self.shards)

    def __getitem__(self, number: int) -> Pair:  # type: ignore[override]  # no slices
        batch, cache = self.shards[number]
        tokens = chosen(batch, self.texts)
        if self.every > 1:
            width = batch.cipher_ids.shape[1]
            tokens = tokens[(tokens % width + batch.index[tokens // width]) % self.every == 0]
        return stacked(cache, self.names, tokens), labels_of(batch, self.tasks, tokens)


def chosen(batch: Batch, texts: Texts) -> Tensor:
    """Return the positions of the characters of the chosen texts in the flattened batch, (token,)."""
    wanted = torch.from_numpy(texts).to(batch.index.device)[batch.index]
    return (batch.mask & wanted[:, None]).flatten().nonzero()[:, 0]


def stacked(cache: ActivationCache, names: Iterable[str], tokens: Tensor) -> Tensor:
    """Return the activations of some tokens at every layer, (layer, token, d)."""
    return torch.stack([cache[name].flatten(0, 1).index_select(0, tokens) for name in names])


def labels_of(batch: Batch, tasks: Iterable[Task], tokens: Tensor) -> Tensor:
    """Return the labels of some tokens, (task, token)."""
    return torch.stack([task.labels(batch).flatten()[tokens] for task in tasks])
