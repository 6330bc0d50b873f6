"""Training of the tuned lens: affine translators of all layers together, one forward pass of the model per batch.

Translators start as the identity and are pulled towards it by weight decay. Muon trains the matrices: in a trial of
the same length its KL on `base` was a little lower than AdamW's. They learn from streams that are centred and scaled,
since a large constant coordinate would multiply every step. A translator that is worse than the identity on training
texts kept aside is replaced by it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.errors import AliceError
from alice.model import AffineLens, Alice, run_batch
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
ASIDE = 10
"""Share of the training texts kept aside to check the translators is 1 over this; at least one text."""

Translators = tuple[Tensor, Tensor]
"""Matrices, (layer, d_model, d_model), and vectors, (layer, d_model)."""


@dataclass(frozen=True, eq=False)
class Trained:
    """Translators of a model's layers and how their training went."""

    names: tuple[str, ...]
    """Hooks of the layers, the embedding first."""
    matrices: Tensor
    """(layer, d_model, d_model), without the last layer, whose translator is the identity."""
    vectors: Tensor
    """(layer, d_model), without the last layer."""
    snapshot: Translators
    """Matrices and vectors at half of the training, checked in the same way."""
    means: Tensor
    """Mean of the stream over the characters of the training texts, (layer + 1, d_model), with the last layer."""
    losses: Floats
    """KL of the texts of each step before the step, in bits, (step, layer)."""
    texts: int
    """Number of training texts, without those kept aside."""
    checked: Floats
    """KL of the plain exit and of the trained translators on the texts kept aside, in bits, (2, layer)."""
    texts_aside: int
    """Number of training texts kept aside."""

    @property
    def replaced(self) -> list[int]:
        """Layers whose translator was worse than the identity and was replaced by it."""
        return np.flatnonzero(_worse(*self.checked)).tolist()

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


@dataclass(frozen=True, eq=False)
class Scaling:
    """Mean of each layer's stream and its size around the mean, in double precision."""

    means: Tensor
    """(layer, d_model)."""
    sizes: Tensor
    """Root mean square of the centred stream over characters and dimensions, (layer,); 1 where it is 0."""

    @classmethod
    def of(cls, ctx: RunContext, names: list[str]) -> Self:
        """Measure it over the characters of all texts of a context, one batch at a time."""
        shape = (len(names), 1, ctx.model.config.d_model)
        means, squares = (torch.zeros(size, dtype=torch.float64, device=ctx.device) for size in (shape, shape[0]))
        count = 0
        for batch, cache in ctx.progress(ctx.activations(*names), f"Measuring streams of {ctx.checkpoint}"):
            streams = torch.stack([cache[name][batch.mask] for name in names]).double()
            away = streams - means
            count += streams.shape[1]
            means = means + away.sum(1, keepdim=True) / count
            squares += (away * (streams - means)).sum((1, 2))
        sizes = (squares / (count * shape[-1])).sqrt()
        return cls(means[:, 0], torch.where(sizes > 0, sizes, 1.0))

    def scaled(self, streams: Tensor) -> Tensor:
        """Return streams of all layers but the last with mean 0 and size 1, (layer, place, d_model)."""
        means, sizes = self.means[:-1, None].to(streams), self.sizes[:-1, None, None].to(streams)
        return (streams - means) / sizes

    def folded(self, matrices: Tensor, vectors: Tensor) -> Translators:
        """Return translators of streams as they are from weights that act on scaled streams.

        (layer, d_model, d_model), (layer, 1, d_model) -> the same as `Translators`. Zeros give exactly the identity.
        """
        weights, means = matrices.detach().double(), self.means[:-1, None]
        offsets = self.sizes[:-1, None, None] * vectors.detach().double() - means @ weights
        unit = torch.eye(weights.shape[-1]).to(weights)
        return (unit + weights).to(matrices), offsets[:, 0].to(vectors)


