"""The causal check: what removing a direction from a layer does to the lens, and what it does to the model.

The causal basis (Belrose et al. 2023) of a lens at a layer is a sequence of orthogonal directions. Each changes what
the lens reads most when the stream is replaced by its mean along it. It is found on training texts. On other texts each
direction is removed from the layer, and the change of the lens is compared with that of the model.

A direction of the basis is not itself what the lens reads. Where the stream varies much more along some directions than
along those that are read, the largest change comes from a mixture: replacing the mixture by its mean adds to what is
read whatever the other part holds. `Causes.reads` has the part that is read.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import torch
from scipy.stats import rankdata
from torch import Tensor

from alice.model import Alice, run_batch
from alice.plugins.builtin.lens.distributions import divergence, log_tables, occurrences
from alice.plugins.builtin.lens.training import Trained, Translators
from alice.plugins.context import RunContext
from alice.statistics import BOOTSTRAP_DRAWS, Floats, ratio
from alice.text import Batch

CHECKED = ("plain", "tuned")
"""Lenses that are checked."""
ROUNDS = 6
"""Steps in the search for a direction."""
CONTROLS = 4
"""Random directions of each layer."""


@dataclass(frozen=True, eq=False)
class Causes:
    """The causal basis of one lens, and what its directions do; effects are KL in bits from before the removal."""

    basis: Floats
    """Unit vectors, the most important first, (layer, direction, d_model)."""
    reads: Floats
    """How the effect on the lens grows with the change that each direction makes, (layer, direction, d_model).

    This is the part of the direction that the lens reads, a unit vector, or 0 if it reads nothing of it."""
    lens: Floats
    """Effect on what the lens reads, (text, layer, direction)."""
    model: Floats
    """Effect on what the model answers, (text, layer, direction)."""
    random: Floats
    """Effect of random directions on what the model answers, (text, layer, control)."""

    def spearman(self, rng: np.random.Generator) -> Floats:
        """Return the rank correlation of the two effects over directions, with a 95 % interval, (3, layer).

        Texts are weighted and directions are drawn again at random. NaN if all effects of a layer are equal.
        """
        texts, _, directions = self.lens.shape
        weights = np.concatenate([np.full((1, texts), 1 / texts), rng.dirichlet(np.ones(texts), size=BOOTSTRAP_DRAWS)])
        drawn = rng.integers(directions, size=(BOOTSTRAP_DRAWS, directions))
        places = np.concatenate([np.arange(directions)[None], drawn])[:, None]  # (1 + draw, 1, direction)
        ranks = []
        for effects in (self.lens, self.model):
            means = np.tensordot(weights, effects, 1)  # (1 + draw, layer, direction)
            found = rankdata(np.take_along_axis(means, np.broadcast_to(places, means.shape), 2), axis=2)
            ranks.append(found - found.mean(2, keepdims=True))
        one, other = ranks
        scale = np.sqrt((one**2).sum(2) * (other**2).sum(2))
        values = ratio((one * other).sum(2), scale)  # (1 + draw, layer)
        low, high = np.nanpercentile(np.where(np.isnan(values[:1]), 0.0, values[1:]), [2.5, 97.5], axis=0)
        return np.stack([values[0], *np.where(np.isnan(values[0]), np.nan, [low, high])])


def measure_causes(ctx: RunContext, trained: Trained, *, texts: int, directions: int) -> dict[str, Causes]:
    """Find the causal basis of the plain exit and of the tuned lens, and remove each direction from other texts."""
    model, names = ctx.model, list(trained.names)
    directions = min(directions, model.config.d_model)
    learnt = ctx.training(texts)
    found = list(_streams(learnt, names))
    translators = {"plain": _identity(trained), "tuned": _with_last(trained)}
    bases, reads = {}, {}
    for lens in CHECKED:
        with torch.no_grad():
            readings = [_Reading(model, *pair, trained.means, translators[lens]) for pair in found]
        pairs = list(_basis(ctx, found, trained.means, readings, directions, lens))
        bases[lens], reads[lens] = (torch.stack(part, 1) for part in zip(*pairs, strict=True))
    shape = (trained.means.shape[1], min(CONTROLS, model.config.d_model))
    drawn = torch.from_numpy(ctx.rng.normal(size=(len(names), *shape))).to(trained.means)
    control = torch.linalg.qr(drawn).Q.mT  # (layer, control, d_model)
    rows: dict[int, tuple[Floats, ...]] = {}
    for batch, streams in ctx.progress(_streams(ctx.sample(texts), names), "Removing directions"):
        columns = [_model_effects(model, batch, streams, trained.means, control)]
        for lens, basis in bases.items():
            columns.append(_lens_effects(model, batch, streams, trained.means, translators[lens], basis))
            columns.append(_model_effects(model, batch, streams, trained.means, basis))
        arrays = [column.movedim(-1, 0).double().cpu().numpy() for column in columns]  # (batch, layer, direction)
        rows |= zip(batch.index.tolist(), zip(*arrays, strict=True), strict=True)
    random, *effects = (np.stack(column) for column in zip(*(rows[number] for number in sorted(rows)), strict=True))
    return {
        lens: Causes(
            bases[lens].double().cpu().numpy(),
            reads[lens].double().cpu().numpy(),
            effects[2 * place],
            effects[2 * place + 1],
            random,
        )
        for place, lens in enumerate(CHECKED)
    }


def _identity(trained: Trained) -> Translators:
    unit = torch.eye(trained.means.shape[1]).to(trained.means)
    return unit.expand(len(trained.means), -1, -1), torch.zeros_like(trained.means)


def _with_last(trained: Trained) -> Translators:
    """Return the tuned lens with the identity for the last layer."""
    matrices, vectors = _identity(trained)
    return torch.cat([trained.matrices, matrices[-1:]]), torch.cat([trained.vectors, vectors[-1:]])


def _streams(ctx: RunContext, names: list[str]) -> Iterator[tuple[Batch, Tensor]]:
    """Yield batches with the streams of all layers, (layer, batch, pos, d_model)."""
    for whole in ctx.batches:
        batch, _, cache = run_batch(ctx.model, whole, names)
        yield batch, torch.stack([cache[name] for name in names])


def removed(streams: Tensor, means: Tensor, directions: Tensor) -> Tensor:
    """Replace streams by their mean along a direction of each layer, which is a unit vector.

    (layer, batch, pos, d_model), (layer, d_model), (layer, d_model) -> (layer, batch, pos, d_model).
    """
    return streams - _along(streams, means, directions) * directions[:, None, None]


def _along(streams: Tensor, means: Tensor, directions: Tensor) -> Tensor:
    """Return how far each place lies from the mean along a direction, (layer, batch, pos, 1)."""
    offset = (means * directions).sum(-1)[:, None, None]
    return (torch.einsum("lbpd,ld->lbp", streams, directions) - offset).unsqueeze(-1)


class _Reading:
    """What a lens reads of some texts, and what it would read without a direction.

    Removing is linear, so that the translated stream needs one matrix product only, whatever is removed.
    """

    def __init__(self, model: Alice, batch: Batch, streams: Tensor, means: Tensor, translators: Translators) -> None:
        self.model, self.ids, self.streams, self.means = model, batch.cipher_ids, streams, means
        self.matrices, vectors = translators
        self.translated = torch.einsum("lbpd,lde->lbpe", streams, self.matrices) + vectors[:, None, None]
        self.tables = log_tables(model, self.translated, self.ids)
        self.counts = occurrences(model, self.ids)

    def effects(self, directions: Tensor, along: Tensor | None = None) -> Tensor:
        """Return the KL from removing a direction of each layer, (layer, d_model) -> (layer, batch).

        With `along`, (layer, d_model), each place moves as far as it lies from the mean along that instead.
        """
        moved = torch.einsum("ld,lde->le", directions, self.matrices)[:, None, None]
        left = self.translated - _along(self.streams, self.means, directions if along is None else along) * moved
        return divergence(self.tables, log_tables(self.model, left, self.ids), self.counts)


def _basis(
    ctx: RunContext,
    found: list[tuple[Batch, Tensor]],
    means: Tensor,
    readings: list[_Reading],
    count: int,
    lens: str,
) -> Iterator[tuple[Tensor, Tensor]]:
    """Yield directions of all layers, (layer, d_model), each orthogonal to those before it, with what is read of them.

    The effect grows with the direction's length much like a square, so the search is a power method: the next direction
    is the gradient of the effect at the last one. It starts at the largest principal component that is left.
    """
    with torch.no_grad():
        covariance = sum(_covariance(batch, streams, means) for batch, streams in found)
    free = torch.eye(means.shape[1]).to(means).repeat(len(means), 1, 1)  # projects on what is left
    for _ in ctx.progress(range(count), f"Causal basis of the {lens} lens"):
        # In double precision: in single, the solver may fail where many eigenvalues are 0.
        direction = torch.linalg.eigh((free @ covariance @ free).double()).eigenvectors[..., -1].to(means)
        best, most = direction, torch.full((len(means),), -1.0).to(means)
        for _ in range(ROUNDS):
            effect, gradient = _effect(readings, direction)
            better = effect > most
            best, most = torch.where(better[:, None], direction, best), torch.where(better, effect, most)
            ahead = torch.einsum("ld,lde->le", gradient, free)
            size = ahead.norm(dim=-1, keepdim=True)
            direction = torch.where(size > 0, ahead / size, direction)
        best = torch.nn.functional.normalize(torch.einsum("ld,lde->le", best, free), dim=-1)
        free = free - best[:, :, None] * best[:, None, :]
        yield best, torch.nn.functional.normalize(_effect(readings, best, along=best)[1], dim=-1)


def _covariance(batch: Batch, streams: Tensor, means: Tensor) -> Tensor:
    """Return the products of deviations from the mean, summed over characters, (layer, d_model, d_model)."""
    apart = streams[:, batch.mask] - means[:, None]
    return apart.mT @ apart


def _effect(readings: list[_Reading], directions: Tensor, along: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """Return the mean effect of removing the directions and its gradient, (layer,) and (layer, d_model).

    With `along`, how far each place moves does not depend on the direction in which it moves.
    """
    directions = directions.detach().requires_grad_()
    texts = sum(len(reading.ids) for reading in readings)
    effect, gradient = torch.zeros(len(directions)).to(directions), torch.zeros_like(directions)
    for reading in readings:
        part = reading.effects(directions, along).sum(1) / texts
        gradient += torch.autograd.grad(part.sum(), directions)[0]
        effect += part.detach()
    return effect.detach(), gradient


@torch.no_grad()
def _lens_effects(
    model: Alice, batch: Batch, streams: Tensor, means: Tensor, translators: Translators, basis: Tensor
) -> Tensor:
    """Return the effect of each direction on the lens, (layer, direction, batch)."""
    reading = _Reading(model, batch, streams, means, translators)
    return torch.stack([reading.effects(directions) for directions in basis.unbind(1)], dim=1)


@torch.no_grad()
def _model_effects(model: Alice, batch: Batch, streams: Tensor, means: Tensor, basis: Tensor) -> Tensor:
    """Return the effect of each direction on the model's own answer, (layer, direction, batch)."""
    ids, counts = batch.cipher_ids, occurrences(model, batch.cipher_ids)
    final = log_tables(model, streams[-1:], ids)[0]
    rows = []
    for directions in basis.unbind(1):
        left = removed(streams, means, directions)
        ends = [model.resid(ids, stream=stream, start=layer) for layer, stream in enumerate(left)]
        rows.append(divergence(final, log_tables(model, torch.stack(ends), ids), counts))
    return torch.stack(rows, dim=1)
