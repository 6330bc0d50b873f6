"""A ratio as it was measured, and the benchmark that it belongs to."""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterator

Kind = Literal["time", "share", "memory", "exponent"]


@dataclass(frozen=True)
class Ratio:
    """One figure, with the quartiles of the rounds it is the median of."""

    case: str
    """On what it was measured."""
    value: float
    low: float
    high: float
    note: str = ""
    """What else is worth knowing."""

    @classmethod
    def exactly(cls, case: str, value: float, note: str = "") -> Ratio:
        """Return a figure that was measured once."""
        return cls(case, value, value, value, note)


@dataclass(frozen=True)
class Benchmark:
    """One line of the table: what is compared, and how good it ought to be."""

    name: str
    what: str
    """Above the line / below the line."""
    kind: Kind
    target: float | None = None
    at_most: bool = True
    """Whether less is better."""

    def measure(self, *, quick: bool) -> Iterator[Ratio]:
        """Measure here and now; `quick` takes fewer rounds and smaller samples."""
        module = import_module(f"alice.bench.{self.name.replace('-', '_')}")
        yield from module.measure(quick=quick)

    def goal(self) -> str:
        """Return the target as it is shown."""
        if self.target is None:
            return "-"
        return f"{'<=' if self.at_most else '>='} {self.target:g}"

    def is_met(self, ratio: Ratio) -> bool | None:
        """Say whether a figure reaches the target; None if there is none."""
        if self.target is None:
            return None
        return ratio.value <= self.target if self.at_most else ratio.value >= self.target
