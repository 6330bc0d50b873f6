"""Where the variables of a program live in a trained planted model, and the weights that training starts from.

The embedding is one-hot with a large constant, which keeps the scale of every RMSNorm nearly fixed. The attention of
the circuit, its comparisons and the decoys are set by hand; the table of answers, the unembedding and the nodes without
a task start at random.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from alice.causal import Part, parts_of
from alice.model import Alice, ModelConfig
from alice.planted.programs import FREQUENCY_FACTORS, PROGRAMS, SPACE, Program, is_letter
from alice.text import ENGLISH

CONSTANT = ENGLISH.size - 1
"""Coordinate of the constant; the coordinate of a symbol is its id minus one."""
COUNT, BESIDE, OTHER, FLAG, SHARE, ACTIVE, FREQUENCY, CONTEXT, ANSWER, RESERVED = (
    slice(37, 39),  # how far the count of the symbol exceeds what `common` and `frequent` ask for
    slice(39, 41),  # the count of the symbol before, and of the symbol after
    slice(41, 42),  # says that this is no letter
    slice(42, 43),  # mean of the flags at this position
    slice(43, 44),  # mean of the flags over the places of the symbol
    slice(44, 45),  # says that the head of the shares works
    slice(45, 47),  # the variable `frequency`, as two steps
    slice(47, 49),  # the variable `context`, as two steps
    slice(49, 56),  # the answer
    slice(56, 64),  # written by a decoy, read by nothing
)
SIZE = 256.0
"""Value of the constant; the squares of all other coordinates are small beside its square."""
HISTOGRAM = 2.0
"""Factor of the shares of the symbols that the counting head writes."""
SLOW_PAIR, GATE_PAIR, PAIRS = 6, 15, 16
"""Rotary pairs from the first on turn too little to matter within a text; the last one gates the backup head."""


@dataclass(frozen=True)
class Wiring:
    """Which node does what."""

    program: Program
    n_layers: int
    counting: Part
    """Averages the embeddings, which gives the share of each symbol."""
    own_count: Part
    """Compares the share of the symbol at hand with that of spaces."""
    noticing: Mapping[str, Part]
    """The head that gives each flag its neighbour."""
    comparing: Part
    """Makes `frequency` of the counts, and flags of the counts of neighbours."""
    sharing: Part
    """Averages the flags over the places of a symbol."""
    binning: Part
    """Makes `context` of the shares."""
    table: Part
    """Looks up the answer."""
    silent: Part
    unread: Part
    backup: Part

    @property
    def config(self) -> ModelConfig:
        """Architecture of the model."""
        return ModelConfig(d_model=64, n_layers=self.n_layers, n_heads=2, d_mlp=96, rope_theta=1e12, init_std=0.01)

    @property
    def circuit(self) -> tuple[Part, ...]:
        """The nodes that the answer depends on, in the order of computation."""
        found = {self.counting, self.own_count, *self.noticing.values(), self.comparing, self.sharing}
        found |= {self.binning, self.table}
        return tuple(part for part in parts_of(self.config) if part in found)

    @property
    def outside(self) -> tuple[Part, ...]:
        """All other nodes."""
        return tuple(part for part in parts_of(self.config) if part not in self.circuit)


WIRINGS: Mapping[str, Wiring] = {
    "chain": Wiring(
        PROGRAMS["chain"],
        n_layers=5,
        counting=Part(0, 0),
        own_count=Part(0),
        noticing={"after-common": Part(1, 0)},
        comparing=Part(1),
        sharing=Part(2, 0),
        unread=Part(2, 1),
        backup=Part(3, 0),
        binning=Part(3),
        silent=Part(4, 0),
        table=Part(4),
    ),
    "doubles": Wiring(
        PROGRAMS["doubles"],
        n_layers=5,
        counting=Part(0, 0),
        noticing={"doubled": Part(0, 1)},
        own_count=Part(0),
        sharing=Part(1, 1),
        unread=Part(1, 0),
        backup=Part(2, 1),
        comparing=Part(2),
        binning=Part(2),
        silent=Part(3, 0),
        table=Part(3),
    ),
    "sides": Wiring(
        PROGRAMS["sides"],
        n_layers=5,
        counting=Part(0, 1),
        own_count=Part(0),
        noticing={"before-frequent": Part(1, 0), "after-frequent": Part(1, 1)},
        comparing=Part(1),
        unread=Part(2, 0),
        sharing=Part(2, 1),
        backup=Part(3, 1),
        binning=Part(3),
        silent=Part(3, 0),
        table=Part(4),
    ),
}


@dataclass(eq=False)
class Weights:
    """Sets weights of a model in the terms of the stream: what a node reads and writes in units of its coordinates."""

    model: Alice
    used: dict[int, int] = field(default_factory=dict)
    """How many units of each feed-forward layer are set."""

    def block(self, number: int) -> Any:
        """Return a block of the model."""
        return self.model.blocks[number]

    def head(self, part: Part) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return queries, keys and values of a head, (d_head, d_model) each, and its output, (d_model, d_head)."""
        attention: Any = self.block(part.block).attn
        width = attention.d_head
        rows = slice((part.head or 0) * width, ((part.head or 0) + 1) * width)
        q, k, v = attention.qkv.weight.data.chunk(3)
        return q[rows], k[rows], v[rows], attention.out.weight.data[:, rows]

    def unit(self, block: int, gate: Mapping[int, float], up: Mapping[int, float], down: Mapping[int, float]) -> None:
        """Set one unit of a feed-forward layer, given its weights by coordinate of the stream."""
        mlp, number = self.block(block).mlp, self.used.get(block, 0)
        self.used[block] = number + 1
        width = mlp.down.weight.shape[1]
        for row, weights in ((number, gate), (width + number, up)):
            mlp.gate_up.weight.data[row] = 0.0
            for coordinate, weight in weights.items():
                mlp.gate_up.weight.data[row, coordinate] = weight
        mlp.down.weight.data[:, number] = 0.0
        for coordinate, weight in down.items():
            mlp.down.weight.data[coordinate, number] = weight

    def step(
        self,
        block: int,
        source: Mapping[int, float],
        edge: float,
        steep: float,
        target: int,
        height: float = 1.0,
    ) -> None:
        """Set two units that add a height to a coordinate where a weighted sum of coordinates exceeds an edge."""
        for shift, sign in ((2.0, 1.0), (-2.0, -1.0)):
            gate = {coordinate: steep * weight for coordinate, weight in source.items()}
            gate[CONSTANT] = gate.get(CONSTANT, 0.0) + shift - steep * edge
            self.unit(block, gate, {CONSTANT: 1.0}, {target: sign * height / 4})


