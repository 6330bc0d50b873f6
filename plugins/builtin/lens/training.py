"""Training of the tuned lens: affine translators of all layers together, one forward pass of the model per batch.

Translators start as the identity and are pulled towards it by weight decay. Muon trains the matrices: in a trial of
the same length its KL on `base` was a little lower than AdamW's.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor

from alice.model import AffineLens, Alice
from alice.plugins.builtin.lens.distributions import divergence, log_tables, occurrences
from alice.plugins.builtin.traces import EXITS
from alice.plugins.context import RunContext
from alice.statistics import Floats
from alice.text import Batch
from alice.training import Muon, rate_factor

LEARNING_RATE = 0.01
WEIGHT_DECAY = 0.01
"""Pull of the matrices towards the identity."""
STEPS_PER_BATCH = 4
"""A forward pass of the model costs more than a step of the lens, so the texts of a batch make several steps."""
SNAPSHOT = 0.5
"""Share of the training after which the translators are kept, to see what the rest still gained."""


@dataclass(frozen=True, eq=False)
class Trained:
    """Translators of a model's layers and how their training went."""

    names: tuple[str, ...]
    """Hooks of the layers, the embedding first."""
    matrices: Tensor
    """(layer, d_model, d_model), without the last layer, whose translator is the identity."""
    vectors: Tensor
    """(layer, d_model), without the last layer."""
    snapshot: tuple[Tensor, Tensor]
    """Matrices and vectors at half of the training."""
    means: Tensor
    """Mean of the stream over the characters of the training texts, (layer + 1, d_model), with the last layer."""
    losses: Floats
    """KL of the texts of each step before the step, in bits, (step, layer)."""
    texts: int
    """Number of training texts."""

    @property
    def shifts(self) -> Tensor:
        """Vectors of the mean-shift lens: from the mean of each layer to that of the last, (layer + 1, d_model)."""
        return self.means[-1] - self.means

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The translators as an artefact that `AffineLens` takes."""
        return _tensors(self.names, self.matrices, self.vectors)

    def tuned(self, model: Alice) -> AffineLens:
        """Return the tuned lens."""
        return AffineLens(model, self.tensors)

    def earlier(self, model: Alice) -> AffineLens:
        """Return the tuned lens as it was at half of its training."""
        return AffineLens(model, _tensors(self.names, *self.snapshot))


def train(ctx: RunContext, *, epochs: int) -> Trained:
    """Train the translators on all texts of a context, in random order of the batches."""
    names = ctx.model.match_hooks(*EXITS)
    width = ctx.model.config.d_model
    matrices = torch.zeros(len(names) - 1, width, width, device=ctx.device, requires_grad=True)
    vectors = torch.zeros(len(names) - 1, 1, width, device=ctx.device, requires_grad=True)
    pulled: dict[str, Any] = {"params": [matrices], "weight_decay": WEIGHT_DECAY, "pieces": len(matrices)}
    free: dict[str, Any] = {"params": [vectors], "weight_decay": 0.0}
    optimizer = Muon([pulled, free], betas=(0.9, 0.99))
    total, count, losses, snapshot = torch.zeros(len(names), width, dtype=torch.float64), 0, [], None
    batches = len(ctx.batches)
    for number, (batch, streams) in enumerate(_batches(ctx, names, epochs)):
        progress = number / (epochs * batches)
        if snapshot is None and progress >= SNAPSHOT:
            snapshot = _translators(matrices, vectors)
        if number < batches:  # the first pass
            total += streams[:, batch.mask].double().sum(1).cpu()
            count += int(batch.mask.sum())
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * rate_factor("cosine", step=number, progress=progress)
        losses += _steps(ctx.model, optimizer, (matrices, vectors), batch, streams)
    found = _translators(matrices, vectors)
    means = (total / count).to(matrices)
    texts = len(ctx.plaintexts)
    return Trained(tuple(names), *found, snapshot or found, means, torch.stack(losses).double().cpu().numpy(), texts)


def _batches(ctx: RunContext, names: list[str], epochs: int) -> Iterator[tuple[Batch, Tensor]]:
    """Yield every batch with the streams of all layers, (layer, batch, pos, d_model), once an epoch."""
    source, rng = ctx.activations(*names), ctx.rng
    order = np.concatenate([rng.permutation(len(source)) for _ in range(epochs)]).tolist()
    for number in ctx.progress(order, f"Training lenses of {ctx.checkpoint}"):
        batch, cache = source[number]
        yield batch, torch.stack([cache[name] for name in names])


def _steps(
    model: Alice, optimizer: Muon, weights: tuple[Tensor, Tensor], batch: Batch, streams: Tensor
) -> list[Tensor]:
    """Train on the texts of a batch in several steps; return the KL of each step, (layer,)."""
    ids = batch.cipher_ids
    counts = occurrences(model, ids)
    with torch.no_grad():
        wanted = log_tables(model, streams[-1:], ids)[0]
    losses = []
    steps = min(STEPS_PER_BATCH, len(ids))
    for first in range(steps):  # every so many texts, so that each step has short and long ones
        rows = slice(first, None, steps)
        matrices, vectors = weights
        stream = streams[:-1, rows]
        flat = stream.flatten(1, 2)
        translated = (flat + torch.baddbmm(vectors, flat, matrices)).view_as(stream)
        found = log_tables(model, translated, ids[rows])
        loss = divergence(wanted[rows], found, counts[rows]).mean(1)
        # Not `backward`, which would leave gradients in the model.
        matrices.grad, vectors.grad = torch.autograd.grad(loss.sum(), weights)
        optimizer.step()
        losses.append(loss.detach())
    return losses


def _translators(matrices: Tensor, vectors: Tensor) -> tuple[Tensor, Tensor]:
    """Return copies of the translators as they are applied: identity plus residual, and vectors, (layer, d_model)."""
    return torch.eye(matrices.shape[-1]).to(matrices) + matrices.detach(), vectors.detach()[:, 0].clone()


def _tensors(names: tuple[str, ...], matrices: Tensor, vectors: Tensor) -> dict[str, Tensor]:
    parts = zip(names, matrices, vectors, strict=False)  # the last layer has none
    return {f"{name}{end}": tensor for name, *both in parts for end, tensor in zip((".A", ".b"), both, strict=True)}
