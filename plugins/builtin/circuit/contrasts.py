"""The texts of a context as contrasts: the first half to score the edges on, the second half to test circuits on."""

from collections.abc import Iterator
from functools import cached_property

from torch import Tensor

from alice.causal import Graph
from alice.errors import AliceError
from alice.plugins.builtin.circuit.nodes import Contrast, contrast, output_means
from alice.plugins.context import RunContext
from alice.text import Batch, Pair


class Contrasts:
    """Contrasts of one half of the texts, batch by batch; nothing is kept."""

    def __init__(self, ctx: RunContext, *, counterfactual: str, replacement: str, testing: bool) -> None:
        """Split the texts of a context by their number; the means of `mean` are always those of the first half."""
        self.ctx, self.replacement, self.testing = ctx, replacement, testing
        self.options = {"counterfactual": counterfactual, "replacement": replacement}
        self.graph = Graph(ctx.model.config)
        self._counterfactuals = ctx.pairs(counterfactual).counterfactuals
        texts = len(ctx.plaintexts)
        if texts < 2:
            raise AliceError("there is one text only; give at least two, one to score edges on and one to test on")
        self._first_tested = (texts + 1) // 2
        if not any(self.pair(number) is not None for number in range(len(self))):
            half = "test circuits" if testing else "score edges"
            raise AliceError(f"no text to {half} on has a counterfactual; take more texts, or another counterfactual")

    def __len__(self) -> int:
        return len(self.ctx.batches)

    def pair(self, number: int) -> Pair | None:
        """Return the usable texts of this half in a batch; None if there are none."""
        pair = self._counterfactuals.pair(self.ctx.batches[number])
        rows = pair.usable & ((pair.clean.index >= self._first_tested) == self.testing)
        return pair.chosen(rows) if rows.any() else None

    def __iter__(self) -> Iterator[Contrast | None]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> Contrast | None:
        pair = self.pair(number)
        if pair is None:
            return None
        return contrast(self.ctx.model, self.graph, pair, replacement=self.replacement, means=self._means)

    @cached_property
    def _means(self) -> dict[str, Tensor]:
        if self.replacement != "mean":
            return {}
        halves = ((batch, batch.index < self._first_tested) for batch in self.ctx.batches)
        first: list[Batch] = [batch.chosen(rows) for batch, rows in halves if rows.any()]
        return output_means(self.ctx.model, first)
