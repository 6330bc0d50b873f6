"""What is true of a model whose mechanism was put there: what the answer depends on, and what only looks like it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, get_args

from torch import Tensor

from alice.model import Alice
from alice.text import Batch, Ids

Verdict = Literal["used", "unused", "absent"]
"""A concept is in the stream and the answer depends on it; it is there but makes no difference; it is not there."""
VERDICTS: tuple[str, ...] = get_args(Verdict)
DecoyKind = Literal["silent", "unread", "backup", "unused"]
"""A head with a clear attention pattern that writes nothing; a head that writes where nothing reads; a head that
matters only when another is removed; a concept that can be decoded and is not used."""


@dataclass(frozen=True)
class Decoy:
    """Something that looks like part of the mechanism and is not."""

    kind: DecoyKind
    """What makes it a decoy."""
    name: str
    """Label of the head, such as `L0H1`, or name of the concept, such as `previous`."""
    stands_in_for: str = ""
    """The node whose removal makes a backup matter."""


@dataclass(frozen=True, eq=False)
class Direction:
    """A direction of the residual stream that stands for something."""

    name: str
    """What it stands for."""
    layer: int
    """The stream it belongs to: 0 is the embedding, n the output of block n - 1."""
    vector: Tensor
    """Unit vector, (d_model,)."""
    used: bool | None = None
    """Whether the answer depends on the stream along it from this layer on; None if that is not known."""


@dataclass(frozen=True, eq=False)
class Truth:
    """The mechanism of a planted model, in the terms in which analyses report."""

    nodes: frozenset[str]
    """Heads and feed-forward layers that the answer depends on, such as `L0H1` and `L0 MLP`."""
    edges: frozenset[str]
    """Edges of the circuit, labelled as the analysis `circuit` does: `embedding → L0H1 v`, `L0 MLP → output`."""
    answer_layer: int
    """First layer whose exit gives the final answer; 0 is the embedding."""
    kinds: Mapping[str, str] = field(default_factory=dict)
    """Kind of attention of each planted head, decoys included: one of the shares of `attention`, or `broad`."""
    concepts: Mapping[tuple[str, int], Verdict] = field(default_factory=dict)
    """Verdict by target of `probe` and layer; what is not listed is not known."""
    directions: tuple[Direction, ...] = ()
    """Directions with a known meaning."""
    decoys: tuple[Decoy, ...] = ()
    """What looks like part of the mechanism and is not."""


@dataclass(frozen=True, eq=False)
class Planted:
    """A model with its mechanism."""

    name: str
    """Such as `frequency`."""
    summary: str
    """What it computes, in one sentence."""
    model: Alice
    truth: Truth
    expected: Callable[[Batch], Ids] | None = None
    """Its answers to a batch, (batch, pos), computed without the model; None if they are not known exactly."""
