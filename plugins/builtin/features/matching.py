"""Matches features with concepts on training texts, and tests the matches, beside linear probes, on held-out ones."""

from dataclasses import dataclass
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.plugins.builtin.features.autoencoders import Autoencoders
from alice.plugins.builtin.features.concepts import Concept, Concepts
from alice.plugins.builtin.features.detectors import Detectors, Overlap
from alice.plugins.context import RunContext
from alice.probes import LayerProbes, TokenPairs
from alice.probes.tokens import labels_of
from alice.statistics import Floats, Ints, RatioBootstrap
from alice.text import Batch

ALIKE = 2
"""Features of one layer that are shown although they have the same nearest concept."""
DRAWS = 1000
"""Weightings of the texts for intervals of F1."""


@dataclass(frozen=True, eq=False)
class Naming:
    """How well features and probes detect concepts on held-out texts."""

    concepts: tuple[Concept, ...]
    """The concepts."""
    members: Ints
    """Held-out characters with each concept, (concept,)."""
    characters: int
    """All held-out characters."""
    best: Detectors
    """The best feature for each concept, (layer, concept)."""
    f1: Floats
    """Its F1 on held-out texts, (layer, concept); NaN where neither occurs."""
    f1_draws: Floats
    """The same under each weighting of the texts, (draw, layer, concept)."""
    probe_f1: Floats
    """F1 of the linear probe, (layer, concept)."""
    probe_draws: Floats
    """The same under each weighting of the texts, (draw, layer, concept)."""
    nearest: Detectors
    """The concept that each shown feature detects best, (layer, shown)."""
    nearest_f1: Floats
    """Its F1 on held-out texts, (layer, shown)."""


