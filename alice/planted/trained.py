"""The trained planted models: their weights from the package, and what is true of them."""

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path

import torch

from alice.causal import Part
from alice.errors import AliceError
from alice.model import Alice, Variant
from alice.planted.truth import Decoy, Direction, Planted, Truth, Verdict
from alice.planted.wiring import CONTEXT, COUNT, FLAG, FREQUENCY, RATIO, RESERVED, SHARE, WIRINGS, Wiring
from alice.text import ENGLISH, LETTERS

TRAINED_NAMES: tuple[str, ...] = tuple(WIRINGS)
"""Names of the trained models."""


def folder_of(name: str) -> Path:
    """Return the checkpoint folder of a trained model."""
    return Path(str(files("alice"))) / "planted" / name


def load_trained(name: str, variant: Variant = "base") -> Planted:
    """Load a trained model with its truth; all have the linear head."""
    if variant != "base":
        raise AliceError(f"the planted model {name} has the linear head only; choose base")
    wiring = WIRINGS[name]
    model = Alice.from_pretrained(folder_of(name), device="cpu")
    return Planted(name, wiring.program.summary, model, truth_of(wiring))


def truth_of(wiring: Wiring) -> Truth:
    """Return what is true of a trained model, as far as letters are concerned; other symbols answer themselves."""
    return Truth(
        nodes=frozenset(part.label for part in wiring.circuit),
        edges=frozenset(_edges(wiring)),
        answer_layer=wiring.table.block + 1,
        kinds=_kinds(wiring),
        concepts=dict(_concepts(wiring)),
        directions=tuple(_directions(wiring)),
        decoys=(
            Decoy("silent", wiring.silent.label),
            Decoy("unread", wiring.unread.label),
            Decoy("backup", wiring.backup.label, stands_in_for=wiring.sharing.label),
            Decoy("unused", "symbol"),
        ),
    )


def _edges(wiring: Wiring) -> Iterator[str]:
    """Yield the edges of the circuit.

    What reads the constant only, which all symbols share, is not among them: neither the queries and keys of heads that
    look at a neighbour, nor the values by which letters and spaces differ, since counterfactual texts keep the places
    of words.
    """
    counting, own_count, comparing = wiring.counting.label, wiring.own_count.label, wiring.comparing.label
    sharing, binning, table = wiring.sharing.label, wiring.binning.label, wiring.table.label
    yield from (f"embedding → {counting} q", f"embedding → {counting} k", f"{counting} → {own_count}")
    for name, part in wiring.noticing.items():
        if name == "single":
            yield from (f"embedding → {part.label} q", f"embedding → {part.label} k", f"{part.label} → {sharing} v")
        else:
            yield from (f"{own_count} → {part.label} v", f"{part.label} → {comparing}", f"{comparing} → {sharing} v")
    yield from (f"embedding → {sharing} q", f"embedding → {sharing} k")
    yield from (f"{own_count} → {comparing}", f"{sharing} → {binning}")
    yield from (f"{comparing} → {table}", f"{binning} → {table}", f"{table} → output")


def _kinds(wiring: Wiring) -> dict[str, str]:
    """Return the kind of attention of each head that was set; the other heads have none that is known."""
    looking = dict.fromkeys([*wiring.noticing.values(), wiring.silent, wiring.unread], "neighbours")
    # All look at spaces most of the time: to compare counts, or as long as there is no doubled letter or failed head.
    resting = dict.fromkeys([part for name, part in wiring.noticing.items() if name == "single"], "word boundaries")
    found = {wiring.counting: "word boundaries", **looking, **resting}
    found |= {wiring.sharing: "same symbol", wiring.backup: "word boundaries"}
    return {part.label: kind for part, kind in found.items()}


def _concepts(wiring: Wiring) -> Iterator[tuple[tuple[str, int], Verdict]]:
    """Yield the verdict on what can be decoded from each layer.

    The symbol stays in the stream after the last head has compared symbols. The character before is not listed:
    nothing reads the head that writes it, but what the flags are computed from depends on it, too.
    """
    yield from ((("rank", 0), "absent"), (("previous", 0), "absent"))
    for layer in range(_after(wiring.own_count), _after(wiring.table)):
        yield ("rank", layer), "used"
    for layer in range(_after(wiring.backup), wiring.n_layers + 1):
        yield ("symbol", layer), "unused"


def _directions(wiring: Wiring) -> Iterator[Direction]:
    """Yield the direction of each coordinate that stands for a variable, in each layer that has it.

    A variable is used up to the node that reads it last. Whether training made another node read it is not known.
    Nothing reads the reserved coordinates, in which a decoy writes the character before.
    """
    basis = torch.eye(wiring.config.d_model)
    flags = wiring.comparing if len(wiring.noticing) > 1 or "single" not in wiring.noticing else Part(0)
    named = (
        ("ratio", RATIO.start, wiring.counting, wiring.own_count),
        ("common", COUNT.start, wiring.own_count, wiring.comparing),
        ("frequent", COUNT.start + 1, wiring.own_count, wiring.comparing),
        ("flag", FLAG.start, flags, wiring.sharing),
        ("share of flags", SHARE.start, wiring.sharing, wiring.binning),
        ("at least common", FREQUENCY.start, wiring.comparing, wiring.table),
        ("at least frequent", FREQUENCY.start + 1, wiring.comparing, wiring.table),
        *(
            (f"context at least {number + 1}", CONTEXT.start + number, wiring.binning, wiring.table)
            for number in range(len(wiring.program.edges))
        ),
    )
    for number, symbol in enumerate(ENGLISH.symbols):  # the coordinate of a symbol is its id minus one
        for layer in range(wiring.n_layers + 1):
            yield Direction(f"symbol {symbol}", layer, basis[number], _symbol_used(wiring, symbol, layer))
    for name, coordinate, part, reader in named:
        for layer in range(_after(part), wiring.n_layers + 1):
            yield Direction(name, layer, basis[coordinate], True if layer < _after(reader) else None)
    for number, vector in enumerate(basis[RESERVED], start=1):
        for layer in range(_after(wiring.unread), wiring.n_layers + 1):
            yield Direction(f"code of the character before {number}", layer, vector, used=False)


def _symbol_used(wiring: Wiring, symbol: str, layer: int) -> bool | None:
    """Return whether the answer depends on a symbol's coordinate in a layer.

    The unembedding reads the coordinates of symbols that are not letters. Those of letters are free once no head
    compares symbols any more.
    """
    if symbol not in LETTERS or layer < _after(wiring.sharing):
        return True
    return False if layer >= _after(wiring.backup) else None


def _after(part: Part) -> int:
    """Return the first layer that has what a node writes."""
    return part.block + 1