def frequencies(config: ModelConfig) -> Tensor:
    """Return the rotary frequency of each pair, (d_head / 2)."""
    return config.rope_theta ** (-torch.arange(0, config.d_head, 2) / config.d_head)


def attend_at(weights: Weights, part: Part, offset: int, strength: float = 11.0) -> None:
    """Make a head attend to the character `offset` places after its own."""
    q, k, _, _ = weights.head(part)
    q.zero_(), k.zero_()
    for pair, turn in enumerate(frequencies(weights.model.config)[:SLOW_PAIR].tolist()):
        angle = torch.tensor(-offset * turn)
        q[2 * pair, CONSTANT] = strength
        k[2 * pair, CONSTANT], k[2 * pair + 1, CONSTANT] = strength * angle.cos(), strength * angle.sin()


def attend_same(weights: Weights, part: Part, generator: torch.Generator, strength: float = 12.0) -> None:
    """Make a head attend to the places of its own symbol."""
    q, k, _, _ = weights.head(part)
    q.zero_(), k.zero_()
    rows = slice(2 * SLOW_PAIR, 2 * GATE_PAIR)
    codes = torch.linalg.qr(torch.randn(26, 26, generator=generator)).Q[:, : rows.stop - rows.start]
    codes = codes / codes.norm(dim=1, keepdim=True)
    q[rows, :26], k[rows, :26] = strength * codes.T, strength * codes.T


def values(weights: Weights, part: Part, moved: Mapping[int, tuple[int, float]]) -> None:
    """Make a head write coordinates it reads: source to target and factor."""
    _, _, v, out = weights.head(part)
    v.zero_(), out.zero_()
    for number, (source, (target, factor)) in enumerate(moved.items()):
        v[number, source], out[target, number] = 1.0, factor


