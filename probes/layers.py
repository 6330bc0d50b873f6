"""One probe for each layer and each task, all trained together: one pass over the activations serves them all.

The weights have a leading layer dimension, so that a step is a few batched matrix products. Nothing is shared between
layers or tasks, and AdamW works weight by weight: each probe becomes what it would have become alone.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, Self, get_args

import torch
from alice.probes.conditioning import Conditioner
from torch import Tensor
from torch.nn.functional import cross_entropy, gelu

from alice.errors import AliceError
from alice.training.recipe import rate_factor

Kind = Literal["linear", "mlp"]
KINDS: tuple[str, ...] = get_args(Kind)
LEARNING_RATES: dict[str, float] = {"linear": 0.03, "mlp": 0.005}
"""Rates that come close to the optimum in few epochs, since inputs are whitened."""
IGNORED = -100
"""Label of a token that a task leaves out."""
Pair = tuple[Tensor, Tensor]
"""Activations (layer, token, d) and their labels (token,), or (task, token) for several tasks."""


class LayerProbes:
    """Linear or MLP probes on every layer of a stack of activations, for one task or several.

    A probe sees the activation of one token as it is: no norm, no pooling. The MLP has one hidden layer with GELU.
    Inputs are whitened while training, for speed alone; the whitening is then folded into the weights, so that
    `weights` apply to the activations themselves.
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
        """Choose the kind of probe and how to train it.

        Args:
            kind: "linear" or "mlp".
            hidden: width of the MLP's hidden layer, for each task.
            epochs: how often the activations are gone through.
            batch_size: tokens of a step.
            learning_rate: peak of AdamW's rate, which falls to nothing along a cosine; a good one for the kind if None.
            weight_decay: AdamW's, on the whitened weights.
            seed: seed of the order of the tokens and of the MLP's first weights.

        """
        if kind not in KINDS:
            raise AliceError(f"a probe of kind {kind!r} is unknown; choose one of {', '.join(KINDS)}")
        if min(hidden, epochs, batch_size) < 1:
            raise AliceError("hidden, epochs and batch_size of a probe must be 1 or more")
        self.kind, self.hidden, self.epochs, self.batch_size = kind, hidden, epochs, batch_size
        self.learning_rate = LEARNING_RATES[kind] if learning_rate is None else learning_rate
        self.weight_decay, self.seed = weight_decay, seed
        self._classes: tuple[int, ...] = ()
        self._single = True
        self._weights: dict[str, Tensor] = {}

    def fit(self, pairs: Sequence[Pair], classes: int | Sequence[int]) -> Self:
        """Train on pairs (X, y); they are read `epochs` times, a shard in memory at a time, and once before.

        Args:
            pairs: `pairs[i]` is X (layer, token, d) with y (token,) for one task, or (task, token) for several; a list
                will do, or anything with a length that makes or reads shard i. Labels are 0 to classes - 1, or IGNORED.
            classes: number of classes, for several tasks one for each.

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
        """Return the scores of the classes, (layer, token, d) -> (layer, token, class), one entry a task."""
        if not self._weights:
            raise AliceError("these probes have not been trained; call fit first")
        with torch.no_grad():
            return self._forward(self._weights, x.to(self._weights["out_weight"].dtype))

    def predict(self, x: Tensor) -> Tensor:
        """Return the class of every token as each layer tells it, (layer, token, d) -> (layer, token).

        Probes fitted with several numbers of classes return (task, layer, token).
        """
        answers = [scores.argmax(-1) for scores in self.logits(x)]
        return answers[0] if self._single else torch.stack(answers)

    def _start(self, like: Tensor) -> dict[str, Tensor]:
        """Return the weights to start from; each layer and each task has the same, so that none depends on others."""
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
        """Return the weights that apply to the activations themselves."""
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
        """Return the sum over layers and tasks of the mean cross-entropy; a task without a token here counts 0."""
        losses = []
        for scores, labels in zip(self._forward(weights, x), y, strict=True):
            total = cross_entropy(
                scores.flatten(0, 1), labels.repeat(len(scores)), ignore_index=IGNORED, reduction="sum"
            )
            losses.append(total / (labels != IGNORED).sum().clamp(min=1))
        return torch.stack(losses).sum()

    def _minibatches(self, pairs: Sequence[Pair], generator: torch.Generator) -> Iterator[Pair]:
        """Yield tokens in random order, `batch_size` at a time: shards in random order, each of them shuffled.

        What a shard has left over goes before the tokens of the next one.
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
    """Go through the shards in their order."""
    return (pairs[number] for number in range(len(pairs)))
