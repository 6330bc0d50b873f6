"""Interchange interventions: variables of one text carried into another, in the program and in the model alike.

The first half of a batch are sources, which run as they are; the second half are bases, into which activations of the
sources are carried in the same pass. A place of a base symbol gets the activation of a place of the source symbol that
it was mapped to, so the program says exactly what the answer is then.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from alice.causal import Part
from alice.model import Alice
from alice.planted.programs import (
    Program,
    Values,
    answers_of,
    context_of,
    flag_of,
    is_letter,
    values_of,
)
from alice.planted.wiring import CONTEXT, COUNT, FREQUENCY, Wiring, named_parts
from alice.text import ENGLISH

SYMBOLIC = ("count", "frequency", "share", "context")
"""Variables of a symbol; the others belong to a position."""
COORDINATES = {"count": COUNT, "frequency": FREQUENCY, "context": CONTEXT}
"""Subspaces of variables that share the output of a feed-forward layer with others."""


def variables(wiring: Wiring) -> tuple[str, ...]:
    """Return the variables of a program that can be carried from one text into another."""
    return tuple(name for name, _ in named_parts(wiring) if name != "answer")


@dataclass(frozen=True, eq=False)
class Places:
    """Where each position of a base gets its activation from."""

    positions: Tensor
    """Position in the source, (base, pos)."""
    symbols: Tensor
    """Source symbol that each base symbol was mapped to, (base, symbol)."""


def by_symbol(source: Tensor, base: Tensor) -> Places:
    """Map each letter of the bases to a random letter of their source, and other symbols to themselves."""
    weights = torch.zeros(len(source), ENGLISH.size)
    weights.scatter_(1, source, is_letter(source).float())
    weights[weights.sum(1) == 0, ENGLISH.letter_ids[0]] = 1.0  # a source without letters: nothing to carry
    drawn = torch.multinomial(weights, ENGLISH.size, replacement=True)
    symbols = torch.where(is_letter(torch.arange(ENGLISH.size)), drawn, torch.arange(ENGLISH.size))
    found = torch.nn.functional.one_hot(source, ENGLISH.size) * torch.rand(*source.shape, 1)
    places = found.argmax(1)  # a random place of each source symbol, (base, symbol)
    return Places(places.gather(1, symbols.gather(1, base)), symbols)


def by_position(source: Tensor, base: Tensor) -> Places:
    """Map each position of the bases to a random letter's position of their source."""
    drawn = torch.multinomial(is_letter(source) + 1e-6, base.shape[1], replacement=True)
    return Places(drawn, torch.arange(ENGLISH.size).expand(len(base), -1))