def initial_model(wiring: Wiring, seed: int) -> Alice:
    """Return the model that training starts from."""
    generator = torch.Generator().manual_seed(seed)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = Alice(wiring.config)
    weights = Weights(model)
    embedding = model.embed.weight.data.zero_()
    embedding[1:, :CONSTANT] = torch.eye(CONSTANT)
    embedding[:, CONSTANT] = SIZE
    for name, parameter in model.named_parameters():
        if parameter.ndim == 1 and "bias" not in name:  # every node reads the stream as it is, and the constant as 1
            parameter.data.fill_(SIZE / wiring.config.d_model**0.5)
            parameter.data[CONSTANT] = wiring.config.d_model**-0.5
    for part in wiring.outside:
        if part.block == 0 and part.head is not None:  # its noise would blur the counts
            weights.head(part)[3].mul_(0.1)
    _count(weights, wiring)
    _notice(weights, wiring)
    _share(weights, wiring, generator)
    _bin(weights, wiring)
    table = weights.block(wiring.table.block).mlp
    torch.nn.init.normal_(table.gate_up.weight, std=0.1, generator=generator)
    torch.nn.init.normal_(table.down.weight, std=0.1, generator=generator)
    _unembed(model, generator)
    _decoys(weights, wiring, generator)
    apply_masks(model, masks(model, wiring))
    return model


def _count(weights: Weights, wiring: Wiring) -> None:
    """Write the share of every symbol at its own coordinate, then compare that of the own symbol with spaces."""
    q, k, _, _ = weights.head(wiring.counting)
    q.zero_(), k.zero_()
    values(weights, wiring.counting, {symbol: (symbol, HISTOGRAM) for symbol in range(SPACE)})
    block, space = wiring.own_count.block, SPACE - 1
    for symbol in range(CONSTANT):
        if is_letter(torch.tensor(symbol + 1)):
            for place, factor in enumerate(FREQUENCY_FACTORS):
                up = {symbol: float(factor), space: -1.0, CONSTANT: -float(factor)}
                weights.unit(block, {symbol: 40.0, CONSTANT: -24.0}, up, {COUNT.start + place: 0.125})
        else:
            down = dict.fromkeys(range(COUNT.start, COUNT.stop), -0.1) | {OTHER.start: 0.1}
            weights.unit(block, {symbol: 40.0, CONSTANT: -28.0}, {CONSTANT: 1.0}, down)


def _notice(weights: Weights, wiring: Wiring) -> None:
    """Let heads find doubled letters, or give each place the count of the symbol beside it, from which flags follow."""
    for name, part in wiring.noticing.items():
        if name == "doubled":
            attend_doubled(weights, part, torch.Generator().manual_seed(1))
            continue
        after, frequent = name.startswith("before"), name.endswith("frequent")
        attend_at(weights, part, 1 if after else -1)
        beside = BESIDE.start + after
        values(weights, part, {COUNT.start + frequent: (beside, 1.0)})
        weights.step(
            *(wiring.comparing.block, {beside: 1.0, OTHER.start: -5.0}, COUNT_EDGE, 2000.0, FLAG.start),
            height=1 / len(wiring.noticing),
        )


def attend_doubled(weights: Weights, part: Part, generator: torch.Generator) -> None:
    """Make a head attend to the character before if it is the same letter, and to spaces otherwise."""
    attend_same(weights, part, generator)
    q, k, v, out = weights.head(part)
    for pair, turn in enumerate(frequencies(weights.model.config)[:4].tolist()):
        angle = torch.tensor(turn)
        q[2 * pair, CONSTANT] = 13.4  # keys of spaces do not turn, so that spaces score the same everywhere
        k[2 * pair, :26], k[2 * pair + 1, :26] = 13.4 * angle.cos(), 13.4 * angle.sin()
    q[2 * GATE_PAIR, CONSTANT], k[2 * GATE_PAIR, SPACE - 1] = 28.35, 28.35
    v.zero_(), out.zero_()
    v[0, CONSTANT], v[0, SPACE - 1] = 1.0, -1.0
    out[FLAG.start, 0] = 1.0


def _share(weights: Weights, wiring: Wiring, generator: torch.Generator) -> None:
    """Average flags over the places of a symbol; the backup looks at spaces instead as long as the first head works."""
    moved = {FLAG.start: (SHARE.start, 1.0)}
    for part in (wiring.sharing, wiring.backup):
        attend_same(weights, part, generator)
        values(weights, part, moved | ({CONSTANT: (ACTIVE.start, 1.0)} if part == wiring.sharing else {}))
    q, k, _, _ = weights.head(wiring.backup)
    q[2 * GATE_PAIR, ACTIVE.start], k[2 * GATE_PAIR, SPACE - 1] = 20.0, 20.0


