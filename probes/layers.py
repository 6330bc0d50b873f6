"""One probe for each layer and task, all trained together in the same passes over the activations.

The weights have a leading layer dimension, so a step is a few batched matrix products. Layers and tasks share nothing,
and AdamW updates each weight independently, so each probe ends up as if it had been trained alone.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Self, get_args

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, gelu

from alice.errors import AliceError
from alice.training import rate_factor

Kind = Literal["linear", "mlp"]
KINDS: tuple[str, ...] = get_args(Kind)
LEARNING_RATES: dict[str, float] = {"linear": 0.03, "mlp": 0.005}
"""Learning rates that come close to the optimum in few epochs on whitened inputs."""
IGNORED = -100
"""Label of a token that a task ignores."""
FLOOR = 0.03
"""Smallest variance that is fully whitened, as a share of the layer's largest variance.

Fully whitening smaller ones lets probes fit noise. Of 1e-6, 0.01, 0.03 and 0.1, linear probes did slightly better with
0.1 and MLPs with 0.01, on texts 400 to 799 of the quotations' test split, which no default run reads for probes.
"""
Pair = tuple[Tensor, Tensor]
"""Activations (layer, token, d) and their labels (token,), or (task, token) for several tasks."""


@dataclass(frozen=True, eq=False)
class Conditioner:
    """A fixed affine map per layer that whitens activations: uncorrelated features of variance one.

    It speeds training up and adds nothing to what a probe can express.
    """

    mean: Tensor
    """(layer, 1, d)."""
    matrix: Tensor
    """(layer, d, d)."""
    count: int
    """Number of tokens it was measured on."""

    @classmethod
    def measure(cls, activations: Iterable[Tensor]) -> Self:
        """Estimate the map from activations (layer, token, d), read once."""
        count, first = 0, None
        total = square = torch.zeros((), dtype=torch.float64)
        for x in activations:
            if not x.shape[1]:
                continue
            if first is None:
                first = x[:, :1].clone()  # squares around a data point lose less precision
            near = x - first
            count += x.shape[1]
            total = total + near.sum(1, keepdim=True)
            square = square + near.mT @ near
        if first is None:
            raise AliceError("there are no tokens to train a probe on; give more texts")
        mean = total / count
        variances, directions = torch.linalg.eigh(square / count - mean.mT @ mean)
        largest = variances.amax(-1, keepdim=True)
        scale = torch.where(largest > 0, variances.clamp(min=FLOOR * largest), 1.0).rsqrt()
        return cls(mean.to(first.dtype) + first, (directions * scale[:, None]).to(first.dtype), count)

    def fold(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weight and bias that act on raw activations as the given ones do on whitened activations."""
        folded = self.matrix @ weight
        return folded, bias - self.mean @ folded


