"""The texts of a context with their counterfactuals, batch by batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from alice.text import Counterfactuals, Pair, Words

if TYPE_CHECKING:
    from alice.plugins.context import RunContext

WORD_TEXTS = 2000
"""Training texts whose words replace others."""


class Pairs:
    """Pairs of clean and corrupted batches on the model's device; iterate as often as you like."""

    def __init__(self, ctx: RunContext, kind: str) -> None:
        # Words come from the training split, so that no test text leaks into the counterfactual of another.
        words = Words(ctx.training_texts(WORD_TEXTS) or ctx.plaintexts)
        self.counterfactuals = Counterfactuals(kind, ctx.alphabet, words, seed=ctx.seed)
        """Makes the pairs, also of batches that are not in the context."""
        self._batches = ctx.batches
        self._last: tuple[int, Pair] | None = None  # one is kept; more would take memory that grows with the texts

    def __len__(self) -> int:
        return len(self._batches)

    def __getitem__(self, number: int) -> Pair:
        if self._last is None or self._last[0] != number:
            self._last = number, self.counterfactuals.pair(self._batches[number])
        return self._last[1]

    def __iter__(self) -> Iterator[Pair]:
        return (self[number] for number in range(len(self)))
