"""The weights that the training of a planted model starts from.

The embedding is one-hot with a large constant, which keeps the scale of every RMSNorm nearly fixed. It is set by hand,
and so are the decoys and what the heads of the circuit look at. Values and outputs of these heads, every feed-forward
layer, the unembedding and the nodes without a task start at random.
"""

from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from alice.causal import Part
from alice.model import Alice, ModelConfig
from alice.planted.masks import apply_masks, masks
from alice.planted.programs import SPACE, is_letter
from alice.planted.wiring import ACTIVE, ANSWER, CONSTANT, FLAG, MAGNIFIED, RESERVED, SHARE, Wiring
from alice.text import ENGLISH

SIZE = 256.0
"""Value of the constant; the squares of all other coordinates are small beside its square."""
MATCH = 2.75
"""Size of queries and keys that compare symbols."""
START = 0.5
"""Standard deviation of what nodes of the circuit read with, before training."""
SLOW_PAIR, GATE_PAIR = 6, 15
"""Rotary pairs from the first on turn too little to matter within a text; the last one gates the backup head."""


@dataclass(eq=False)
class Weights:
    """Sets weights of a model in the terms of the stream: what a node reads and writes in units of its coordinates."""

    model: Alice

    def block(self, number: int) -> Any:
        """Return a block of the model."""
        return self.model.blocks[number]

    def head(self, part: Part, *, grad: bool = False) -> tuple[Tensor, Tensor, Tensor, Tensor]:
        """Return queries, keys and values of a head, (d_head, d_model) each, and its output, (d_model, d_head)."""
        attention: Any = self.block(part.block).attn
        width = attention.d_head
        rows = slice((part.head or 0) * width, ((part.head or 0) + 1) * width)
        qkv, out = (linear.weight if grad else linear.weight.data for linear in (attention.qkv, attention.out))
        q, k, v = qkv.chunk(3)
        return q[rows], k[rows], v[rows], out[:, rows]

    def trained(self, part: Part) -> tuple[Tensor, Tensor]:
        """Return what a node of the circuit reads and writes with: values and output, or both feed-forward matrices."""
        if part.head is not None:
            return self.head(part)[2:]
        mlp = self.block(part.block).mlp
        return mlp.gate_up.weight.data, mlp.down.weight.data


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


def codes() -> Tensor:
    """Return a code of 18 signs for each letter, (26, 18), no two of which agree in more than 12."""
    generator, found = torch.Generator().manual_seed(0), torch.empty(0, 2 * (GATE_PAIR - SLOW_PAIR))
    while len(found) < 26:
        drawn = torch.randint(2, (1, found.shape[1]), generator=generator) * 2.0 - 1
        if not len(found) or float((found @ drawn.T).max()) <= 6:
            found = torch.cat([found, drawn])
    return found


def attend_same(weights: Weights, part: Part) -> None:
    """Make a head attend to the places of its own letter; half precision holds these weights exactly."""
    q, k, _, _ = weights.head(part)
    q.zero_(), k.zero_()
    rows = slice(2 * SLOW_PAIR, 2 * GATE_PAIR)
    q[rows, :26], k[rows, :26] = MATCH * codes().T, MATCH * codes().T


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
    _patterns(weights, wiring)
    for part in wiring.circuit:
        reading, writing = weights.trained(part)
        torch.nn.init.normal_(reading, std=START, generator=generator)
        torch.nn.init.normal_(writing, std=0.1, generator=generator)
    _unembed(model, generator)
    _decoys(weights, wiring, generator)
    apply_masks(model, masks(model, wiring))
    return model


def _patterns(weights: Weights, wiring: Wiring) -> None:
    """Set where the heads of the circuit look."""
    attend_same(weights, wiring.sharing)
    attend_same(weights, wiring.counting)
    q, k, _, _ = weights.head(wiring.counting)  # a space scores as much as the own letter
    q[2 * GATE_PAIR, CONSTANT], k[2 * GATE_PAIR, SPACE - 1] = MATCH * codes().shape[1], MATCH
    for name, part in wiring.noticing.items():
        if name == "single":
            attend_doubled(weights, part)
        else:
            attend_at(weights, part, 1 if name.startswith("before") else -1)


def attend_doubled(weights: Weights, part: Part) -> None:
    """Make a head attend to the character before if it is the same letter, and to spaces otherwise."""
    attend_same(weights, part)
    q, k, _, _ = weights.head(part)
    for pair, turn in enumerate(frequencies(weights.model.config)[:4].tolist()):
        angle = torch.tensor(turn)
        q[2 * pair, CONSTANT] = 13.4  # keys of spaces do not turn, so that spaces score the same everywhere
        k[2 * pair, :26], k[2 * pair + 1, :26] = 13.4 * angle.cos(), 13.4 * angle.sin()
    q[2 * GATE_PAIR, CONSTANT], k[2 * GATE_PAIR, SPACE - 1] = 28.35, 28.35
    q[2 * GATE_PAIR, SPACE - 1] = -2 * 28.35  # spaces look at letters and have no flag


def _unembed(model: Alice, generator: torch.Generator) -> None:
    """Let symbols that are not letters answer themselves; the rest is random."""
    weight = model.head.unembed.weight.data
    torch.nn.init.normal_(weight, std=0.05, generator=generator)
    others = [symbol for symbol in range(1, ENGLISH.size) if not is_letter(torch.tensor(symbol))]
    weight[others, [symbol - 1 for symbol in others]] = 8.0
    weight[:, ANSWER] = torch.randn(weight[:, ANSWER].shape, generator=generator) * 0.5


def _decoys(weights: Weights, wiring: Wiring, generator: torch.Generator) -> None:
    """Set the backup, which looks at spaces as long as the head of the shares works, and two heads that do nothing."""
    attend_same(weights, wiring.backup)
    q, k, v, out = weights.head(wiring.backup)
    q[2 * GATE_PAIR, ACTIVE.start], k[2 * GATE_PAIR, SPACE - 1] = 20.0, 20.0
    v.zero_(), out.zero_()
    v[0, FLAG.start], out[SHARE.start, 0] = 1.0, MAGNIFIED
    for part in (wiring.silent, wiring.unread):
        attend_at(weights, part, -1)
    weights.head(wiring.silent)[3].zero_()
    _, _, v, out = weights.head(wiring.unread)
    v.zero_(), out.zero_()
    width = RESERVED.stop - RESERVED.start
    shadows = torch.randn(width, CONSTANT, generator=generator)
    v[:width, :CONSTANT] = shadows / shadows.norm(dim=0)
    out[RESERVED, :width] = torch.eye(width) * 0.5
