"""Setting the weights of a model by hand: named coordinates of the residual stream, and what moves between them.

Every symbol's embedding has a large constant in one coordinate. It fixes the scale of every RMSNorm: in single
precision the squares of all other coordinates together vanish beside its square, as long as they sum to less than 64.
With the norms' weights set accordingly, a part reads each coordinate exactly as it is in the stream, and the constant
one as 1.
"""

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from alice.model import Alice, ModelConfig, Variant
from alice.planted.truth import Direction
from alice.statistics import Floats
from alice.text import PAD

D_MODEL, N_HEADS, D_MLP = 256, 4, 64
CONSTANT = 32_768.0
"""Value of the constant coordinate; with D_MODEL it makes the scale of the norms 2048, a power of two."""
ROPE_THETA = 1e15
"""Spreads the 32 rotary frequencies of a head: the first six tell positions apart, the last 18 hardly turn."""
FAST_PAIRS, SLOW_PAIRS = 6, 18
PEAK = 256.0
"""Scale of the scores of a sharp pattern: attention elsewhere is zero in single precision."""
GATE = 256.0
"""Steepness of the gates. An open one lets its input through times GATE / 2, a closed one gives exactly zero."""
UNVARYING = ("constant", "done")
"""Coordinates that are the same everywhere, so that no direction of the stream stands for them."""
ANSWER = "answer "
"""What the names of the coordinates of `answer_others` start with."""
NEVER = 1000.0
"""Score that rules out an answer; those of letters are far smaller."""

Weights = Mapping[int, float]
"""Weights by coordinate of the stream."""


