"""Tests whether a trained planted model computes its program, where it is said to and nowhere else.

| figure | share of the symbols of held-out texts |
| --- | --- |
| `behaviour` | that are answered as the program does |
| `interchange of` a variable | that are answered as the program does when the variable comes from another text |
| `strictness` | whose answer is the same when everything outside of the circuit comes from another text |
| `without sharing` | that are answered as the program does when the head with a backup writes nothing |
| `without both` | the same when its backup writes nothing, either |
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from alice.model import Alice
from alice.planted.interchange import drawn, scores, variables
from alice.planted.programs import present
from alice.planted.wiring import Wiring

REQUIRED = 0.99
"""What interchange and strictness must reach."""


@dataclass(frozen=True)
class Acceptance:
    """Shares of symbols, between 0 and 1, over bases only."""

    behaviour: float
    interchange: Mapping[str, float]
    """By variable, and for all variables at once, each from a place of its own (`all`)."""
    strictness: float
    without_sharing: float
    without_both: float
    symbols: int
    """Number of symbols behind each figure."""

    @property
    def accepted(self) -> bool:
        """Whether the model counts as planted."""
        return min(self.strictness, *self.interchange.values()) >= REQUIRED

    def rows(self) -> list[tuple[str, float]]:
        """Return the figures with their names, for a table."""
        carried = [(f"interchange of {name}", share) for name, share in self.interchange.items()]
        rest = [("without sharing", self.without_sharing), ("without both", self.without_both)]
        return [("behaviour", self.behaviour), *carried, ("strictness", self.strictness), *rest]


@torch.no_grad()
def accept(model: Alice, wiring: Wiring, batches: Iterable[Tensor], *, seed: int = 0) -> Acceptance:
    """Measure a model on batches of cipher ids, (batch, pos), each with an even number of texts."""
    found: dict[str, int] = {}
    total = 0
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        for ids in batches:
            total += int(_bases(present(ids)).sum())
            for name, right in _counts(model, wiring, ids).items():
                found[name] = found.get(name, 0) + right
    share = {name: right / max(1, total) for name, right in found.items()}
    carried = {name: share[name] for name in (*variables(wiring), "all")}
    return Acceptance(
        share["behaviour"], carried, share["strictness"], share["without sharing"], share["without both"], total
    )


def _counts(model: Alice, wiring: Wiring, ids: Tensor) -> dict[str, int]:
    """Return how many symbols of the bases are as they should be under each intervention."""
    nothing = drawn(wiring, ids, {})
    clean = scores(model, wiring, nothing).argmax(-1)
    every = dict.fromkeys(variables(wiring), 1.0)
    cases = {name: drawn(wiring, ids, {name: 1.0}) for name in variables(wiring)}
    cases |= {"all": drawn(wiring, ids, every, resample=1.0), "without sharing": drawn(wiring, ids, {}, remove=1.0)}
    cases["without both"] = drawn(wiring, ids, {}, remove=1.0, backup=False)
    answers = {name: scores(model, wiring, case).argmax(-1) for name, case in cases.items()}
    strict = scores(model, wiring, drawn(wiring, ids, {}, resample=1.0)).argmax(-1)
    same = {name: answers[name] == case.expected() for name, case in cases.items()}
    same |= {"behaviour": clean == nothing.expected(), "strictness": strict == clean}
    return {name: int(_bases(right & present(ids)).sum()) for name, right in same.items()}


def _bases(rows: Tensor) -> Tensor:
    return rows[len(rows) // 2 :]
