"""Where the variables of a program live in a trained planted model: coordinates of the stream, and nodes."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from alice.causal import Part, parts_of
from alice.model import ModelConfig
from alice.planted.programs import PROGRAMS, SPACE, Program
from alice.text import ENGLISH

CONSTANT = ENGLISH.size - 1
"""Coordinate of the constant; the coordinate of a symbol is its id minus one."""
COUNT, BESIDE, OTHER, FLAG, SHARE, ACTIVE, FREQUENCY, CONTEXT, RATIO, ANSWER, RESERVED = (
    slice(37, 39),  # by how much the count of the symbol exceeds what `common` and `frequent` ask for
    slice(39, 41),  # the count of the symbol before, and of the symbol after
    slice(41, 42),  # says that this is no letter
    slice(42, 43),  # mean of the flags at this position
    slice(43, 44),  # mean of the flags over the places of the symbol
    slice(44, 45),  # says that the head of the shares works
    slice(45, 47),  # the variable `frequency`, as two steps
    slice(47, 49),  # the variable `context`, as two steps
    slice(49, 50),  # places of the symbol, divided by these and spaces together
    slice(50, 56),  # the answer
    slice(56, 64),  # written by a decoy, read by nothing
)
MAGNIFIED = 16.0
"""Factor of the means that heads write: of the ratio and of the share of flags."""


@dataclass(frozen=True)
class Wiring:
    """Which node does what."""

    program: Program
    n_layers: int
    counting: Part
    """Looks at the places of its symbol and at spaces alike, so that its mean of letters gives their ratio."""
    own_count: Part
    """Makes `count` of the ratio."""
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
        noticing={"single": Part(0, 1)},
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


@dataclass(frozen=True)
class Reading:
    """What a node of the circuit computes: some coordinates from others and the constant."""

    part: Part
    reads: tuple[int, ...]
    writes: tuple[int, ...]


def readings(wiring: Wiring) -> Iterator[Reading]:
    """Yield what the nodes of the circuit compute; heads compute it of the means of what they look at."""
    yield Reading(wiring.counting, (SPACE - 1,), _listed(RATIO))
    yield Reading(wiring.own_count, _listed(RATIO), _listed(COUNT, OTHER))
    yield Reading(wiring.comparing, _listed(COUNT), _listed(FREQUENCY))
    for name, part in wiring.noticing.items():
        if name == "single":
            yield Reading(part, (SPACE - 1,), _listed(FLAG))
        else:
            count, beside = COUNT.start + name.endswith("frequent"), BESIDE.start + name.startswith("before")
            yield Reading(part, (count,), (beside,))
    if "single" not in wiring.noticing:
        yield Reading(wiring.comparing, _listed(BESIDE, OTHER), _listed(FLAG))
    yield Reading(wiring.sharing, _listed(FLAG), _listed(SHARE, ACTIVE))
    yield Reading(wiring.binning, _listed(SHARE), _listed(CONTEXT))
    yield Reading(wiring.table, _listed(FREQUENCY, CONTEXT), _listed(ANSWER))


def _listed(*pieces: slice) -> tuple[int, ...]:
    return tuple(number for piece in pieces for number in range(piece.start, piece.stop))


def named_parts(wiring: Wiring) -> Iterator[tuple[str, Part]]:
    """Yield the variables of the program with the node whose output holds them."""
    yield "count", wiring.own_count
    yield "frequency", wiring.comparing
    yield from wiring.noticing.items()
    yield "share", wiring.sharing
    yield "context", wiring.binning
    yield "answer", wiring.table