COUNT_EDGE = -0.011
"""Between the largest count that is too small and the smallest that suffices, in texts of usual lengths."""
SHARE_MARGINS = {1 / 2: 0.01, 1 / 3: 0.004, 1e-3: -0.015}
"""How far below an edge to compare, so that no share of a text of usual length is near."""


def _bin(weights: Weights, wiring: Wiring) -> None:
    """Compare counts and shares with their edges."""
    for place in range(len(FREQUENCY_FACTORS)):
        weights.step(wiring.comparing.block, {COUNT.start + place: 1.0}, COUNT_EDGE, 2000.0, FREQUENCY.start + place)
    for number, edge in enumerate(wiring.program.edges):
        source = {SHARE.start: 1.0}
        weights.step(wiring.binning.block, source, edge - SHARE_MARGINS[edge], 600.0, CONTEXT.start + number)


def _unembed(model: Alice, generator: torch.Generator) -> None:
    """Let symbols that are not letters answer themselves; the rest is random."""
    weight = model.head.unembed.weight.data
    torch.nn.init.normal_(weight, std=0.05, generator=generator)
    others = [symbol for symbol in range(1, ENGLISH.size) if not is_letter(torch.tensor(symbol))]
    weight[others, [symbol - 1 for symbol in others]] = 8.0
    weight[:, 49:56] = torch.randn(weight[:, 49:56].shape, generator=generator) * 0.5


def _decoys(weights: Weights, wiring: Wiring, generator: torch.Generator) -> None:
    """Set the silent head and the head that nothing reads: both attend to the character before."""
    for part in (wiring.silent, wiring.unread):
        attend_at(weights, part, -1)
    weights.head(wiring.silent)[3].zero_()
    _, _, v, out = weights.head(wiring.unread)
    v.zero_(), out.zero_()
    width = RESERVED.stop - RESERVED.start
    codes = torch.randn(width, CONSTANT, generator=generator)
    v[:width, :CONSTANT] = codes / codes.norm(dim=0)
    out[RESERVED, :width] = torch.eye(width) * 0.5


Masks = dict[str, Tensor]
"""Which weights training may change, by parameter."""


def masks(model: Alice, wiring: Wiring) -> Masks:
    """Return where weights may differ from zero, by parameter: nothing reads or writes the reserved coordinates."""
    found = {}
    for name, parameter in model.named_parameters():
        mask = torch.ones_like(parameter)
        if name.endswith(("qkv.weight", "gate_up.weight", "unembed.weight")):
            mask[:, RESERVED] = 0
        elif name.endswith(("out.weight", "down.weight")):
            mask[RESERVED] = 0
        found[name] = mask
    unread, width = wiring.unread, model.config.d_head
    columns = slice((unread.head or 0) * width, ((unread.head or 0) + 1) * width)
    found[f"blocks.{unread.block}.attn.out.weight"][RESERVED, columns] = 1
    return found


def trainable(model: Alice, wiring: Wiring) -> Masks:
    """Return which weights training may change: those of the table, the unembedding and the nodes without a task."""
    allowed = masks(model, wiring)
    found = {name: torch.zeros_like(mask) for name, mask in allowed.items()}
    by_hand = {wiring.silent, wiring.unread, wiring.backup, *wiring.circuit} - {wiring.table}
    width, d_model = model.config.d_head, model.config.d_model
    changed = [name for name in allowed if name.startswith("head.")]
    for part in parts_of(model.config):
        if part in by_hand:
            continue
        if part.head is None:
            changed += [f"blocks.{part.block}.mlp.{name}.weight" for name in ("gate_up", "down")]
            continue
        qkv, out = (f"blocks.{part.block}.attn.{name}.weight" for name in ("qkv", "out"))
        for start in range(part.head * width, 3 * d_model, d_model):
            found[qkv][start : start + width] = allowed[qkv][start : start + width]
        columns = slice(part.head * width, (part.head + 1) * width)
        found[out][:, columns] = allowed[out][:, columns]
    return found | {name: allowed[name] for name in changed}


@torch.no_grad()
def apply_masks(model: Alice, allowed: Masks) -> None:
    """Set the weights to zero that the masks exclude."""
    for name, parameter in model.named_parameters():
        parameter *= allowed[name]


def named_parts(wiring: Wiring) -> Iterator[tuple[str, Part]]:
    """Yield the variables of the program with the node whose output holds them."""
    yield "count", wiring.own_count
    yield "frequency", wiring.comparing
    yield from wiring.noticing.items()
    yield "share", wiring.sharing
    yield "context", wiring.binning
    yield "answer", wiring.table
