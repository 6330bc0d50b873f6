"""What the model loses when the stream of a layer is replaced by what its features explain."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from alice.model import Alice
from alice.plugins.builtin.features.autoencoders import Autoencoders
from alice.statistics import Floats
from alice.text import Batch


@dataclass(frozen=True, eq=False)
class Reconstruction:
    """How well the features of each layer stand in for its stream, by text."""

    clean: Floats
    """Loss of the model itself, (text,): the mean over characters, in nats."""
    replaced: Floats
    """Loss with the reconstruction in place of the stream, (text, layer)."""
    ablated: Floats
    """Loss with the mean over training texts in place of the stream, (text, layer)."""
    unexplained: Floats
    """Squared distance of the reconstruction from the stream, summed over characters, (text, layer)."""
    variance: Floats
    """Squared distance of the mean from the stream, summed over characters, (text, layer)."""
    active: Floats
    """Active features per character, (text, layer)."""

    @classmethod
    def joined(cls, parts: dict[int, "Reconstruction"]) -> Self:
        """Join the numbers of single texts, by their number."""
        ordered = [parts[number] for number in sorted(parts)]
        return cls(**{name: np.stack([getattr(one, name) for one in ordered]) for name in vars(ordered[0])})


COLUMNS = ("replaced", "ablated", "unexplained", "variance", "active")
"""What is measured for each layer."""


@torch.no_grad()
def reconstruct(
    model: Alice, autoencoders: Autoencoders, batch: Batch, streams: list[Tensor]
) -> dict[int, Reconstruction]:
    """Measure the texts of a batch from its streams, one (batch, pos, d_model) per layer; by number of the text."""
    mask, columns = batch.mask, []
    for layer, stream in enumerate(streams):
        mean = autoencoders.mean[layer].to(stream.dtype).expand_as(stream)
        activations = autoencoders.encode(stream, layer)
        answer = autoencoders.decode(activations, layer).to(stream.dtype)
        losses = [loss_with(model, batch, stream, layer, instead) for instead in (answer, mean)]
        squares = [((stream - other).square().sum(-1) * mask).sum(1) for other in (answer, mean)]
        active = ((activations > 0).sum(-1) * mask).sum(1) / mask.sum(1)
        columns.append(torch.stack([*losses, *squares, active]))
    table = torch.stack(columns, -1).double().cpu().numpy()  # (column, batch, layer)
    clean = text_losses(model, batch, streams[-1]).double().cpu().numpy()
    return {
        number: Reconstruction(clean[row], **dict(zip(COLUMNS, table[:, row], strict=True)))
        for row, number in enumerate(batch.index.tolist())
    }


def loss_with(model: Alice, batch: Batch, stream: Tensor, layer: int, instead: Tensor) -> Tensor:
    """Return the loss of each text, (batch,), if something else takes the place of a layer's stream; padding stays."""
    changed = torch.where(batch.mask[..., None], instead, stream)
    return text_losses(model, batch, model.resid(batch.cipher_ids, stream=changed, start=layer))


def text_losses(model: Alice, batch: Batch, last: Tensor) -> Tensor:
    """Return the mean loss over the characters of each text, (batch,), from the stream after the last block."""
    losses = model.loss(last, batch.cipher_ids, batch.plain_ids, per_token=True)  # 0 at padding
    return losses.sum(1) / batch.mask.sum(1)
