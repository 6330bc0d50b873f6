"""Single features as detectors of concepts, and the counts from which they are chosen."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from torch import Tensor

from alice.plugins.builtin.features.autoencoders import Autoencoders
from alice.statistics import Floats, Ints

LEVELS = (0.0, 0.25, 0.5)
"""Thresholds at which a feature may detect a concept, as shares of its largest activation on training texts."""


class Overlap:
    """Counts how often each feature of each layer is active together with each concept, at every level."""

    def __init__(self, autoencoders: Autoencoders, peaks: Tensor, concepts: int) -> None:
        """Start with nothing counted; `peaks` are the largest activations, (layer, feature)."""
        layers, features, _ = autoencoders.encoder.shape
        self._autoencoders, self._peaks = autoencoders, peaks
        self.both = torch.zeros(layers, len(LEVELS), features, concepts)
        """Characters with the feature and the concept, (layer, level, feature, concept)."""
        self.active = torch.zeros(layers, len(LEVELS), features)
        """Characters with the feature, (layer, level, feature)."""
        self.members = torch.zeros(concepts)
        """Characters with the concept, (concept,)."""

    def add(self, streams: Tensor, members: Tensor) -> None:
        """Add characters: their streams, (layer, token, d_model), and concepts, (token, concept)."""
        members = members.float()
        self.members += members.sum(0).cpu()
        for layer, stream in enumerate(streams):
            found = self._autoencoders.encode(stream, layer)
            for number, level in enumerate(LEVELS):
                on = (found > level * self._peaks[layer]).float()
                self.active[layer, number] += on.sum(0).cpu()
                self.both[layer, number] += (on.T @ members).cpu()

    @property
    def f1(self) -> Tensor:
        """F1 of each feature for each concept, (layer, level, feature, concept); 0 where neither occurs."""
        whole = self.active[..., None] + self.members
        return torch.where(whole > 0, 2 * self.both / whole.clamp(min=1), 0.0)


@dataclass(frozen=True, eq=False)
class Detectors:
    """Single features that detect concepts; the arrays are (layer, detector)."""

    features: Ints
    """Number of the feature."""
    levels: Ints
    """Number of its threshold in LEVELS."""
    concepts: Ints
    """Number of the concept that it detects."""
    f1: Floats
    """F1 on the texts on which it was chosen."""

    @classmethod
    def by_concept(cls, f1: Tensor) -> Self:
        """Choose the best feature and level for each concept, from F1 (layer, level, feature, concept)."""
        features, concepts = f1.shape[2:]
        best, place = f1.flatten(1, 2).max(1)  # (layer, concept)
        which = np.broadcast_to(np.arange(concepts), place.shape)
        return cls(*(np.asarray(array) for array in (place % features, place // features, which, best.double())))

    @classmethod
    def by_feature(cls, f1: Tensor, features: Ints) -> Self:
        """Choose the best concept and level for given features, (layer, feature)."""
        concepts = f1.shape[3]
        rows = torch.arange(len(f1))[:, None]
        chosen = f1.transpose(1, 2)[rows, torch.from_numpy(features)]  # (layer, chosen, level, concept)
        best, place = chosen.flatten(2).max(2)
        return cls(features, *(np.asarray(array) for array in (place // concepts, place % concepts, best.double())))

    def found(self, activations: Tensor, peaks: Tensor, layer: int) -> Tensor:
        """Return where the detectors of a layer respond, activations (token, feature) -> (token, detector)."""
        features, levels = (torch.from_numpy(array[layer]).to(peaks.device) for array in (self.features, self.levels))
        shares = torch.tensor(LEVELS, device=peaks.device)[levels]
        return activations[:, features] > shares * peaks[layer, features]
