"""Which weights of a trained planted model training may change."""

from collections.abc import Collection

import torch
from torch import Tensor

from alice.causal import Part, parts_of
from alice.model import Alice, ModelConfig
from alice.planted.programs import is_letter
from alice.planted.wiring import ANSWER, CONSTANT, RESERVED, Wiring, readings
from alice.text import ENGLISH

Masks = dict[str, Tensor]
"""Which weights training may change, by parameter."""


def masks(model: Alice, wiring: Wiring) -> Masks:
    """Return where weights may differ from zero, by parameter: nodes of the circuit keep to their coordinates.

    Nothing reads the reserved coordinates, and only the unread head writes to them.
    """
    found: Masks = {}
    for name, parameter in model.named_parameters():
        mask = torch.ones_like(parameter)
        if name.endswith(("qkv.weight", "gate_up.weight", "unembed.weight")):
            mask[:, RESERVED] = 0
        elif name.endswith(("out.weight", "down.weight")):
            mask[RESERVED] = 0
        found[name] = mask
    for part in wiring.circuit:
        mine = [reading for reading in readings(wiring) if reading.part == part]
        reads, writes = {CONSTANT}.union(*(one.reads for one in mine)), set().union(*(one.writes for one in mine))
        (reading, rows), (writing, columns) = places_of(model.config, part)
        found[reading][rows, :] *= _only(reads)
        found[writing][:, columns] *= _only(writes)[:, None]
    others = [symbol - 1 for symbol in range(1, ENGLISH.size) if not is_letter(torch.tensor(symbol))]
    found["head.unembed.weight"] *= _only({*others, CONSTANT, *range(ANSWER.start, ANSWER.stop)})
    _, (writing, columns) = places_of(model.config, wiring.unread)
    found[writing][RESERVED, columns] = 1
    return found


def places_of(config: ModelConfig, part: Part) -> tuple[tuple[str, slice], tuple[str, slice]]:
    """Return where the weights are that a node reads (rows; of a head, the values) and writes (columns) with."""
    if part.head is None:
        mlp = f"blocks.{part.block}.mlp"
        return (f"{mlp}.gate_up.weight", slice(None)), (f"{mlp}.down.weight", slice(None))
    attention, start = f"blocks.{part.block}.attn", part.head * config.d_head
    rows = slice(2 * config.d_model + start, 2 * config.d_model + start + config.d_head)
    return (f"{attention}.qkv.weight", rows), (f"{attention}.out.weight", slice(start, start + config.d_head))


def _only(kept: Collection[int]) -> Tensor:
    mask = torch.zeros(RESERVED.stop)
    mask[list(kept)] = 1
    return mask


def trainable(model: Alice, wiring: Wiring, parts: Collection[Part] | None = None) -> Masks:
    """Return which weights training may change: those of some nodes, or all but what is set by hand."""
    allowed = masks(model, wiring)
    found = {name: torch.zeros_like(mask) for name, mask in allowed.items()}
    if parts is None or wiring.table in parts:
        found |= {name: mask for name, mask in allowed.items() if name.startswith("head.")}
    decoys, d_model = {wiring.silent, wiring.unread, wiring.backup}, model.config.d_model
    for part in set(parts_of(model.config) if parts is None else parts) - decoys:
        (reading, rows), (writing, columns) = places_of(model.config, part)
        pieces = [rows]
        if part.head is not None and part in wiring.outside:  # a head without a task learns its queries and keys, too
            pieces += [slice(rows.start - back, rows.stop - back) for back in (d_model, 2 * d_model)]
        for piece in pieces:
            found[reading][piece] = allowed[reading][piece]
        found[writing][:, columns] = allowed[writing][:, columns]
    return found


@torch.no_grad()
def apply_masks(model: Alice, allowed: Masks) -> None:
    """Set the weights to zero that the masks exclude."""
    for name, parameter in model.named_parameters():
        parameter *= allowed[name]
