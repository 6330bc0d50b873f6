"""Training of sparse autoencoders (BatchTopK, Bussmann et al. 2024), those of all layers in the same steps.

In a batch of characters the `active` largest activations per character are kept, wherever in the batch they are. All
others are 0, so the backward pass touches only what is kept; the dense product that finds them is most of the work.
Features that have been silent for long learn from what the others leave unexplained.

Without any feature, the reconstruction is the mean. It is not learnt: a learnt one moves to the most frequent
character, the space, which then needs no feature, and that of every other character is its difference from a space.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.functional import embedding_bag

from alice.errors import AliceError
from alice.plugins.builtin.features.autoencoders import Autoencoders
from alice.plugins.context import RunContext

BATCH = 1024
"""Characters per step."""
GROUP = 8
"""Batches of texts that are mixed, since a batch holds texts of one length."""
LEARNING_RATE, WARM_UP, DECAY = 5e-3, 0.05, 0.3
"""Peak rate of Adam, and the shares of the training in which it rises to it and falls to 0."""
SILENT = 10_000
"""Characters after which a feature that was not active counts as dead during training."""
REVIVED, REVIVAL_SHARE, REVIVAL_WEIGHT = 32, 8, 1 / 32
"""Dead features per character that explain the rest, in one of eight characters, and the weight of this loss."""
SMALLEST = np.float32(1e-12)
"""An activation below this is 0."""
MEMORY = 0.99
"""Largest share of the running threshold that a step keeps; a short training keeps less."""


@dataclass(frozen=True)
class Size:
    """Size of the autoencoders."""

    features: int
    """Features of each layer."""
    active: int
    """Mean number of features that are active at a character."""


@dataclass(frozen=True, eq=False)
class Scaling:
    """What makes the streams of all layers alike: mean 0, and a mean square length of 1."""

    mean: Tensor
    """(layer, 1, d_model)."""
    size: Tensor
    """Root mean square length of the centred stream, (layer, 1, 1)."""

    @classmethod
    def of(cls, streams: Tensor) -> Self:
        """Measure it on streams, (layer, character, d_model)."""
        mean = streams.mean(1, keepdim=True)
        size = (streams - mean).square().sum(2, keepdim=True).mean(1, keepdim=True).sqrt()
        return cls(mean, torch.where(size > 0, size, 1.0))

    def scaled(self, streams: Tensor) -> Tensor:
        """Return streams with mean 0 and a mean square length of 1."""
        return (streams - self.mean) / self.size


def train(ctx: RunContext, size: Size, *, seeds: int, rng: np.random.Generator) -> list[Autoencoders]:
    """Train autoencoders on the streams of all texts of a context, once for each seed, from the same characters."""
    generators = [torch.Generator().manual_seed(int(seed)) for seed in rng.integers(2**31, size=seeds)]
    learners: list[Learner] = []
    scaling: Scaling | None = None
    whole, read = sum(map(len, ctx.plaintexts)), 0
    for group in ctx.progress(shuffled(ctx, rng), "Training autoencoders", total=-(-len(ctx.batches) // GROUP)):
        if scaling is None:
            scaling = Scaling.of(group)
            memory = min(MEMORY, max(0.0, 1 - 4 * BATCH / whole))  # about the last quarter of a short training
            learners = [Learner(len(group), group.shape[2], size, one, memory=memory) for one in generators]
        for streams in group.split(BATCH, 1):
            scaled, rate = scaling.scaled(streams), learning_rate(read / whole)
            read += streams.shape[1]
            for learner in learners:
                learner.step(scaled, rate)
    if scaling is None:
        raise AliceError("there are no texts to train features on; use a larger corpus")
    return [learner.finished(scaling) for learner in learners]


def shuffled(ctx: RunContext, rng: np.random.Generator) -> Iterator[Tensor]:
    """Yield the streams of all characters in random order, (layer, character, d_model), some batches at a time."""
    stored = ctx.activations("hook_embed", "blocks.*.hook_resid_post")
    order = rng.permutation(len(stored))
    for start in range(0, len(order), GROUP):
        parts = []
        for number in order[start : start + GROUP]:
            batch, cache = stored[int(number)]
            parts.append(torch.stack([cache[name][batch.mask] for name in stored.names]).float().cpu())
        streams = torch.cat(parts, 1)
        yield streams[:, torch.from_numpy(rng.permutation(streams.shape[1]))]


def learning_rate(progress: float) -> float:
    """Return the learning rate after a share of the training."""
    return LEARNING_RATE * min(1.0, (progress + 1e-3) / WARM_UP, (1 - progress) / DECAY)


class Learner:
    """The autoencoders of one seed in training, on scaled streams."""

    def __init__(
        self, layers: int, width: int, size: Size, generator: torch.Generator, *, memory: float = MEMORY
    ) -> None:
        directions = torch.randn(layers, size.features, width, generator=generator)
        self.active, self.memory = size.active, memory
        self.decoder = (directions / directions.norm(dim=-1, keepdim=True)).requires_grad_()
        self.encoder = self.decoder.detach().clone().requires_grad_()
        self.encoder_bias = torch.zeros(layers, size.features, requires_grad=True)
        self.threshold = torch.zeros(layers)
        """Smallest activation that was kept, averaged over recent steps, (layer,)."""
        self.silent = torch.zeros(layers, size.features, dtype=torch.int64)
        """Characters since each feature was active, (layer, feature)."""
        self.optimizer = torch.optim.Adam([self.decoder, self.encoder, self.encoder_bias], fused=True)

    def step(self, streams: Tensor, rate: float) -> float:
        """Learn from scaled streams, (layer, character, d_model), and return the share of variance left unexplained."""
        self.optimizer.zero_grad()
        with torch.no_grad():
            found = torch.bmm(streams, self.encoder.mT).add_(self.encoder_bias[:, None])
            kept = Kept.of(found, self.active)
        rest = self._learn(streams, kept)
        self._observe(kept, streams.shape[1])
        self._revive(streams[:, ::REVIVAL_SHARE], rest[:, ::REVIVAL_SHARE])
        self.optimizer.param_groups[0]["lr"] = rate
        self.optimizer.step()
        with torch.no_grad():
            self.decoder /= self.decoder.norm(dim=-1, keepdim=True)
        return float(rest.square().sum(-1).mean())

    def _learn(self, streams: Tensor, kept: "Kept") -> Tensor:
        """Add the gradients of the squared error; return what stays unexplained, (layer, character, d_model)."""
        values = kept.values.clone().requires_grad_()
        rest = streams - kept.decoded(self.decoder, values).view_as(streams)
        loss = rest.square().sum(-1).mean(1).sum()
        by_value, self.decoder.grad = torch.autograd.grad(loss, [values, self.decoder])
        with torch.no_grad():  # through the activations that were kept, to the weights that computed them
            self.encoder.grad = kept.gathered(by_value, streams)
            self.encoder_bias.grad = (
                torch.bincount(kept.features, weights=by_value, minlength=self.encoder_bias.numel())
                .view_as(self.encoder_bias)
                .float()
            )
        return rest.detach()

    def _observe(self, kept: "Kept", characters: int) -> None:
        """Update the threshold and the age of silent features."""
        first = self.threshold == 0
        latest = self.memory * self.threshold + (1 - self.memory) * kept.smallest
        self.threshold = torch.where(first, kept.smallest, latest)
        self.silent += characters
        self.silent.view(-1)[kept.features] = 0

    def _revive(self, streams: Tensor, rest: Tensor) -> None:
        """Add the gradients with which dead features learn to explain what is left, on a few characters."""
        dead = self.silent > SILENT
        if not dead.any():
            return
        found = torch.baddbmm(self.encoder_bias[:, None], streams, self.encoder.mT)
        found = torch.where(dead[:, None], found, -torch.inf)
        values, places = found.topk(min(REVIVED, found.shape[-1]), dim=-1)
        values = torch.where(values.isfinite(), values, 0.0).relu()
        answer = torch.zeros_like(found).scatter(-1, places, values) @ self.decoder
        loss = REVIVAL_WEIGHT * (rest - answer).square().sum(-1).mean(1).sum()
        loss.backward()

    def finished(self, scaling: Scaling) -> Autoencoders:
        """Return the autoencoders that read streams as they are, with the scaling folded into their weights."""
        with torch.no_grad():
            size, mean = scaling.size[:, 0], scaling.mean[:, 0]  # (layer, 1), (layer, d_model)
            return Autoencoders(
                mean=mean.clone(),
                encoder=self.encoder.detach().clone(),
                encoder_bias=size * self.encoder_bias - torch.einsum("lfd,ld->lf", self.encoder, mean),
                decoder=self.decoder.detach().clone(),
                threshold=size[:, 0] * self.threshold,
            )


@dataclass(frozen=True, eq=False)
class Kept:
    """The largest activations of a batch, in the order of their characters."""

    shape: tuple[int, int, int]
    """Layers, characters and features of the batch."""
    features: Tensor
    """Number of the feature, counted through all layers, (kept,)."""
    characters: Tensor
    """Number of the character, counted through all layers, (kept,)."""
    values: Tensor
    """Activation, (kept,)."""
    smallest: Tensor
    """Smallest activation that is kept in each layer, (layer,)."""

    @classmethod
    def of(cls, found: Tensor, active: int) -> Self:
        """Keep `active` activations per character of all that were found, (layer, character, feature)."""
        layers, characters, features = found.shape
        flat: NDArray[np.float32] = found.view(layers, -1).numpy()
        last = max(0, flat.shape[1] - active * characters)
        smallest = np.maximum(np.partition(flat, last, axis=1)[:, last], SMALLEST)
        places = np.flatnonzero(flat >= smallest[:, None])
        character, feature = np.divmod(places, features)  # characters are counted through all layers
        feature += character // characters * features
        arrays = (feature, character, flat.ravel()[places], smallest)
        return cls((layers, characters, features), *map(torch.from_numpy, arrays))

    def decoded(self, directions: Tensor, values: Tensor) -> Tensor:
        """Return the sum of directions, (layer, feature, d_model), at each character, (layer * character, d_model)."""
        layers, characters, _ = self.shape
        return _summed(directions.flatten(0, 1), self.features, self.characters, values, layers * characters)

    def gathered(self, values: Tensor, streams: Tensor) -> Tensor:
        """Return the sum of streams, (layer, character, d_model), by feature, (layer, feature, d_model)."""
        layers, _, features = self.shape
        order = torch.argsort(self.features, stable=True)
        total = _summed(
            streams.flatten(0, 1), self.characters[order], self.features[order], values[order], layers * features
        )
        return total.view(layers, features, -1)


def _summed(rows: Tensor, numbers: Tensor, into: Tensor, weights: Tensor, count: int) -> Tensor:
    """Return the weighted sum of the rows with these numbers in each of `count` sums, (count, d); `into` is sorted."""
    starts = torch.searchsorted(into, torch.arange(count))
    return embedding_bag(numbers, rows, starts, mode="sum", per_sample_weights=weights)
