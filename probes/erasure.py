"""Erasing a concept from activations, so that no linear probe does better than a constant (LEACE, Belrose et al. 2023).

LEACE is the smallest such change: it removes what correlates with the labels, and of all maps that do so it moves the
activations least in mean square. The closed form needs only means and covariances, which are summed over shards.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn.functional import one_hot

from alice.errors import AliceError
from alice.probes.linear import IGNORED, SMALLEST, Pair, each

NEGLIGIBLE = 1e-4
"""Correlations with the labels below this are rounding errors of the sums."""


@dataclass(frozen=True, eq=False)
class Eraser:
    """Removes what correlates with a concept from activations of one layer: x - (x - mean) @ read @ write."""

    mean: Tensor
    """Mean of the activations, (d,)."""
    read: Tensor
    """What is removed as a function of the activations, (d, rank)."""
    write: Tensor
    """Where it is removed from, (rank, d)."""
    removed: float
    """Share of the variance of the activations that is removed."""

    @property
    def rank(self) -> int:
        """Number of directions that are removed."""
        return len(self.write)

    def __call__(self, x: Tensor) -> Tensor:
        """Erase the concept from activations, (..., d)."""
        return x - (x - self.mean) @ self.read @ self.write

    def random(self, x: Tensor, rank: int, generator: torch.Generator) -> Tensor:
        """Erase random orthonormal directions instead, others for each text, (text, pos, d): a control."""
        width = x.shape[-1]
        drawn = torch.randn(len(x), width, min(rank, width), generator=generator)
        directions = torch.linalg.qr(drawn)[0].to(x)  # (text, d, rank)
        return x - (x - self.mean) @ directions @ directions.mT


def fit_erasers(pairs: Sequence[Pair], classes: Sequence[int]) -> list[list[Eraser]]:
    """Return the eraser of each task at each layer, by task and layer, from labelled tokens, read once."""
    sums = [_Sums(size) for size in classes]
    for x, y in each(pairs):
        for labels, of_task in zip(y, sums, strict=True):
            of_task.add(x, labels)
    return [of_task.erasers() for of_task in sums]


class _Sums:
    """Means and covariances of activations with each other and with the labels of one task."""

    def __init__(self, classes: int) -> None:
        self._classes = classes
        self._first: Tensor | None = None
        self._square = torch.zeros((), dtype=torch.float64)
        self._by_class = torch.zeros((), dtype=torch.float64)
        self._counts = torch.zeros(classes, dtype=torch.float64)

    def add(self, x: Tensor, labels: Tensor) -> None:
        """Add activations (layer, token, d) with labels (token,)."""
        known = labels != IGNORED
        x, member = x[:, known], one_hot(labels[known], self._classes).to(x)
        if not x.shape[1]:
            return
        if self._first is None:
            self._first = x[:, :1].clone()  # squares around a data point lose less precision
        near = x - self._first
        self._square = self._square + (near.mT @ near).double().cpu()  # (layer, d, d)
        self._by_class = self._by_class + (member.T @ near).double().cpu()  # (layer, class, d)
        self._counts += member.sum(0).double().cpu()

    def erasers(self) -> list[Eraser]:
        """Return the eraser of each layer."""
        if self._first is None:
            raise AliceError("there are no labels to erase; give more texts")
        count, like = self._counts.sum(), self._first
        mean = self._by_class.sum(1, keepdim=True) / count  # (layer, 1, d)
        covariance = self._square / count - mean.mT @ mean
        cross = (self._by_class - self._counts[:, None] * mean) / count  # (layer, class, d)
        spread = (self._counts / count * (1 - self._counts / count)).sqrt().clamp(min=1e-9)  # of the labels, (class,)
        correlated = cross / spread[:, None]
        where = mean[:, 0] + like[:, 0].double().cpu()
        return [_eraser(*of_layer, like) for of_layer in zip(where, covariance, correlated, strict=True)]


def _eraser(mean: Tensor, covariance: Tensor, cross: Tensor, like: Tensor) -> Eraser:
    """Return the eraser for the covariance of one layer, (d, d), and that of the labels with it, (class, d)."""
    variances, axes = torch.linalg.eigh(covariance)
    kept = variances > SMALLEST * variances[-1]
    axes, deviations = axes[:, kept], variances[kept].sqrt()
    whiten, unwhiten = axes / deviations, (axes * deviations).mT
    directions, sizes, _ = torch.linalg.svd(whiten.mT @ cross.mT, full_matrices=False)  # (r, class)
    directions = directions[:, sizes > NEGLIGIBLE]
    read, write = whiten @ directions, directions.mT @ unwhiten
    whole = float(deviations.square().sum())
    return Eraser(mean.to(like), read.to(like), write.to(like), float(write.square().sum()) / whole if whole else 0.0)
