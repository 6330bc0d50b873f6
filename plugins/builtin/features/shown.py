"""The features that a page shows: where they are active, what the head reads in them, and what their removal costs."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from alice.model import Alice
from alice.plugins.builtin.features.autoencoders import Autoencoders
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints
from alice.text import Alphabet, Batch

CONTEXTS = 4
"""Texts in which a feature is shown."""
BEFORE, AFTER = 12, 11
"""Characters that are shown before and after the one with the largest activation."""


@dataclass(frozen=True, eq=False)
class Context:
    """A part of a text around the character at which a feature is most active."""

    text: int
    """Number of the text."""
    plain: str
    cipher: str
    activations: Floats
    """Activation at each character, (character,)."""


@dataclass(frozen=True, eq=False)
class Effects:
    """What removing features changes where they are active; the arrays are (layer, shown), NaN if never active."""

    direct: Floats
    """How much each feature raises the log-probability of each symbol if the head reads this layer, (..., symbol)."""
    active: Floats
    """Change of the right answer's log-probability without the feature, at characters where it is active, in nats."""
    elsewhere: Floats
    """The same at other characters of these texts."""
    characters: Ints
    """Characters at which it is active."""


class EffectSums:
    """Sums what removing features changes, batch by batch."""

    def __init__(self, model: Alice, autoencoders: Autoencoders, features: Ints) -> None:
        """Start with nothing summed; `features` are the numbers of those to remove, (layer, shown)."""
        self._model, self._autoencoders, self._features = model, autoencoders, features
        self._direct = torch.zeros(*features.shape, model.alphabet.size, dtype=torch.float64)
        self._sums = torch.zeros(2, *features.shape, dtype=torch.float64)
        self._counts = torch.zeros(2, *features.shape, dtype=torch.int64)

    @torch.no_grad()
    def add(self, batch: Batch, streams: Sequence[Tensor]) -> None:
        """Add the texts of a batch, from its streams, one (batch, pos, d_model) per layer."""
        model, ids = self._model, batch.cipher_ids
        clean = model.loss(streams[-1], ids, batch.plain_ids, per_token=True)
        for layer, stream in enumerate(streams):
            activations = self._autoencoders.encode(stream, layer)
            read = model.log_probabilities(stream, ids)  # (batch, symbol, symbol)
            for place, feature in enumerate(self._features[layer].tolist()):
                value = torch.where(batch.mask, activations[..., feature], 0.0)
                if not (rows := (value > 0).any(1)).any():
                    continue
                part, on = batch.chosen(rows), value[rows] > 0
                removed = value[rows, :, None] * self._autoencoders.decoder[layer, feature]
                without = stream[rows] - removed.to(stream.dtype)
                change = read[rows] - model.log_probabilities(without, part.cipher_ids)
                row, position = on.nonzero(as_tuple=True)
                self._direct[layer, place] += change[row, part.cipher_ids[row, position]].double().sum(0).cpu()
                last = model.resid(part.cipher_ids, stream=without, start=layer)
                losses = model.loss(last, part.cipher_ids, part.plain_ids, per_token=True)
                for number, where in enumerate((on, part.mask & ~on)):
                    self._sums[number, layer, place] += float((clean[rows] - losses)[where].double().sum())
                    self._counts[number, layer, place] += int(where.sum())

    @property
    def means(self) -> Effects:
        """The means over characters."""
        count = torch.where(self._counts > 0, self._counts, torch.nan)
        active, elsewhere = (self._sums / count).numpy()
        direct = (self._direct / count[0, ..., None]).numpy()
        return Effects(direct, active, elsewhere, self._counts[0].numpy())


def contexts(ctx: RunContext, autoencoders: Autoencoders, features: Ints, peaks: Floats) -> list[list[list[Context]]]:
    """Return the texts in which each feature, (layer, shown), is most active, by layer and feature.

    `peaks` are the largest activations of each text, (text, layer, shown).
    """
    order = np.argsort(-peaks, axis=0, kind="stable")[:CONTEXTS]  # (context, layer, shown)
    wanted = set(order.ravel().tolist())
    found: dict[tuple[int, int, int], Context] = {}
    stored = ctx.activations(*autoencoders.hooks)
    for number, batch in enumerate(ctx.batches):
        if wanted.isdisjoint(batch.index.tolist()):
            continue
        batch, cache = stored[number]
        for row, text in enumerate(batch.index.tolist()):
            for _, layer, place in np.argwhere(order == text).tolist():
                if peaks[text, layer, place] > 0:
                    length = int(batch.mask[row].sum())
                    stream = cache[autoencoders.hooks[layer]][row, :length]
                    values = autoencoders.encode(stream, layer)[:, features[layer, place]].double().cpu().numpy()
                    found[layer, place, text] = _context(batch, row, text, values, ctx.alphabet)
    return [
        [
            [found[layer, place, text] for text in order[:, layer, place].tolist() if (layer, place, text) in found]
            for place in range(features.shape[1])
        ]
        for layer in range(len(features))
    ]


def _context(batch: Batch, row: int, text: int, values: Floats, alphabet: Alphabet) -> Context:
    centre = int(values.argmax())
    part = slice(max(0, centre - BEFORE), centre + AFTER + 1)
    plain, cipher = (
        alphabet.decode(ids[row, : len(values)].cpu().numpy()) for ids in (batch.plain_ids, batch.cipher_ids)
    )
    return Context(text, plain[part], cipher[part], values[part])
