"""Texts and parts as the explorer page knows them, for the links of reports that open it."""

from typing import TYPE_CHECKING, Any

from alice.causal import Part
from alice.text import Alphabet, Batch, Key

if TYPE_CHECKING:
    from alice.plugins.context import RunContext

State = dict[str, Any]
"""A state of the explorer; see reports/explorer/state.js."""


def text_state(batch: Batch, row: int, alphabet: Alphabet) -> State:
    """Return one text of a batch, with its key."""
    plain = alphabet.decode(batch.plain_ids[row].cpu().numpy())
    return {"plain": plain, "key": Key.from_array(batch.keys[row].cpu().numpy()).letters}


def example(ctx: "RunContext") -> State:
    """Return a text of middle length of a context, with its key."""
    return text_state(ctx.batches[len(ctx.batches) // 2], 0, ctx.alphabet)


def example_pair(ctx: "RunContext", kind: str) -> State:
    """Return a text with its key and its counterfactual as the second text; an empty state if no text has one."""
    pairs = ctx.pairs(kind)
    for number in sorted(range(len(pairs)), key=lambda number: abs(number - len(pairs) // 2)):
        kept = pairs[number].kept()
        if len(kept.clean):
            second = ctx.alphabet.decode(kept.corrupted.cipher_ids[0].cpu().numpy())
            return {**text_state(kept.clean, 0, ctx.alphabet), "second": second}
    return {}


def part_entry(part: Part) -> list[str | int]:
    """Return a part as a state names it."""
    return ["mlp", part.block] if part.head is None else ["head", part.block, part.head]