def train(ctx: RunContext, *, epochs: int) -> Trained:
    """Train the translators on the texts of a context, except some that are kept aside to check them."""
    names, texts = ctx.model.match_hooks(*EXITS), len(ctx.plaintexts)
    if texts < 2:
        raise AliceError("a lens needs at least 2 training texts, as one is kept aside; use a larger corpus")
    learnt = texts - max(1, texts // ASIDE)
    scaling = Scaling.of(ctx.sample(learnt), names)
    *both, losses = _learn(ctx.sample(learnt), names, scaling, epochs)
    plain, *found = _kl_from(ctx, learnt, names, both)
    snapshot, final = (_replaced(one, _worse(plain, kl)) for one, kl in zip(both, found, strict=True))
    means, checked = scaling.means.to(final[1]), np.stack([plain, found[1]])
    return Trained(tuple(names), *final, snapshot, means, losses, learnt, checked, texts - learnt)


def _learn(ctx: RunContext, names: list[str], scaling: Scaling, epochs: int) -> tuple[Translators, Translators, Floats]:
    """Train on all texts, in random order of the batches; return the translators at half and at the end, and losses."""
    width = ctx.model.config.d_model
    matrices = torch.zeros(len(names) - 1, width, width, device=ctx.device, requires_grad=True)
    vectors = torch.zeros(len(names) - 1, 1, width, device=ctx.device, requires_grad=True)
    pulled: dict[str, Any] = {"params": [matrices], "weight_decay": WEIGHT_DECAY, "pieces": len(matrices)}
    free: dict[str, Any] = {"params": [vectors], "weight_decay": 0.0}
    optimizer = Muon([pulled, free], betas=(0.9, 0.99))
    losses: list[Tensor] = []
    snapshot: Translators | None = None
    for number, (batch, streams) in enumerate(_batches(ctx, names, epochs)):
        progress = number / (epochs * len(ctx.batches))
        if snapshot is None and progress >= SNAPSHOT:
            snapshot = scaling.folded(matrices, vectors)
        for group in optimizer.param_groups:
            group["lr"] = LEARNING_RATE * rate_factor("cosine", step=number, progress=progress)
        losses += _steps(ctx.model, optimizer, (matrices, vectors), scaling, batch, streams)
    final = scaling.folded(matrices, vectors)
    return snapshot or final, final, torch.stack(losses).double().cpu().numpy()


def _batches(ctx: RunContext, names: list[str], epochs: int) -> Iterator[tuple[Batch, Tensor]]:
    """Yield every batch with the streams of all layers, (layer, batch, pos, d_model), once an epoch."""
    source, rng = ctx.activations(*names), ctx.rng
    order = np.concatenate([rng.permutation(len(source)) for _ in range(epochs)]).tolist()
    for number in ctx.progress(order, f"Training lenses of {ctx.checkpoint}"):
        batch, cache = source[number]
        yield batch, torch.stack([cache[name] for name in names])


def _steps(
    model: Alice, optimizer: Muon, weights: tuple[Tensor, Tensor], scaling: Scaling, batch: Batch, streams: Tensor
) -> list[Tensor]:
    """Train on the texts of a batch in several steps; return the KL of each step, (layer,)."""
    ids = batch.cipher_ids
    counts = occurrences(model, ids)
    with torch.no_grad():
        wanted = log_tables(model, streams[-1:], ids)[0]
    losses = []
    steps = min(STEPS_PER_BATCH, len(ids))
    for first in range(steps):  # texts at equal distances, so that each step has short and long ones
        rows = slice(first, None, steps)
        matrices, vectors = weights
        stream = streams[:-1, rows]
        change = torch.baddbmm(vectors, scaling.scaled(stream.flatten(1, 2)), matrices).view_as(stream)
        translated = stream + scaling.sizes[:-1, None, None, None].to(stream) * change
        found = log_tables(model, translated, ids[rows])
        loss = divergence(wanted[rows], found, counts[rows]).mean(1)
        # Not `backward`, which would leave gradients in the model.
        matrices.grad, vectors.grad = torch.autograd.grad(loss.sum(), weights)
        optimizer.step()
        losses.append(loss.detach())
    return losses


@torch.no_grad()
def _kl_from(ctx: RunContext, first: int, names: list[str], lenses: list[Translators]) -> list[Floats]:
    """Return the KL of the plain exit and of each lens on the texts from number `first` on, (layer,) each."""
    rows = []
    for whole in ctx.batches:
        if not (aside := whole.index >= first).any():
            continue
        batch, _, cache = run_batch(ctx.model, whole.chosen(aside), names)
        streams = torch.stack([cache[name] for name in names])
        wanted = log_tables(ctx.model, streams[-1:], batch.cipher_ids)[0]
        counts = occurrences(ctx.model, batch.cipher_ids)
        read = [
            streams[:-1],
            *(streams[:-1] @ matrices[:, None] + vectors[:, None, None] for matrices, vectors in lenses),
        ]
        tables = (log_tables(ctx.model, stream, batch.cipher_ids) for stream in read)
        rows.append(torch.stack([divergence(wanted, found, counts) for found in tables]))  # (1 + lens, layer, batch)
    return list(torch.cat(rows, -1).double().mean(-1).cpu().numpy())


def _worse(plain: Floats, found: Floats) -> NDArray[np.bool_]:
    """Return where a translator has a larger KL than the plain exit, (layer,)."""
    return found > plain


def _replaced(translators: Translators, layers: NDArray[np.bool_]) -> Translators:
    """Return translators with the identity at some layers."""
    matrices, vectors = translators
    where = torch.from_numpy(layers).to(matrices.device)
    unit = torch.eye(matrices.shape[-1]).to(matrices)
    return torch.where(where[:, None, None], unit, matrices), torch.where(where[:, None], 0.0, vectors)


def _tensors(names: tuple[str, ...], matrices: Tensor, vectors: Tensor) -> dict[str, Tensor]:
    parts = zip(names, matrices, vectors, strict=False)  # the last layer has none
    return {f"{name}{end}": tensor for name, *both in parts for end, tensor in zip((".A", ".b"), both, strict=True)}