class Draft:
    """A model without any weights but its constant coordinate, and the ways to give it some."""

    def __init__(self, *, n_layers: int, variant: Variant) -> None:
        config = ModelConfig(
            variant=variant,
            d_model=D_MODEL,
            n_layers=n_layers,
            n_heads=N_HEADS,
            d_mlp=D_MLP,
            rope_theta=ROPE_THETA,
            cross_skip=variant == "bijective",
        )
        with torch.random.fork_rng(devices=[]):  # leave the caller's RNG state as it is
            self.model = Alice(config).eval().requires_grad_(False)
        self.alphabet = self.model.alphabet
        self.letters = [int(letter) for letter in self.alphabet.letter_ids]
        self.others = [number for number in range(1, self.alphabet.size) if number not in self.letters]
        """Ids of space and punctuation, which are not encrypted."""
        for weight in self.model.parameters():
            weight.zero_()
        self._units = [0] * n_layers
        self._used = 0
        self._named: list[tuple[str, int, int]] = []  # name, coordinate, first layer
        (self.constant,) = self.field("constant", layer=0)
        self._fix_scale()
        self.symbol = self.symbol_field("symbol", layer=0)
        """Coordinate of each symbol in the embedding, by id."""
        for number, coordinate in self.symbol.items():
            self.model.embed.weight[number, coordinate] = 1.0

    def _fix_scale(self) -> None:
        scale = CONSTANT / D_MODEL**0.5
        blocks = [getattr(block, name) for block in self.model.blocks for name in ("ln1", "ln2")]
        for norm in (*blocks, self.model.ln_final):
            norm.w.fill_(scale)
            norm.w[self.constant] = scale / CONSTANT
        self.model.embed.weight[:, self.constant] = CONSTANT

    def field(self, *names: str, layer: int) -> list[int]:
        """Reserve a coordinate for each name, which has a meaning from a layer on; return the coordinates."""
        coordinates = list(range(self._used, self._used + len(names)))
        self._used += len(names)
        self._named += [(name, number, layer) for name, number in zip(names, coordinates, strict=True)]
        return coordinates

    def symbol_field(self, name: str, *, layer: int) -> dict[int, int]:
        """Reserve a coordinate for each symbol, such as `previous E`; return coordinates by id."""
        ids = range(PAD + 1, self.alphabet.size)
        labels = {number: "space" if (text := self.alphabet.symbols[number - 1]) == " " else text for number in ids}
        return dict(zip(ids, self.field(*(f"{name} {labels[number]}" for number in ids), layer=layer), strict=True))

    def boundaries(self) -> list[int]:
        """Return the coordinates of the symbols that end words: all that are neither letters nor apostrophes."""
        return [self.symbol[number] for number in self.others if self.alphabet.symbols[number - 1] != "'"]

    def directions(self, *used: str) -> tuple[Direction, ...]:
        """Return the direction of every named coordinate that varies, in each layer that has it.

        The answer depends on all of the embedding, then on the coordinates named here and on those of `answer_others`.
        """
        basis = torch.eye(D_MODEL)
        return tuple(
            Direction(name, layer, basis[coordinate], used=layer == 0 or name in used or name.startswith(ANSWER))
            for layer in range(len(self._units) + 1)
            for name, coordinate, first in self._named
            if first <= layer and name not in UNVARYING
        )

    def move(self, block: int, head: int, source: Sequence[int], target: Sequence[int]) -> None:
        """Let a head carry coordinates from where it attends to others where it stands."""
        value, out = self._attention(block, head)[2], self.model.blocks[block].attn.out.weight
        for number, (old, new) in enumerate(zip(source, target, strict=True)):
            value[number, old] = 1.0
            out[new, head * self.model.config.d_head + number] = 1.0

    def read_only(self, block: int, head: int, source: Sequence[int]) -> None:
        """Let a head read coordinates as values and write nothing."""
        value = self._attention(block, head)[2]
        for number, coordinate in enumerate(source):
            value[number, coordinate] = 1.0

    def attend_offset(self, block: int, head: int, offset: int) -> None:
        """Let a head attend to the character `offset` places before, or where there is none to its own place.

        Queries and keys are the same everywhere. Rotary positions turn them, and the keys' phases are such that all
        fast pairs agree at this offset only. At the ends of a text the place itself agrees best.
        """
        query, key, _ = self._attention(block, head)
        d_head = self.model.config.d_head
        for pair in range(FAST_PAIRS):
            phase = torch.tensor(offset * ROPE_THETA ** (-2 * pair / d_head), dtype=torch.float64)
            query[2 * pair, self.constant] = PEAK * d_head**0.5
            key[2 * pair, self.constant] = phase.cos()
            key[2 * pair + 1, self.constant] = phase.sin()

    def attend_equal(self, block: int, head: int, coordinates: Sequence[int]) -> None:
        """Let a head attend to all places whose coordinates, one of which is 1, are those of its own."""
        query, key, _ = self._attention(block, head)
        for number, coordinate in enumerate(coordinates, start=self._first_slow()):
            query[number, coordinate] = PEAK * self.model.config.d_head**0.5
            key[number, coordinate] = 1.0

    def attend_to(self, block: int, head: int, coordinates: Sequence[int]) -> None:
        """Let a head attend from everywhere to the places at which one of the coordinates is 1."""
        query, key, _ = self._attention(block, head)
        query[self._first_slow(), self.constant] = PEAK * self.model.config.d_head**0.5
        key[self._first_slow(), list(coordinates)] = 1.0

    def unit(self, block: int, *, gate: Weights, up: Weights, target: int) -> None:
        """Add a unit to a feed-forward layer: where the gate's sum is above 0.5, it adds its input to the target.

        The gate's sum must be 0 or less, or 1.
        """
        mlp, number = self.model.blocks[block].mlp, self._units[block]
        for coordinate, weight in gate.items():
            mlp.gate_up.weight[number, coordinate] += GATE * weight
        mlp.gate_up.weight[number, self.constant] -= GATE / 2
        for coordinate, weight in up.items():
            mlp.gate_up.weight[D_MLP + number, coordinate] += weight
        mlp.down.weight[target, number] = 2 / GATE
        self._units[block] += 1

    def answer_others(self, block: int) -> None:
        """Let a feed-forward layer and the head answer space and punctuation by themselves."""
        names = [f"{ANSWER}{self.alphabet.symbols[number - 1]}".replace("  ", " space") for number in self.others]
        unembed = self.model.head.unembed
        for number, target in zip(self.others, self.field(*names, layer=block + 1), strict=True):
            self.unit(block, gate={self.symbol[number]: 1.0}, up={self.constant: 1.0}, target=target)
            unembed.weight[number, target] = 2 * NEVER
            unembed.bias[number] = -NEVER

    def answer_letters(self, weights: Mapping[int, Floats], bias: Floats) -> None:
        """Let the head score the letters by a linear function: weights by coordinate, (26,) each, and biases, (26,)."""
        unembed = self.model.head.unembed
        for coordinate, values in weights.items():
            unembed.weight[self.letters, coordinate] = torch.tensor(values, dtype=torch.float32)
        unembed.bias[self.letters] = torch.tensor(bias, dtype=torch.float32)

    def finished(self) -> Alice:
        """Return the model."""
        return self.model.requires_grad_(True)

    def _first_slow(self) -> int:
        return self.model.config.d_head - 2 * SLOW_PAIRS

    def _attention(self, block: int, head: int) -> tuple[Tensor, Tensor, Tensor]:
        """Return views of the weights of queries, keys and values of a head, (d_head, d_model) each."""
        parts = self.model.blocks[block].attn.qkv.weight.unflatten(0, (3, N_HEADS, -1))
        return parts[0, head], parts[1, head], parts[2, head]
