"""What the analyses of a reproduction found, read by the names of metrics, tables and arrays."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from alice.plugins.context import RunContext
from alice.reports import Figure, Report, model_key


@dataclass(frozen=True)
class Model:
    """A model that an analysis read."""

    name: str
    variant: str


@dataclass(frozen=True, eq=False)
class Finding:
    """The report of one analysis, or why there is none."""

    analysis: str
    models: tuple[Model, ...] = ()
    stored: Report | None = None
    absent: str = ""
    """Why it was not run, and which command changes that."""
    error: str = ""
    """How it failed."""
    unequal: str = ""
    """How the trainings of its base and bijective model differ; empty if they are alike."""
    alike: bool = False
    """Whether it is about the run set, the shipped models of equal training, and not about the user's models."""

    @property
    def report(self) -> Report:
        """The report; raises if there is none."""
        if self.stored is None:
            raise LookupError(f"{self.analysis} has no report")
        return self.stored

    @property
    def why_absent(self) -> str:
        """Why there is no report, in one sentence."""
        return f"{self.analysis} failed: {self.error}" if self.error else self.absent

    @property
    def texts(self) -> int:
        """Number of texts that it read."""
        return int(self.report.metric("texts").value)

    @property
    def pair(self) -> tuple[Model, Model] | None:
        """Its first bijective and its first base model, if they read the same texts."""
        bijective, base = self.first("bijective"), self.first("base")
        return (bijective, base) if bijective is not None and base is not None and self.paired else None

    @property
    def paired(self) -> bool:
        """Whether all its models read the same texts."""
        hashes = {one.get("model"): one.get("sha256") for one in self.report.provenance.get("data") or ()}
        found = {hashes.get(model.name) for model in self.models}
        return len(found) == 1 and None not in found

    def first(self, variant: str) -> Model | None:
        """Return its first model of a variant."""
        return next((model for model in self.models if model.variant == variant), None)

    def of_variant(self, variant: str) -> list[Model]:
        """Return its models of a variant."""
        return [model for model in self.models if model.variant == variant]

    def array(self, name: str, model: Model) -> Any:
        """Return an array of one model."""
        return self.report.array(name, model=model.name)

    @property
    def figures(self) -> dict[str, Figure]:
        """Its figures, by names that no other analysis uses."""
        return {f"{self.analysis}-{name}": figure for name, figure in self.report.figures.items()}

    def figure_names(self, wanted: Iterable[str]) -> tuple[str, ...]:
        """Return the names of those figures that it has; `NAME@VARIANT` is that of the first model of a variant."""
        names = []
        for one in wanted:
            name, _, variant = one.partition("@")
            model = self.first(variant) if variant else None
            names.append(f"{self.analysis}-{model_key(name, model.name) if model is not None else name}")
        return tuple(name for name in names if name in self.figures)

    def rows(self, table: str, **where: Any) -> list[dict[str, Any]]:
        """Return rows of a table by column, those with the given cells."""
        return self.report.tables[table].records(**where)


@dataclass(frozen=True, eq=False)
class Findings:
    """The findings of all analyses."""

    seed: int
    by_analysis: Mapping[str, Finding] = field(default_factory=dict)
    alike: Mapping[str, Finding] = field(default_factory=dict)
    """Those about the run set, by analysis."""

    def comparing(self, analysis: str) -> Finding:
        """Return the finding about two variants of equal training: the user's if theirs is, else the run set's."""
        own = self[analysis]
        if own.stored is None or not own.unequal:
            return own
        why = f"Not testable: the models differ in training ({own.unequal})."
        return self.alike.get(analysis, Finding(analysis, own.models, absent=why))

    def __getitem__(self, analysis: str) -> Finding:
        missing = Finding(analysis, absent=f"This version has no analysis {analysis}.")
        return self.by_analysis.get(analysis, missing)


def models_of(ctx: RunContext) -> tuple[Model, ...]:
    """Return the models of a context."""
    each = (one for one in ctx.each if one.named_model is not None)
    return tuple(Model(one.checkpoint, one.model.config.variant) for one in each)
