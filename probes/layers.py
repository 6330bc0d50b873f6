"""One probe for each layer and task, all trained together in the same passes over the activations.

The weights have a leading layer dimension, so a step is a few batched matrix products. Layers and tasks share nothing,
so each probe ends up as if it had been trained alone.
"""

from collections.abc import Iterator, Sequence
from typing import Literal, Self, get_args

import torch
from torch import Tensor
from torch.nn.functional import cross_entropy, gelu

from alice.errors import AliceError
from alice.probes.linear import IGNORED as IGNORED
from alice.probes.linear import Conditioner, LinearFit, Pair, each, fit_linear
from alice.training import rate_factor

Kind = Literal["linear", "mlp"]
KINDS: tuple[str, ...] = get_args(Kind)
LEARNING_RATE = 0.005
"""Learning rate of MLPs that comes close to the optimum in few epochs on whitened inputs."""
FLOOR = 0.03
"""Smallest variance that is fully whitened for MLPs, as a share of the layer's largest variance.

Fully whitening smaller ones lets them fit noise. Linear probes converge, so that whitening does not matter to them.
"""
PENALTY = 10.0
"""Penalty on the weights of linear probes unless one is chosen."""
PASSES = 100
"""Passes after which a linear probe that has not converged is left as it is."""
TOLERANCE = 5e-4
"""A linear probe has converged when it estimates its loss to be this close to the optimum, in nats per label."""


class LayerProbes:
    """Linear or MLP probes on every layer of a stack of activations, for one task or several.

    A probe sees the raw activation of one token: no norm, no pooling. Linear probes are trained until they converge.
    The MLP has one hidden layer with GELU and is trained for a number of epochs. Inputs are whitened during training,
    for speed only; the whitening is then folded into the weights, which apply to the raw activations.
    """

    def __init__(
        self,
        kind: Kind = "linear",
        *,
        penalty: float | Tensor = PENALTY,
        passes: int = PASSES,
        tolerance: float = TOLERANCE,
        hidden: int = 128,
        epochs: int = 4,
        batch_size: int = 512,
        learning_rate: float = LEARNING_RATE,
        weight_decay: float = 0.0,
        seed: int = 0,
    ) -> None:
        """Store the options.

        Args:
            kind: "linear" or "mlp".
            penalty: of a linear probe, on its squared weights, as in `SoftmaxRegression`; or one per layer and task,
                (layer, task).
            passes: most passes over the activations of a linear probe.
            tolerance: when a linear probe has converged, in nats per label.
            hidden: width of the MLP's hidden layer, for each task.
            epochs: number of passes over the activations of an MLP.
            batch_size: tokens per step of an MLP.
            learning_rate: peak learning rate of AdamW for an MLP, with cosine decay to 0.
            weight_decay: weight decay of AdamW for an MLP, on the whitened weights.
            seed: seed for the order of the tokens and the initial weights of an MLP; linear probes have no chance.

        """
        if kind not in KINDS:
            raise AliceError(f"the kind of probe {kind!r} is unknown; choose one of {', '.join(KINDS)}")
        if min(hidden, epochs, batch_size, passes) < 1:
            raise AliceError("hidden, epochs, batch_size and passes of a probe must be 1 or more")
        self.kind, self.hidden, self.epochs, self.batch_size = kind, hidden, epochs, batch_size
        self.penalty, self.passes, self.tolerance = penalty, passes, tolerance
        self.learning_rate, self.weight_decay, self.seed = learning_rate, weight_decay, seed
        self._classes: tuple[int, ...] = ()
        self._single = True
        self._weights: dict[str, Tensor] = {}
        self.fit_: LinearFit | None = None
        """The fit of linear probes, with what is known of its convergence."""

    def fit(self, pairs: Sequence[Pair], classes: int | Sequence[int], *, start: Self | None = None) -> Self:
        """Train on pairs (X, y), with one shard in memory at a time, or more if they are small.

        Args:
            pairs: shard `pairs[i]` is X (layer, token, d) with y (token,) for one task, or (task, token) for several; a
                list, or a sequence that loads shards on access. Labels are 0 to classes - 1, or IGNORED.
            classes: number of classes; one number per task if there are several.
            start: linear probes for the same tasks to start from, which saves passes.

        """
        self._single = isinstance(classes, int)
        self._classes = (classes,) if isinstance(classes, int) else tuple(classes)
        if self.kind == "linear":
            self.fit_ = fit_linear(
                pairs,
                self._classes,
                penalty=self.penalty,
                passes=self.passes,
                tolerance=self.tolerance,
                start=start.fit_ if start else None,
            )
            self._weights = {"out_weight": self.fit_.weight, "out_bias": self.fit_.bias}
            return self
        conditioner = Conditioner.measure((x for x, _ in each(pairs)), floor=FLOOR)
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
            self._loss(_folded(weights, conditioner), x, y).backward()
            optimizer.step()
        with torch.no_grad():
            self._weights = _folded(weights, conditioner)
        return self

    @property
    def objective_(self) -> Tensor:
        """Penalised loss of linear probes, in nats per label, (layer, task)."""
        if self.fit_ is None:
            raise AliceError("these are not trained linear probes; call fit first")
        return self.fit_.objective

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
        """Return the initial weights of an MLP, the same for each layer and task: no probe depends on the others."""
        layers, _, width = like.shape
        generator = torch.Generator().manual_seed(self.seed)
        total, tasks = sum(self._classes), len(self._classes)
        drawn = torch.randn(width, self.hidden, generator=generator) / width**0.5
        weights = {
            "in_weight": drawn.repeat(layers, 1, tasks),
            "in_bias": torch.zeros(layers, 1, self.hidden * tasks),
            "out_weight": torch.zeros(layers, self.hidden, total),
            "out_bias": torch.zeros(layers, 1, total),
        }
        return {name: weight.to(like).requires_grad_() for name, weight in weights.items()}

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


def _folded(weights: dict[str, Tensor], conditioner: Conditioner) -> dict[str, Tensor]:
    """Return the weights of an MLP that apply to the raw activations."""
    weight, bias = conditioner.fold(weights["in_weight"], weights["in_bias"])
    return weights | {"in_weight": weight, "in_bias": bias}
