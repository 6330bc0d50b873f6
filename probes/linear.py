"""Linear probes trained to convergence: softmax regression for every layer and task, all in the same passes.

A pass over the activations gives the loss and the gradient of all probes. Each probe has its own L-BFGS with its own
step sizes and stopping rule, so it ends up as if it had been trained alone. The loss is convex: only the penalty on the
weights is a choice.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from alice.errors import AliceError

IGNORED = -100
"""Label of a token that a task ignores."""
Pair = tuple[Tensor, Tensor]
"""Activations (layer, token, d) and their labels (token,), or (task, token) for several tasks."""
HISTORY = 10
"""Steps from which L-BFGS estimates the curvature."""
SUFFICIENT = 1e-4
"""Share of the expected decrease that a step must achieve."""
CHUNK = 2048
"""Tokens per matrix product; few enough for their logits to stay in the processor's cache."""
MEMORY = 2**29
"""Bytes of whitened activations that stay in memory between passes; the rest is read again in each pass."""
SMALLEST = 1e-6
"""Directions with a smaller share of the layer's largest variance are rounding errors."""


@dataclass(frozen=True, eq=False)
class Conditioner:
    """A fixed affine map per layer that whitens activations: uncorrelated features of variance one.

    It speeds training up and adds nothing to what a probe can express.
    """

    mean: Tensor
    """(layer, 1, d)."""
    directions: Tensor
    """Orthonormal directions without correlations, (layer, d, d)."""
    variances: Tensor
    """Variance along each direction, (layer, d); at least the floor."""
    count: int
    """Number of tokens it was measured on."""

    @classmethod
    def measure(cls, activations: Iterable[Tensor], *, floor: float = SMALLEST) -> Self:
        """Estimate the map from activations (layer, token, d), read once.

        Variances below a share `floor` of the layer's largest are treated as this share and so not fully whitened.
        """
        count, first = 0, None
        total = square = torch.zeros((), dtype=torch.float64)
        for x in activations:
            if not x.shape[1]:
                continue
            if first is None:
                first = x[:, :1].clone()  # squares around a data point lose less precision
            near = x - first
            count += x.shape[1]
            total = total + near.sum(1, keepdim=True).double()
            square = square + (near.mT @ near).double()
        if first is None:
            raise AliceError("there are no tokens to train a probe on; give more texts")
        mean = total / count
        variances, directions = torch.linalg.eigh(square / count - mean.mT @ mean)
        largest = variances.amax(-1, keepdim=True)
        variances = torch.where(largest > 0, variances.clamp(min=floor * largest), 1.0)
        return cls(mean.to(first.dtype) + first, directions.to(first.dtype), variances.to(first.dtype), count)

    @property
    def matrix(self) -> Tensor:
        """The linear part of the map, (layer, d, d)."""
        return self.directions * self.variances.rsqrt()[:, None]

    def whitened(self, x: Tensor) -> Tensor:
        """Return whitened activations, (layer, token, d)."""
        return torch.baddbmm(-self.mean @ self.matrix, x, self.matrix)

    def fold(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weight and bias that act on raw activations as the given ones do on whitened activations."""
        folded = self.matrix @ weight
        return folded, bias - self.mean @ folded

    def unfold(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Return the inverse of `fold`."""
        return self.variances.sqrt()[:, :, None] * (self.directions.mT @ weight), bias + self.mean @ weight


@dataclass(frozen=True, eq=False)
class LinearFit:
    """Probes of every layer and task, and how far they are from the optimum."""

    weight: Tensor
    """For raw activations, (layer, d, class), with the classes of all tasks side by side."""
    bias: Tensor
    """(layer, 1, class)."""
    objective: Tensor
    """Mean cross-entropy plus penalty, in nats per label, (layer, task)."""
    gap: Tensor
    """Estimate of how far the objective is above its minimum, (layer, task)."""


class SoftmaxRegression:
    """The objectives of all layers and tasks as functions of weights (layer, d + 1, class); the last row is the bias.

    The objective of a probe is its mean cross-entropy over n labels plus penalty * v / 2n times the sum of its squared
    raw weights, where v is the mean variance of the layer's features. scikit-learn's C is 1 / (penalty * v).
    """

    def __init__(
        self, pairs: Sequence[Pair], classes: Sequence[int], conditioner: Conditioner, penalty: float | Tensor
    ) -> None:
        """Count the labels of whitened pairs; the penalty is one number, or one per layer and task, (layer, task)."""
        self.classes, like = list(classes), conditioner.mean
        self._pairs = pairs
        tasks = torch.arange(len(classes), device=like.device)
        self.task = tasks.repeat_interleave(torch.tensor(self.classes, device=like.device))  # (class,)
        self._member = (self.task[:, None] == tasks).to(like)  # (class, task)
        counts = torch.zeros(len(self.task)).to(like)
        for _, y in each(pairs):
            parts = counts.split(self.classes)
            for labels, part in zip(y, parts, strict=True):
                part += torch.bincount(labels[labels != IGNORED], minlength=len(part)).to(like)
        self._labels = (counts @ self._member).clamp(min=1)  # (task,)
        self.prior = (counts + 0.5) / (counts @ self._member + 0.5 * self._member.sum(0))[self.task]  # (class,)
        strength = torch.as_tensor(penalty).to(like).expand(len(like), len(classes)) / self._labels
        relative = conditioner.variances.mean(-1, keepdim=True) / conditioner.variances  # (layer, d)
        self._ridge = relative[:, :, None] * strength[:, None, self.task]  # (layer, d, class)

    def dot(self, one: Tensor, other: Tensor) -> Tensor:
        """Return the inner products of each layer and task, (layer, d + 1, class) twice -> (layer, task)."""
        return (one * other).sum(1) @ self._member

    def spread(self, values: Tensor) -> Tensor:
        """Return values of each layer and task for each class, (layer, task) -> (layer, 1, class)."""
        return values[:, None, self.task]

    def start(self, layers: int, width: int) -> Tensor:
        """Return weights that give each class its frequency in the training tokens."""
        weights = self.prior.new_zeros(layers, width + 1, len(self.task))
        weights[:, -1] = self.prior.log()
        return weights

    def inverse_curvature(self) -> Tensor:
        """Return a rough diagonal inverse of the second derivatives, which are simple for whitened features."""
        curvature = (self.prior * (1 - self.prior)).expand(len(self._ridge), 1, -1)
        return 1 / torch.cat([curvature + self._ridge, curvature], 1)

    def __call__(self, weights: Tensor, active: Tensor) -> tuple[Tensor, Tensor]:
        """Return the objectives, (layer, task), and their gradients, like the weights; of active probes only."""
        weight = weights[:, :-1]
        gradient = torch.cat([self._ridge * weight, torch.zeros_like(weights[:, -1:])], 1)
        objective = 0.5 * self.dot(weight, gradient[:, :-1]).double()
        wanted = [(layer, tasks.nonzero()[:, 0]) for layer, tasks in enumerate(active) if tasks.any()]
        columns = [torch.isin(self.task, tasks).nonzero()[:, 0] for _, tasks in wanted]
        shifts = [weights[layer].T[chosen] for (layer, _), chosen in zip(wanted, columns, strict=True)]
        slopes = [torch.zeros_like(shift) for shift in shifts]
        for x, y in each(self._pairs):
            for (layer, tasks), shift, slope in zip(wanted, shifts, slopes, strict=True):
                for part, labels in zip(x[layer].split(CHUNK), y[tasks].split(CHUNK, 1), strict=True):
                    residuals = torch.addmm(shift[:, -1:], shift[:, :-1], part.T)  # (class, token), which is quicker
                    objective[layer, tasks] += self._softmax(residuals, labels, tasks)
                    slope[:, :-1].addmm_(residuals, part)
                    slope[:, -1] += residuals.sum(1)
        for (layer, _), chosen, slope in zip(wanted, columns, slopes, strict=True):
            gradient[layer].index_add_(1, chosen, slope.T)
        return objective, gradient

    def _softmax(self, scores: Tensor, labels: Tensor, tasks: Tensor) -> Tensor:
        """Turn logits (class, token) into derivatives of the loss in place; return the losses of the tasks, (task,)."""
        losses = []
        sizes = [self.classes[task] for task in tasks.tolist()]
        for part, label, count in zip(scores.split(sizes), labels, self._labels[tasks], strict=True):
            share = (label != IGNORED).to(part) / count  # of the token in the mean
            index = label.clamp(min=0)[None]
            part -= part.amax(0)
            right = part.gather(0, index)[0]
            total = part.exp_().sum(0)
            losses.append((total.log() - right) @ share)
            part *= share / total
            part.scatter_add_(0, index, -share[None])
        return torch.stack(losses).double()


def fit_linear(
    pairs: Sequence[Pair],
    classes: Sequence[int],
    *,
    penalty: float | Tensor,
    passes: int,
    tolerance: float,
    start: LinearFit | None = None,
) -> LinearFit:
    """Train probes until each estimates to be within `tolerance` of its optimum, for at most `passes` passes."""
    shards = _Shards(pairs)
    conditioner = Conditioner.measure(part for x, _ in each(shards) for part in x.split(CHUNK, 1))
    shards.whiten(conditioner)
    problem = SoftmaxRegression(shards, classes, conditioner, penalty)
    if start is None:
        weights = problem.start(len(conditioner.mean), conditioner.mean.shape[-1])
    else:
        weights = torch.cat(conditioner.unfold(start.weight, start.bias), 1)
    weights, objective, gap = _descend(problem, weights, passes=passes, tolerance=tolerance)
    weight, bias = conditioner.fold(weights[:, :-1], weights[:, -1:])
    return LinearFit(weight, bias, objective, gap)


def _descend(
    problem: SoftmaxRegression, weights: Tensor, *, passes: int, tolerance: float
) -> tuple[Tensor, Tensor, Tensor]:
    """Minimise by L-BFGS with backtracking; return weights, objectives and estimated gaps, (layer, task)."""
    memory = _Curvature(problem)
    active = torch.ones(len(weights), len(problem.classes), dtype=torch.bool, device=weights.device)
    objective, gradient = problem(weights, active)
    direction, step = memory.direction(gradient), torch.ones_like(objective)
    for _ in range(passes - 1):
        slope = problem.dot(gradient, direction).double()
        active = -slope / 2 > tolerance  # the minimum of a quadratic function lies so far below
        if not active.any():
            break
        move = problem.spread((step * active).to(weights)) * direction
        reached, ahead = problem(weights + move, active)
        better = active & (reached <= objective + SUFFICIENT * step * slope)
        taken = problem.spread(better)
        memory.add(torch.where(taken, move, 0.0), torch.where(taken, ahead - gradient, 0.0))
        weights, gradient = torch.where(taken, weights + move, weights), torch.where(taken, ahead, gradient)
        objective = torch.where(better, reached, objective)
        direction = torch.where(taken, memory.direction(gradient), direction)
        step = torch.where(better | ~active, 1.0, step / 2)
    return weights, objective, -problem.dot(gradient, direction).double() / 2


class _Curvature:
    """The estimate of the inverse second derivatives that L-BFGS makes from its last steps."""

    def __init__(self, problem: SoftmaxRegression) -> None:
        self._problem, self._diagonal = problem, problem.inverse_curvature()
        self._steps: list[tuple[Tensor, Tensor, Tensor]] = []
        self._scale: Tensor | float = 1.0

    def add(self, move: Tensor, change: Tensor) -> None:
        """Remember a step and the change of the gradient; a step of 0 is without effect."""
        along = self._problem.dot(move, change)
        known = along > 0
        inverse = torch.where(known, 1 / along.where(known, 1.0), 0.0)
        self._steps = [*self._steps[-HISTORY + 1 :], (move, change, inverse)]
        size = self._problem.dot(change, self._diagonal * change)
        self._scale = torch.where(known, along / size.where(known, 1.0), self._scale)

    def direction(self, gradient: Tensor) -> Tensor:
        """Return the direction of descent (Nocedal and Wright, algorithm 7.4)."""
        dot, spread, shares = self._problem.dot, self._problem.spread, []
        found = -gradient
        for move, change, inverse in reversed(self._steps):
            shares.append(inverse * dot(move, found))
            found = found - spread(shares[-1]) * change
        found = self._diagonal * found
        if isinstance(self._scale, Tensor):
            found = spread(self._scale) * found
        for (move, change, inverse), share in zip(self._steps, reversed(shares), strict=True):
            found = found + spread(share - inverse * dot(change, found)) * move
        return found


class _Shards(Sequence[Pair]):
    """Activations with labels (task, token); the first shards, as many as fit, stay in memory as one.

    One large shard is quicker than many small ones. The shards that do not fit are read again in each pass.
    """

    def __init__(self, pairs: Sequence[Pair]) -> None:
        self._pairs = pairs
        self._conditioner: Conditioner | None = None
        kept: list[Pair] = []
        size = self._first = 0
        for number, found in enumerate(each(pairs)):
            size += found[0].nbytes
            if size > MEMORY:
                break
            kept.append(found)
            self._first = number + 1
        self._kept = [(torch.cat([x for x, _ in kept], 1), torch.cat([y for _, y in kept], -1))] if kept else []

    def whiten(self, conditioner: Conditioner) -> None:
        """Whiten all activations from now on, and leave out tokens without any label."""
        self._conditioner = conditioner
        self._kept = [_whitened(pair, conditioner) for pair in self._kept]

    def __len__(self) -> int:
        return len(self._kept) + len(self._pairs) - self._first

    def __getitem__(self, number: int) -> Pair:  # type: ignore[override]  # no slices
        if number < len(self._kept):
            return self._kept[number]
        pair = self._pairs[self._first + number - len(self._kept)]
        return pair if self._conditioner is None else _whitened(pair, self._conditioner)


def _whitened(pair: Pair, conditioner: Conditioner) -> Pair:
    x, y = pair[0], torch.atleast_2d(pair[1])
    known = (y != IGNORED).any(0)
    return conditioner.whitened(x[:, known]), y[:, known]


def each(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Yield the shards in order."""
    return (pairs[number] for number in range(len(pairs)))
