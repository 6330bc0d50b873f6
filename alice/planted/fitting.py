"""Trains the nodes of a circuit one after another, from random weights, to compute the variables of the program.

Each node sees real texts as the nodes before it leave them. What different variables are computed from is exchanged
between texts, so that a node learns to compute each variable from its own input alone.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812

from alice.causal import Part
from alice.model import Alice
from alice.planted.masks import Masks, trainable
from alice.planted.programs import FREQUENCY_FACTORS, SPACE, Values, is_letter, neighbour_of, present, values_of
from alice.planted.start import Weights
from alice.planted.wiring import (
    ACTIVE,
    BESIDE,
    CONSTANT,
    CONTEXT,
    COUNT,
    FLAG,
    FREQUENCY,
    MAGNIFIED,
    OTHER,
    RATIO,
    RESERVED,
    SHARE,
    Wiring,
    readings,
)
from alice.text import ENGLISH

COUNT_MARGIN = 0.0017
"""How far below its edge a ratio is compared: half of what the nearest ratios of a text of usual length differ by."""
COUNT_STEEPNESS = 400.0
"""`count` is the hyperbolic tangent of this times what the ratio exceeds the edge by, times `COUNT_HEIGHT`."""
COUNT_HEIGHT = 4.0
SLOPE = 16.0
"""Standard deviation of the slopes of units before training."""


@dataclass(frozen=True)
class Schedule:
    """How long and how fast a node is trained."""

    steps: int
    lr: float
    batch: int
    """Number of rows in a step."""


@dataclass(frozen=True, eq=False)
class Inputs:
    """What a node reads at one place of each symbol of each text, as its norm leaves it."""

    rows: Tensor
    """(row, d_model)."""
    wanted: Tensor
    """What the coordinates of variables should be, (row, d_model)."""
    symbols: Tensor
    """(row,), likewise the two below."""
    frequency: Tensor
    context: Tensor

    @property
    def letters(self) -> Tensor:
        """Numbers of the rows that belong to letters."""
        return is_letter(self.symbols).nonzero()[:, 0]


@torch.no_grad()
def inputs_of(model: Alice, wiring: Wiring, part: Part, batches: Iterator[Tensor]) -> Inputs:
    """Collect what a node reads."""
    found = []
    for ids in batches:
        values, here = values_of(wiring.program, ids), present(ids)
        place = (F.one_hot(ids, ENGLISH.size) * torch.rand(*ids.shape, 1)).argmax(1)  # (batch, symbol)
        rows = _read(model, part, ids).gather(1, place.unsqueeze(-1).expand(-1, -1, model.config.d_model))
        symbols = torch.arange(ENGLISH.size).expand_as(here)
        columns = (rows, wanted_of(wiring, values, place), symbols, values.frequency, values.context)
        found.append([tensor[here] for tensor in columns])
    return Inputs(*(torch.cat(column) for column in zip(*found, strict=True)))


def _read(model: Alice, part: Part, ids: Tensor) -> Tensor:
    """Return the normalised stream that a node reads, a head's averaged by its attention, (batch, pos, d_model)."""
    block: Any = model.blocks[part.block]
    start = f"blocks.{part.block}."
    names = [start + "hook_resid_mid"] if part.head is None else [start + "hook_resid_pre", start + "attn.hook_pattern"]
    _, cache = model.run_with_cache(ids, names_filter=names, stop_at_layer=part.block + 1)
    if part.head is None:
        return block.ln2(cache[names[0]])
    return cache[names[1]][:, part.head] @ block.ln1(cache[names[0]])


def wanted_of(wiring: Wiring, values: Values, place: Tensor) -> Tensor:
    """Return what the coordinates of variables should be at places of symbols, (batch, symbol, d_model)."""
    wanted = torch.zeros(*place.shape, RESERVED.stop)
    letters, members = is_letter(torch.arange(ENGLISH.size)), F.one_hot(values.ids, ENGLISH.size).float()
    counts = members.sum(1)
    ratio = letters * counts / (counts + counts[:, SPACE, None]).clamp(min=1)
    wanted[..., RATIO.start], wanted[..., ACTIVE.start] = MAGNIFIED * ratio, 1.0
    for number, factor in enumerate(FREQUENCY_FACTORS):
        edge = 1 / (1 + factor) - COUNT_MARGIN
        wanted[..., COUNT.start + number] = COUNT_HEIGHT * (COUNT_STEEPNESS * (ratio - edge)).tanh()
        wanted[..., FREQUENCY.start + number] = letters * (values.frequency > number)
    wanted[..., OTHER.start] = (~letters).float()
    for name in set(wiring.noticing) - {"single"}:
        count = wanted[..., COUNT.start + name.endswith("frequent")].gather(1, neighbour_of(name, values.ids))
        wanted[..., BESIDE.start + name.startswith("before")] = count.gather(1, place)
    flags = torch.stack([values.flags[name].float() for name in wiring.program.flags]).mean(0)
    wanted[..., FLAG.start] = letters * flags.gather(1, place)
    wanted[..., SHARE.start] = MAGNIFIED * torch.einsum("bps,bp->bs", members, flags) / counts.clamp(min=1)
    for number in range(wiring.program.contexts - 1):
        wanted[..., CONTEXT.start + number] = letters * (values.context > number)
    return wanted


