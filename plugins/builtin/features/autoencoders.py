"""Sparse autoencoders of the residual streams of all layers, ready to read texts with; `training` makes them."""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Self

import torch
from torch import Tensor

from alice.errors import AliceError

FEATURES = "features"
"""Name of the artefact."""


@dataclass(frozen=True, eq=False)
class Autoencoders:
    """A sparse autoencoder for each layer; layer 0 is the embedding, layer n the stream after block n - 1.

    A feature of a layer is a direction of unit length. Its activation at a character says how much of that direction
    the character's stream holds, in units of the stream; most activations are 0.
    """

    mean: Tensor
    """Mean of the stream over training texts, (layer, d_model): the reconstruction without any feature."""
    encoder: Tensor
    """Direction that each feature reads, (layer, feature, d_model)."""
    encoder_bias: Tensor
    """What is added to that reading, (layer, feature)."""
    decoder: Tensor
    """Direction that each feature stands for, of length 1, (layer, feature, d_model)."""
    threshold: Tensor
    """Activations up to this value count as 0, (layer,), so that those of a text do not depend on other texts."""

    @classmethod
    def of(cls, tensors: Mapping[str, Tensor]) -> Self:
        """Build them from the tensors of an artefact; raise if these are not autoencoders."""
        names = [field.name for field in fields(cls)]
        if set(tensors) != set(names):
            found = ", ".join(repr(name)[1:-1] for name in tensors)
            raise AliceError(f"these tensors are not features: expected {', '.join(names)}, found {found:.200}")
        encoder = tensors["encoder"]
        layers, features, width = encoder.shape if encoder.ndim == 3 else (0, 0, 0)
        shapes = [(layers, width), (layers, features, width), (layers, features)]
        shapes += [(layers, features, width), (layers,)]
        for name, shape in zip(names, shapes, strict=True):
            if tuple(tensors[name].shape) != shape:
                raise AliceError(f"{name} of these features has shape {tuple(tensors[name].shape)}, not {shape}")
            if not tensors[name].is_floating_point() or not tensors[name].isfinite().all():
                raise AliceError(f"{name} of these features has values that are not finite numbers")
        if not encoder.numel() or len({tensor.dtype for tensor in tensors.values()}) > 1:
            raise AliceError("these features are empty, or their tensors have different number types")
        return cls(**{name: tensors[name] for name in names})

    @property
    def tensors(self) -> dict[str, Tensor]:
        """The tensors of an artefact, by name."""
        return dict(vars(self))

    @property
    def hooks(self) -> list[str]:
        """The hook of each layer's stream."""
        return ["hook_embed", *(f"blocks.{block}.hook_resid_post" for block in range(len(self.encoder) - 1))]

    def to(self, device: torch.device | str) -> Self:
        """Return the autoencoders on another device."""
        return type(self)(**{name: tensor.to(device) for name, tensor in vars(self).items()})

    def encode(self, stream: Tensor, layer: int) -> Tensor:
        """Return the activations of a layer's features, (..., d_model) -> (..., feature), 0 where inactive."""
        if not 0 <= layer < len(self.encoder) or stream.shape[-1] != self.encoder.shape[-1]:
            layers, _, width = self.encoder.shape
            raise AliceError(
                f"these features read streams of width {width} at layers 0 to {layers - 1}, "
                f"not of width {stream.shape[-1]} at layer {layer}"
            )
        found = stream.to(self.encoder.dtype) @ self.encoder[layer].mT + self.encoder_bias[layer]
        return torch.where(found > self.threshold[layer], found, 0.0)

    def decode(self, activations: Tensor, layer: int) -> Tensor:
        """Return the stream that activations stand for, (..., feature) -> (..., d_model)."""
        return activations @ self.decoder[layer] + self.mean[layer]

    def reconstruct(self, stream: Tensor, layer: int) -> Tensor:
        """Return the part of a layer's stream that the features explain, (..., d_model), in the type of the stream."""
        return self.decode(self.encode(stream, layer), layer).to(stream.dtype)