class LayerProbes:
    """Linear or MLP probes on every layer of a stack of activations, for one task or several.

    A probe sees the raw activation of one token: no norm, no pooling. The MLP has one hidden layer with GELU. Inputs
    are whitened during training, for speed only; the whitening is then folded into the weights, which apply to the raw
    activations.
    """

    def __init__(
        self,
        kind: Kind = "linear",
        *,
        hidden: int = 128,
        epochs: int = 4,
        batch_size: int = 512,
        learning_rate: float | None = None,
        weight_decay: float = 0.0,
        seed: int = 0,
    ) -> None:
        """Store the options.

        Args:
            kind: "linear" or "mlp".
            hidden: width of the MLP's hidden layer, for each task.
            epochs: number of passes over the activations.
            batch_size: tokens per step.
            learning_rate: peak learning rate of AdamW, with cosine decay to 0; the default of the kind if None.
            weight_decay: weight decay of AdamW, on the whitened weights.
            seed: seed for the order of the tokens and the initial weights of the MLP.

        """
        if kind not in KINDS:
            raise AliceError(f"the kind of probe {kind!r} is unknown; choose one of {', '.join(KINDS)}")
        if min(hidden, epochs, batch_size) < 1:
            raise AliceError("hidden, epochs and batch_size of a probe must be 1 or more")
        self.kind, self.hidden, self.epochs, self.batch_size = kind, hidden, epochs, batch_size
        self.learning_rate = LEARNING_RATES[kind] if learning_rate is None else learning_rate
        self.weight_decay, self.seed = weight_decay, seed
        self._classes: tuple[int, ...] = ()
        self._single = True
        self._weights: dict[str, Tensor] = {}

    def fit(self, pairs: Sequence[Pair], classes: int | Sequence[int]) -> Self:
        """Train on pairs (X, y), with one shard in memory at a time; each is read `epochs` + 1 times.

        Args:
            pairs: shard `pairs[i]` is X (layer, token, d) with y (token,) for one task, or (task, token) for several; a
                list, or a sequence that loads shards on access. Labels are 0 to classes - 1, or IGNORED.
            classes: number of classes; one number per task if there are several.

        """
        self._single = isinstance(classes, int)
        self._classes = (classes,) if isinstance(classes, int) else tuple(classes)
        conditioner = Conditioner.measure(x for x, _ in _each(pairs))
        weights = self._start(conditioner.mean)
        optimizer = torch.optim.AdamW(
            weights.values(), lr=self.learning_rate, weight_decay=self.weight_decay, fused=True
        )
        generator = torch.Generator().manual_seed(self.seed)
        steps = self.epochs * -(-conditioner.count // self.batch_size)
        for step, (x, y) in enumerate(self._minibatches(pairs, generator)):
            rate = rate_factor("cosine", step=step, progress=step / steps)
            optimizer.param_groups[0]["lr"] = self.learning_rate * rate
            optimizer.zero_grad()
            self._loss(self._folded(weights, conditioner), x, y).backward()
            optimizer.step()
        with torch.no_grad():
            self._weights = self._folded(weights, conditioner)
        return self

    def logits(self, x: Tensor) -> list[Tensor]:
        """Return the logits of each task, (layer, token, d) -> (layer, token, class)."""
        if not self._weights:
            raise AliceError("these probes have not been trained; call fit first")
        with torch.no_grad():
            return self._forward(self._weights, x.to(self._weights["out_weight"].dtype))

    def predict(self, x: Tensor) -> Tensor:
        """Return the predicted class of every token at each layer, (layer, token, d) -> (layer, token).

        Probes fitted for several tasks return (task, layer, token).
        """
        answers = [scores.argmax(-1) for scores in self.logits(x)]
        return answers[0] if self._single else torch.stack(answers)

    def _start(self, like: Tensor) -> dict[str, Tensor]:
        """Return the initial weights, the same for each layer and task, so that no probe depends on the others."""
        layers, _, width = like.shape
        generator = torch.Generator().manual_seed(self.seed)
        total, tasks = sum(self._classes), len(self._classes)
        weights = {}
        inner = width
        if self.kind == "mlp":
            drawn = torch.randn(width, self.hidden, generator=generator) / width**0.5
            weights["in_weight"] = drawn.repeat(layers, 1, tasks)
            weights["in_bias"] = torch.zeros(layers, 1, self.hidden * tasks)
            inner = self.hidden
        weights["out_weight"] = torch.zeros(layers, inner, total)
        weights["out_bias"] = torch.zeros(layers, 1, total)
        return {name: weight.to(like).requires_grad_() for name, weight in weights.items()}

    def _folded(self, weights: dict[str, Tensor], conditioner: Conditioner) -> dict[str, Tensor]:
        """Return the weights that apply to the raw activations."""
        first = ("out_weight", "out_bias") if self.kind == "linear" else ("in_weight", "in_bias")
        folded = conditioner.fold(*(weights[name] for name in first))
        return weights | dict(zip(first, folded, strict=True))

    def _forward(self, weights: dict[str, Tensor], x: Tensor) -> list[Tensor]:
        if self.kind == "linear":
            scores = torch.baddbmm(weights["out_bias"], x, weights["out_weight"])
            return list(scores.split(self._classes, -1))
        inside = gelu(torch.baddbmm(weights["in_bias"], x, weights["in_weight"]))
        parts = (part.split(self._classes, -1) for part in (weights["out_bias"], weights["out_weight"]))
        return [
            torch.baddbmm(bias, part, weight)
            for bias, weight, part in zip(*parts, inside.split(self.hidden, -1), strict=True)
        ]

    def _loss(self, weights: dict[str, Tensor], x: Tensor, y: Tensor) -> Tensor:
        """Return the mean cross-entropy summed over layers and tasks; 0 for a task without labels in the batch."""
        losses = []
        for scores, labels in zip(self._forward(weights, x), y, strict=True):
            total = cross_entropy(
                scores.flatten(0, 1), labels.repeat(len(scores)), ignore_index=IGNORED, reduction="sum"
            )
            losses.append(total / (labels != IGNORED).sum().clamp(min=1))
        return torch.stack(losses).sum()

    def _minibatches(self, pairs: Sequence[Pair], generator: torch.Generator) -> Iterator[Pair]:
        """Yield batches of `batch_size` tokens: shards in random order, each of them shuffled.

        Tokens left over from one shard come before those of the next.
        """
        for _ in range(self.epochs):
            rest: Pair | None = None
            for number in torch.randperm(len(pairs), generator=generator).tolist():
                x, y = pairs[number]
                y = y[None] if y.ndim == 1 else y
                order = torch.randperm(x.shape[1], generator=generator).to(x.device)
                x, y = x[:, order], y[:, order]
                if rest is not None:
                    x, y = torch.cat([rest[0], x], 1), torch.cat([rest[1], y], 1)
                whole = x.shape[1] - x.shape[1] % self.batch_size
                for start in range(0, whole, self.batch_size):
                    yield x[:, start : start + self.batch_size], y[:, start : start + self.batch_size]
                rest = x[:, whole:], y[:, whole:]
            if rest is not None and rest[0].shape[1]:
                yield rest


def _each(pairs: Sequence[Pair]) -> Iterator[Pair]:
    """Yield the shards in order."""
    return (pairs[number] for number in range(len(pairs)))
