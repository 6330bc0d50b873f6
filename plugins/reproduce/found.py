"""What the analyses of a reproduction have found, as its claims and items read it."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from alice.plugins.builtin.suffixes import suffixes
from alice.reports.archive import Report


@dataclass(frozen=True)
class Model:
    """A model that an analysis has read."""

    name: str
    variant: str
    suffix: str
    """What stands behind the names of its tables and arrays."""


@dataclass(frozen=True, eq=False)
class Ran:
    """One analysis: its result, or why there is none."""

    analysis: str
    models: tuple[Model, ...] = ()
    stored: Report | None = None
    absent: str = ""
    """Why it was not run, and which command changes that."""
    error: str = ""
    """How it failed."""

    @property
    def run(self) -> Report:
        """The stored run; what asks for it has seen that there is one."""
        if self.stored is None:
            raise LookupError(f"{self.analysis} has no result")
        return self.stored

    @property
    def why_absent(self) -> str:
        """Why there is no result, in one sentence."""
        return f"{self.analysis} failed: {self.error}" if self.error else self.absent

    @property
    def metrics(self) -> Mapping[str, Any]:
        """The metrics of its result."""
        return self.run.result.metrics

    @property
    def texts(self) -> int:
        """How many texts it has read."""
        return int(self.metrics["texts"])

    @property
    def pair(self) -> tuple[Model, Model] | None:
        """Its first bijective and its first base model, if they have read the same texts."""
        bijective, base = self.first("bijective"), self.first("base")
        return (bijective, base) if bijective is not None and base is not None and self.paired else None

    @property
    def paired(self) -> bool:
        """Whether all its models have read the same texts."""
        data = self.run.provenance.get("data") or {}
        hashes = [data["sha256"]] if "sha256" in data else [one.get("sha256") for one in data.values()]
        return len(set(hashes)) == 1 and None not in hashes

    def array(self, name: str, model: Model | None = None) -> Any:
        """Return an array of its result."""
        return self.run.result.arrays[name + (model.suffix if model else "")]

    def rows(self, name: str, model: Model | None = None) -> list[dict[str, Any]]:
        """Return the rows of a table of its result, by column."""
        table = self.run.result.tables[name + (model.suffix if model else "")]
        return [dict(zip(table.columns, row, strict=True)) for row in table.rows]

    def first(self, variant: str) -> Model | None:
        """Return the first of its models of a variant."""
        return next((model for model in self.models if model.variant == variant), None)


@dataclass(frozen=True, eq=False)
class Found:
    """Everything that was run."""

    seed: int
    ran: Mapping[str, Ran] = field(default_factory=dict)
    """By analysis."""

    def __getitem__(self, analysis: str) -> Ran:
        return self.ran.get(analysis) or Ran(analysis, absent=f"This version has no analysis {analysis}.")


def name_models(pairs: list[tuple[str, str]]) -> tuple[Model, ...]:
    """Return the models of a run from their names and variants."""
    ends = suffixes([name for name, _ in pairs])
    return tuple(Model(name, variant, end) for (name, variant), end in zip(pairs, ends, strict=True))