def fit_node(model: Alice, wiring: Wiring, part: Part, inputs: Inputs, schedule: Schedule) -> float:
    """Train a node by regression on what it should write; return the last loss."""
    mine = [reading for reading in readings(wiring) if reading.part == part]
    letters, everything = inputs.letters, torch.arange(len(inputs.rows))
    written = [coordinate for reading in mine for coordinate in reading.writes]
    if part.head is None:
        _spread(model.blocks[part.block], inputs.rows, [coordinate for reading in mine for coordinate in reading.reads])

    def loss() -> Tensor:
        mixed = inputs.rows[torch.randint(len(inputs.rows), (schedule.batch,))]
        wanted = torch.zeros_like(mixed)
        for reading in mine:
            rows = everything if OTHER.start in (*reading.reads, *reading.writes) else letters
            rows = rows[torch.randint(len(rows), (schedule.batch,))]
            mixed[:, reading.reads] = inputs.rows[rows][:, reading.reads]
            wanted[:, reading.writes] = inputs.wanted[rows][:, reading.writes]
        return (_written(model, part, mixed) - wanted)[:, written].square().sum(-1).mean()

    return _minimise(loss, model, trainable(model, wiring, [part]), schedule)


@torch.no_grad()
def _spread(block: Any, rows: Tensor, reads: list[int]) -> None:
    """Start every unit with an edge at the value that one of the coordinates has in a random row.

    Edges of units with random weights lie near zero, far from those that the variables ask for.
    """
    gate, up = block.mlp.gate_up.weight.zero_().chunk(2)
    units = torch.arange(len(gate))
    chosen = torch.tensor(reads)[torch.randint(len(reads), (len(gate),))]
    slopes, edges = SLOPE * torch.randn(len(gate)), rows[torch.randint(len(rows), (len(gate),)), chosen]
    gate[units, chosen], gate[units, CONSTANT] = slopes, -slopes * edges
    up[units, CONSTANT] = 0.5 * torch.randn(len(up))
    block.mlp.down.weight *= 0.1


def _written(model: Alice, part: Part, rows: Tensor) -> Tensor:
    """Return what a node writes if it reads these rows, (row, d_model) -> the same."""
    block: Any = model.blocks[part.block]
    if part.head is None:
        return block.mlp(rows)
    _, _, values, out = Weights(model).head(part, grad=True)
    return F.linear(F.linear(rows, values), out)


def fit_table(model: Alice, wiring: Wiring, inputs: Inputs, schedule: Schedule) -> float:
    """Train the table and the unembedding on texts between which both variables are exchanged; return the last loss."""
    letters, table = inputs.letters, wiring.program.table

    def loss() -> Tensor:
        base = torch.randint(len(inputs.rows), (schedule.batch,))
        first, second = letters[torch.randint(len(letters), (2, schedule.batch))]
        mixed = inputs.rows[base]
        mixed[:, FREQUENCY] = inputs.rows[first][:, FREQUENCY]
        mixed[:, CONTEXT] = inputs.rows[second][:, CONTEXT]
        answers = table[inputs.frequency[first], inputs.context[second]]
        wanted = torch.where(is_letter(inputs.symbols[base]), answers, inputs.symbols[base])
        return F.cross_entropy(model.head.unembed(mixed + _written(model, wiring.table, mixed)), wanted)

    return _minimise(loss, model, trainable(model, wiring, [wiring.table]), schedule)


def _minimise(loss: Callable[[], Tensor], model: Alice, changeable: Masks, schedule: Schedule) -> float:
    """Minimise a loss by the weights that may change; return its last value."""
    weights = {name: weight for name, weight in model.named_parameters() if changeable[name].any()}
    optimizer, scheduler = optimizer_of(list(weights.values()), schedule.lr, schedule.steps)
    found = torch.tensor(0.0)
    for _ in range(schedule.steps):
        found = loss()
        optimizer.zero_grad()
        found.backward()
        for name, weight in weights.items():
            weight.grad = None if weight.grad is None else weight.grad * changeable[name]
        optimizer.step()
        scheduler.step()
    return found.item()


def optimizer_of(
    weights: list[torch.nn.Parameter], lr: float, steps: int
) -> tuple[torch.optim.Optimizer, torch.optim.lr_scheduler.LRScheduler]:
    """Return AdamW without decay and its schedule, which warms up to `lr` and goes down to nothing."""
    optimizer = torch.optim.AdamW(weights, lr=lr, betas=(0.9, 0.98), weight_decay=0.0)
    return optimizer, torch.optim.lr_scheduler.OneCycleLR(optimizer, lr, total_steps=max(steps, 2), pct_start=0.1)
