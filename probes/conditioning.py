"""Whitening of activations while probes train, and its undoing: it speeds training up and adds nothing to a probe."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

from alice.errors import AliceError

FLOOR = 0.03
"""Directions with less than this share of a layer's largest variance are blown up no further.

Whitening them fully lets probes learn their noise. Of 1e-6, 0.01, 0.03 and 0.1, linear probes did best with 0.1 and
MLPs with 0.01, by a little; tried on texts 400 to 799 of the quotations' test side, which no default reads for probes.
"""


@dataclass(frozen=True, eq=False)
class Conditioner:
    """A fixed affine map for each layer after which features are uncorrelated and of variance one."""

    mean: Tensor
    """(layer, 1, d)."""
    matrix: Tensor
    """(layer, d, d)."""
    count: int
    """Tokens it was measured on."""

    @classmethod
    def measure(cls, activations: Iterable[Tensor]) -> Self:
        """Read activations (layer, token, d) once."""
        count, first = 0, None
        total = square = torch.zeros((), dtype=torch.float64)
        for x in activations:
            if not x.shape[1]:
                continue
            if first is None:
                first = x[:, :1].clone()  # a point among the data, so that their squares do not drown the variance
            near = x - first
            count += x.shape[1]
            total = total + near.sum(1, keepdim=True)
            square = square + near.mT @ near
        if first is None:
            raise AliceError("there is no token to train a probe on; give more texts")
        mean = total / count
        variances, directions = torch.linalg.eigh(square / count - mean.mT @ mean)
        largest = variances.amax(-1, keepdim=True)
        scale = torch.where(largest > 0, variances.clamp(min=FLOOR * largest), 1.0).rsqrt()
        return cls(mean.to(first.dtype) + first, (directions * scale[:, None]).to(first.dtype), count)

    def fold(self, weight: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
        """Return the weight and bias that do to activations what these do to whitened ones."""
        folded = self.matrix @ weight
        return folded, bias - self.mean @ folded
