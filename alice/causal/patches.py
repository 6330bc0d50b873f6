"""Patches: activations of one run of a pair carried into the other, position by position or symbol by symbol.

Where a counterfactual keeps the places of words, an activation takes the place of the one at the same position. After
relabelling that would say nothing: the plaintext at every position is unchanged, while the head pools by the names of
the symbols. There every place of a symbol moves by the difference of the symbol's means in the two runs.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

import torch
from torch import Tensor

from alice.text import PAD, Alphabet, Pair

Into = Literal["corrupted", "clean"]
DIRECTIONS: tuple[Into, ...] = get_args(Into)
"""The run that is patched: clean activations go into the corrupted run (denoising), or the other way (noising)."""


@dataclass(frozen=True, eq=False)
class Patch:
    """Carries activations from one run of a pair into the other."""

    pair: Pair
    """The two texts."""
    alphabet: Alphabet
    """Their symbols."""
    into: Into
    """The run that receives them."""

    @property
    def ids(self) -> Tensor:
        """Cipher symbols of the run that is patched, (batch, pos)."""
        return (self.pair.corrupted if self.into == "corrupted" else self.pair.clean).cipher_ids

    @property
    def source_ids(self) -> Tensor:
        """Cipher symbols of the run that activations are taken from, (batch, pos)."""
        return (self.pair.clean if self.into == "corrupted" else self.pair.corrupted).cipher_ids

    @property
    def reader(self) -> Tensor:
        """Ids by which the patched stream is read, (batch, pos)."""
        return self.pair.reader if self.into == "corrupted" else self.pair.clean.cipher_ids

    def carried(self, target: Tensor, source: Tensor, where: Tensor | None = None) -> Tensor:
        """Return the activation of the patched run, (batch, pos, ...), with that of the other carried into it.

        `where`, (batch, pos), limits the patch to some places of the patched run.
        """
        here = self.pair.clean.mask if where is None else where
        here = here.reshape(*here.shape, *[1] * (target.ndim - 2))
        if not self.pair.by_symbol:
            return torch.where(here, source, target)
        return target + torch.where(here, self.at_places(self.shifts(target, source)), 0.0)

    def shifts(self, target: Tensor, source: Tensor) -> Tensor:
        """Return how far the mean of each symbol must move to be that of the other run, (batch, symbol, ...).

        A symbol that one of the runs does not have stays where it is.
        """
        (mine, here), (other, there) = self._members
        shape = (*here.shape, *target.shape[2:])
        shift = (other @ source.flatten(2) - mine @ target.flatten(2)).reshape(shape)
        return shift * (here & there).reshape(*here.shape, *[1] * (target.ndim - 2))

    def at_places(self, by_symbol: Tensor) -> Tensor:
        """Return a value per symbol, (batch, symbol, ...), at every place of the patched run, (batch, pos, ...)."""
        rows = torch.arange(len(self.ids), device=self.ids.device)[:, None]
        return by_symbol[rows, self.ids]

    @cached_property
    def _members(self) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """For each run, weights that average over the places of a symbol, (batch, symbol, pos), and who is present."""
        symbols = torch.arange(self.alphabet.size, device=self.ids.device)[:, None]
        found = []
        for ids in (self.ids, self.source_ids):
            member = ((ids[:, None, :] == symbols) & (symbols != PAD)).float()
            counts = member.sum(-1)
            found.append((member / counts.clamp(min=1).unsqueeze(-1), counts > 0))
        return found[0], found[1]
