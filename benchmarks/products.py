"""The matrix products of a model's blocks, alone: what a machine could do if nothing else had to be done."""

from collections.abc import Iterable

import torch
from torch import Tensor

from alice.model.config import ModelConfig

Shape = tuple[int, int, int]
"""Rows, inner, columns."""


def forward_shapes(config: ModelConfig, tokens: int) -> list[Shape]:
    """Return the products of one layer's forward pass."""
    d, f = config.d_model, config.d_mlp
    return [(tokens, d, 3 * d), (tokens, d, d), (tokens, d, 2 * f), (tokens, f, d)]


def training_shapes(config: ModelConfig, tokens: int) -> list[Shape]:
    """Return the products of one layer's forward and backward pass."""
    return [
        shape
        for rows, inner, columns in forward_shapes(config, tokens)
        for shape in ((rows, inner, columns), (rows, columns, inner), (columns, rows, inner))
    ]


def flops(shapes: Iterable[Shape]) -> float:
    """Return the operations of products, two for each multiply-add."""
    return sum(2.0 * rows * inner * columns for rows, inner, columns in shapes)


class Products:
    """Products of these shapes, to be carried out as often as you like."""

    def __init__(self, shapes: Iterable[Shape]) -> None:
        self.shapes = list(shapes)
        self._matrices: dict[tuple[int, int], Tensor] = {}
        for rows, inner, columns in self.shapes:
            for size in ((rows, inner), (inner, columns)):
                if size not in self._matrices:
                    self._matrices[size] = torch.randn(size)

    def __call__(self) -> None:
        """Multiply."""
        for rows, inner, columns in self.shapes:
            self._matrices[rows, inner] @ self._matrices[inner, columns]