@dataclass(frozen=True, eq=False)
class Intervention:
    """Which variables and nodes of each base are replaced."""

    program: Program
    ids: Tensor
    """Sources, then as many bases, (batch, pos)."""
    carried: Mapping[str, tuple[Tensor, Places]]
    """For each variable, which bases get it from their source, (base,), and from where."""
    resampled: Mapping[Part, tuple[Tensor, Places]]
    """The same for nodes outside of the circuit, whose output must not matter."""
    removed: Mapping[Part, Tensor]
    """Nodes whose output is set to zero, and for which bases, (base,)."""

    def expected(self) -> Tensor:
        """Return the answers of the program, (batch, symbol)."""
        half = len(self.ids) // 2
        source, base = values_of(self.program, self.ids[:half]), values_of(self.program, self.ids[half:])
        counted = self._taken("count", source.frequency, base.frequency)
        context = self._taken(
            "context", source.context, self._taken("share", source.context, self._context(source, base, counted))
        )
        frequency = self._taken("frequency", source.frequency, counted)
        changed = answers_of(self.program, frequency, context)
        return torch.cat([answers_of(self.program, source.frequency, source.context), changed])

    def _context(self, source: Values, base: Values, counted: Tensor) -> Tensor:
        """Return the context of each base symbol from its flags, some of which are carried over, (base, symbol)."""
        flags = {}
        for name in self.program.flags:
            mine = flag_of(name, base.ids, counted)
            if name in self.carried:
                rows, places = self.carried[name]
                mine = torch.where(
                    rows[:, None] & is_letter(base.ids), source.flags[name].gather(1, places.positions), mine
                )
            flags[name] = mine
        return context_of(self.program, base.ids, flags)

    def _taken(self, name: str, source: Tensor, base: Tensor) -> Tensor:
        """Return a variable of the bases, (base, symbol), after the intervention."""
        if name not in self.carried:
            return base
        rows, places = self.carried[name]
        return torch.where(rows[:, None], source.gather(1, places.symbols), base)

    def hooks(self, wiring: Wiring) -> list[tuple[str, Callable[..., Tensor]]]:
        """Return hooks that intervene in the model."""
        found: dict[str, list[Callable[[Tensor, Tensor], Tensor]]] = {}
        letters = is_letter(self.ids[len(self.ids) // 2 :])
        for name, part in named_parts(wiring):
            if name in self.carried:
                rows, places = self.carried[name]
                found.setdefault(part.hook, []).append(
                    _carry(part, rows[:, None] & letters, places, COORDINATES.get(name))
                )
        for part, (rows, places) in self.resampled.items():
            found.setdefault(part.hook, []).append(_carry(part, rows[:, None].expand_as(letters), places, None))
        for part, rows in self.removed.items():
            found.setdefault(part.hook, []).append(_remove(part, rows))
        return [(name, _run(changes)) for name, changes in found.items()]


def _carry(part: Part, where: Tensor, places: Places, coordinates: slice | None) -> Callable[[Tensor, Tensor], Tensor]:
    def change(source: Tensor, base: Tensor) -> Tensor:
        rows = torch.arange(len(base))[:, None]
        mask = torch.zeros(base.shape[2:], dtype=torch.bool)
        if part.head is not None:
            mask[part.head] = True
        else:
            mask[slice(None) if coordinates is None else coordinates] = True
        here = where.reshape(*where.shape, *[1] * (base.ndim - 2)) & mask
        return torch.where(here, source[rows, places.positions], base)

    return change


def _remove(part: Part, rows: Tensor) -> Callable[[Tensor, Tensor], Tensor]:
    def change(source: Tensor, base: Tensor) -> Tensor:
        kept = torch.ones(base.shape[2:])
        if part.head is not None:
            kept[part.head] = 0.0
        else:
            kept.zero_()
        return torch.where(rows.reshape(-1, *[1] * (base.ndim - 1)), base * kept, base)

    return change


def _run(changes: Iterable[Callable[[Tensor, Tensor], Tensor]]) -> Callable[..., Tensor]:
    def hook(activation: Tensor, hook: Any) -> Tensor:
        source, base = activation.chunk(2)
        for change in changes:
            base = change(source, base)
        return torch.cat([source, base])

    return hook


def scores(model: Alice, wiring: Wiring, intervention: Intervention) -> Tensor:
    """Return the scores of what each symbol stands for under an intervention, (batch, symbol, symbol)."""
    with model.hooks(intervention.hooks(wiring)):
        resid = model.resid(intervention.ids)
    return model.decode_symbols(resid, intervention.ids)


def drawn(
    wiring: Wiring,
    ids: Tensor,
    carried: Mapping[str, float],
    *,
    resample: float = 0.0,
    remove: float = 0.0,
    backup: bool = True,
) -> Intervention:
    """Draw an intervention for an even number of texts.

    Args:
        wiring: where the variables live.
        ids: sources and bases, (batch, pos).
        carried: probability that each variable of a base comes from its source.
        resample: probability that a node outside of the circuit does.
        remove: probability that the head with a backup writes nothing; the backup is not resampled then.
        backup: whether the backup works if the head that it stands in for is removed.

    """
    half = len(ids) // 2
    source, base = ids[:half], ids[half:]
    removed = torch.rand(half) < remove
    found = {
        name: (torch.rand(half) < chance, (by_symbol if name in SYMBOLIC else by_position)(source, base))
        for name, chance in carried.items()
    }
    if "share" in found:  # what is removed cannot be carried
        found["share"] = (found["share"][0] & ~removed, found["share"][1])
    resampled = {}
    for part in wiring.outside:
        rows = torch.rand(half) < resample
        resampled[part] = (rows & ~removed if part == wiring.backup else rows, by_position(source, base))
    gone = {wiring.sharing: removed} | ({} if backup else {wiring.backup: removed})
    return Intervention(wiring.program, ids, found, resampled, gone)