class Matcher:
    """Features and probes that detect concepts, and their scores on the texts that are added."""

    def __init__(
        self,
        autoencoders: Autoencoders,
        peaks: Tensor,
        concepts: Concepts,
        *,
        overlap: Tensor,
        shown: Ints,
        rng: np.random.Generator,
    ) -> None:
        """Choose the best feature for each concept, and the best concept for each shown feature, (layer, shown).

        `peaks` are the largest activations, (layer, feature); `overlap` is F1 as `Overlap` has it; `rng` draws the
        weightings of the texts.
        """
        self.autoencoders, self.peaks, self.concepts = autoencoders, peaks, concepts
        self.best, self.nearest = Detectors.by_concept(overlap), Detectors.by_feature(overlap, shown)
        self.probes = LayerProbes("linear")
        self._members = np.zeros(len(concepts.each), dtype=np.int64)
        self._characters = 0
        columns = 2 * self.best.features.size + self.nearest.features.size
        self._scores = RatioBootstrap(rng, columns, draws=DRAWS)

    @classmethod
    def fit(cls, ctx: RunContext, autoencoders: Autoencoders, *, peaks: Floats, energy: Floats, shown: int) -> Self:
        """Match features with concepts and train linear probes on the texts of a context.

        Args:
            ctx: the texts.
            autoencoders: the features.
            peaks: largest activation of each feature on these texts, (layer, feature).
            energy: its mean square activation, (layer, feature).
            shown: how many features of each layer to show, as `strongest` chooses them.

        """
        concepts = Concepts.of(ctx.alphabet, ctx.plaintexts)
        largest = torch.from_numpy(peaks).float().to(ctx.device)
        every = np.ones(len(ctx.plaintexts), dtype=bool)
        pairs = TokenPairs(ctx.store(*autoencoders.hooks), autoencoders.hooks, concepts.tasks, every)
        overlap = Overlap(autoencoders, largest, len(concepts.each))
        for number in ctx.progress(range(len(pairs)), "Matching features with concepts"):
            streams, labels = pairs[number]
            overlap.add(streams, concepts.members(labels))
        f1, every_feature = overlap.f1, np.tile(np.arange(energy.shape[1]), (len(energy), 1))
        chosen = strongest(energy, Detectors.by_feature(f1, every_feature).concepts, shown)
        found = cls(autoencoders, largest, concepts, overlap=f1, shown=chosen, rng=ctx.rng)
        found.probes.fit(pairs, [task.classes for task in concepts.tasks])
        return found

    @torch.no_grad()
    def add(self, batch: Batch, streams: list[Tensor]) -> None:
        """Score the texts of a batch, from its streams, one (batch, pos, d_model) per layer."""
        tokens = batch.mask.flatten().nonzero()[:, 0]
        labels = labels_of(batch, self.concepts.tasks, tokens)
        inside = torch.stack([stream.flatten(0, 1)[tokens] for stream in streams])
        truth = self.concepts.members(labels)  # (token, concept)
        self._members += truth.sum(0).cpu().numpy()
        self._characters += len(tokens)
        answers, cases = self._answers(inside), self._cases(truth)
        rows = tokens // batch.cipher_ids.shape[1]
        self._scores.add(*_counts_by_text(answers, cases, rows, len(batch)))

    def _answers(self, streams: Tensor) -> Tensor:
        """Return what is detected, (token, column): by the best features, by the probes, and by the shown features."""
        predicted = self.probes.predict(streams)  # (task, layer, token)
        found = [self.autoencoders.encode(stream, layer) for layer, stream in enumerate(streams)]
        best, nearest = (
            [detectors.found(activations, self.peaks, layer) for layer, activations in enumerate(found)]
            for detectors in (self.best, self.nearest)
        )
        probes = [self.concepts.members(predicted[:, layer]) for layer in range(len(streams))]
        return torch.cat([*best, *probes, *nearest], 1)

    def _cases(self, truth: Tensor) -> Tensor:
        """Return what is the case in each of these columns, (token, concept) -> (token, column)."""
        nearest = torch.from_numpy(self.nearest.concepts.ravel()).to(truth.device)
        return torch.cat([truth.repeat(1, 2 * len(self.best.features)), truth[:, nearest]], 1)

    @property
    def naming(self) -> Naming:
        """The scores of all detectors on the texts that were added."""
        size, shape = self.best.features.size, self.best.features.shape
        values, draws = self._scores.ratio, self._scores.ratio_draws
        features, probes, shown = slice(size), slice(size, 2 * size), slice(2 * size, None)
        return Naming(
            concepts=self.concepts.each,
            members=self._members,
            characters=self._characters,
            best=self.best,
            f1=values[features].reshape(shape),
            f1_draws=draws[:, features].reshape(-1, *shape),
            probe_f1=values[probes].reshape(shape),
            probe_draws=draws[:, probes].reshape(-1, *shape),
            nearest=self.nearest,
            nearest_f1=values[shown].reshape(self.nearest.features.shape),
        )


def strongest(energy: Floats, concepts: Ints, count: int) -> Ints:
    """Return the features with most energy, at most ALIKE of each nearest concept while there are others.

    Args:
        energy: mean square activation, (layer, feature).
        concepts: the concept that each feature detects best, (layer, feature).
        count: features of each layer.

    """
    found = []
    for carried, nearest in zip(energy, concepts, strict=True):
        order = np.argsort(-carried, kind="stable")
        before = np.array([(nearest[order[:place]] == nearest[one]).sum() for place, one in enumerate(order)])
        late = (before >= ALIKE) | (carried[order] == 0)
        found.append(np.concatenate([order[~late], order[late]])[:count])
    return np.stack(found)


def _counts_by_text(answers: Tensor, cases: Tensor, rows: Tensor, texts: int) -> list[NDArray[np.int64]]:
    """Return twice the hits, and answers plus cases, of each text, (text, column): their ratio is F1.

    `rows` is the text of each token, (token,).
    """
    owner = torch.nn.functional.one_hot(rows, texts).float().T  # (text, token)
    hits, found, true = ((owner @ part.float()).long() for part in (answers & cases, answers, cases))
    return [part.cpu().numpy() for part in (2 * hits, found + true)]
