"""What an analysis found, as data: metrics, tables, figures and arrays under stable names, with labels to show.

Programs read names; people read labels. Everything is checked and copied on construction, so that every result can
be stored and drawn. Numpy and Plotly only.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from alice.errors import AliceError
from alice.reports import checks, encoding
from alice.reports.checks import Array
from alice.reports.explorer.state import Trial
from alice.reports.names import Named, UnknownNameError, counted, listed, model_key, suggestion
from alice.reports.parts import KINDS, Card, Figure, HeatText, Metric, Section, Table, no_text


@dataclass(frozen=True, eq=False)
class Result:
    """What an analysis found."""

    title: str
    """Heading of the report."""
    summary: str = ""
    """What it shows, in paragraphs separated by empty lines."""
    caveats: str | Sequence[str] = ()
    """When not to trust it, one or more sentences each."""
    metrics: Sequence[Metric] = ()
    """Single numbers, texts or truth values, in the order to show them; name and model identify each."""
    headline: str | None = None
    """Name of the metric shown in the gallery; the first if absent."""
    tables: Mapping[str, Table] = field(default_factory=dict)
    """Tables by name."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Figures by name: a `Figure`, or a Plotly figure, which becomes a `Figure` without a caption.

    A figure of a single model is called `model_key(name, model)`.
    """
    arrays: Mapping[str, Array] = field(default_factory=dict)
    """Numpy arrays by name, stored but not shown; one of a single model is called `model_key(name, model)`."""
    texts: Mapping[str, HeatText] = field(default_factory=dict)
    """Texts with heat by name."""
    cards: Mapping[str, Card] = field(default_factory=dict)
    """Cards by name."""
    sections: Sequence[Section] = ()
    """Parts of the report under headings; what no section lists is shown first, without a heading."""
    trials: Sequence[Trial] = ()
    """What to try in the explorer; the page links to it if the explorer page of the model lies in the gallery."""
    artefacts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """Named tensors, torch's or numpy's, by the name of the artefact: what other analyses load, such as a lens.

    They are stored as `NAME.safetensors`; one of a single model is called `model_key(name, model)`.
    """

    def __post_init__(self) -> None:
        caveats = (self.caveats,) if isinstance(self.caveats, str) else self.caveats
        checked = {
            "title": checks.label(self.title, "the title of a result"),
            "summary": checks.text(self.summary, "the summary of a result"),
            "caveats": tuple(text for text in (checks.text(entry, "a caveat") for entry in caveats) if text.strip()),
            "metrics": _metrics(self.metrics),
            "tables": _named(self.tables, "tables", _table),
            "figures": _named(self.figures, "figures", _figure),
            "arrays": _named(self.arrays, "arrays", checks.array),
            "texts": _named(self.texts, "texts", _only(HeatText)),
            "cards": _named(self.cards, "cards", _only(Card)),
            "sections": tuple(no_text(self.sections, "sections")),
            "trials": _trials(self.trials),
            "artefacts": _named(self.artefacts, "artefacts", encoding.check_tensors),
        }
        for key, value in checked.items():
            object.__setattr__(self, key, value)
        names = sorted({metric.name for metric in self.metrics})
        if self.headline is not None and self.headline not in names:
            raise AliceError(
                f"the headline {self.headline!r} is not a metric of the result: {', '.join(names) or 'it has none'}"
            )
        self._check_sections()

    def _check_sections(self) -> None:
        """Raise if two sections have one name, or one lists what the result does not have or another one lists."""
        names: set[str] = set()
        listed_in: dict[tuple[str, str], str] = {}
        for section in self.all_sections:
            if not isinstance(section, Section):
                raise AliceError(f"sections holds {section!r:.60}; give a list of alice.reports.Section(name, title)")
            if section.name in names:
                raise AliceError(f"there are two sections {section.name!r}; rename one")
            names.add(section.name)
            for kind in KINDS:
                for name in getattr(section, kind):
                    if name not in getattr(self, kind):
                        known = suggestion(name, getattr(self, kind))
                        raise AliceError(
                            f"{kind} of the section {section.name!r} lists {name!r}, which is not there{known}"
                        )
                    if before := listed_in.get((kind, name)):
                        raise AliceError(
                            f"{name!r} of {kind} is in the sections {before!r} and {section.name!r}; list it once"
                        )
                    listed_in[kind, name] = section.name

    @property
    def all_sections(self) -> tuple[Section, ...]:
        """All sections in their order, each followed by those below it."""
        return tuple(one for outer in self.sections for one in (outer, *getattr(outer, "sections", ())))

    def unlisted(self, kind: str) -> list[str]:
        """Return the names of a kind (`figures`, `texts`, `cards`, `tables`) that no section lists."""
        found = {name for section in self.all_sections for name in getattr(section, kind)}
        return [name for name in getattr(self, kind) if name not in found]

    def metric(self, name: str, model: str | None = None) -> Metric:
        """Return a metric by name; `model` may be omitted if only one model has it."""
        of_name = [metric for metric in self.metrics if metric.name == name]
        if not of_name:
            raise UnknownNameError(f"there is no metric {name!r}{suggestion(name, (one.name for one in self.metrics))}")
        models = listed(metric.model or "the whole report" for metric in of_name)
        found = [metric for metric in of_name if model in (None, metric.model)]
        if not found:
            raise UnknownNameError(f"there is no metric {name!r} of the model {model!r}; it belongs to {models}")
        if len(found) > 1:
            raise AliceError(f"the metric {name!r} belongs to {models}; name one of these as model=")
        return found[0]

    def figure(self, name: str, model: str = "") -> Figure:
        """Return a figure by name, and by model if it belongs to one."""
        found: Figure = self.figures[model_key(name, model) if model else name]
        return found

    def array(self, name: str, model: str = "") -> Array:
        """Return an array by name, and by model if it belongs to one."""
        return self.arrays[model_key(name, model) if model else name]

    def artefact(self, name: str, model: str = "") -> Mapping[str, Array]:
        """Return the tensors of an artefact by name, and by model if it belongs to one, as numpy arrays."""
        return self.artefacts[model_key(name, model) if model else name]

    def headline_metric(self) -> Metric | None:
        """Return the metric shown in the gallery, if the result has metrics."""
        return next((metric for metric in self.metrics if self.headline in (None, metric.name)), None)

    def headline_text(self) -> str:
        """Return the headline metric of every model in one line: `ser 2.14 ± 0.42 % (base), ...`."""
        if (first := self.headline_metric()) is None:
            return ""
        values = [
            f"{metric} ({metric.model})" if metric.model else str(metric)
            for metric in self.metrics
            if metric.name == first.name
        ]
        return f"{first.name} {listed(values)}"

    def contents(self) -> str:
        """Return how many metrics, tables, figures and other parts there are."""
        parts: dict[str, Any] = {"metric": self.metrics, "table": self.tables, "figure": self.figures}
        parts |= {"array": self.arrays, "text": self.texts, "card": self.cards, "section": self.sections}
        parts |= {"artefact": self.artefacts}
        return ", ".join(counted(len(part), what) for what, part in parts.items() if part) or "empty"

    def __repr__(self) -> str:
        headline = self.headline_text()
        return f"<Result {self.title}{f': {headline}' if headline else ''} | {self.contents()}>"


def _metrics(given: object) -> tuple[Metric, ...]:
    metrics = tuple(no_text(given, "metrics"))
    seen: set[tuple[str, str]] = set()
    for metric in metrics:
        if not isinstance(metric, Metric):
            raise AliceError(f"metrics holds {metric!r:.60}; give a list of alice.reports.Metric(name, value)")
        if (metric.name, metric.model) in seen:
            raise AliceError(f"there are two metrics {metric.name!r} of {metric.model or 'no model'}; rename one")
        seen.add((metric.name, metric.model))
    return metrics


def _trials(given: object) -> tuple[Trial, ...]:
    trials = tuple(no_text(given, "trials"))
    if strange := [trial for trial in trials if not isinstance(trial, Trial)]:
        raise AliceError(f"trials holds {strange[0]!r:.60}; give a list of alice.reports.Trial(label, model, state)")
    return trials


def _named(given: object, where: str, check: Any) -> Mapping[str, Any]:
    """Check the names and the values of a mapping."""
    named = {checks.name(key, where): value for key, value in checks.mapping(given, where).items()}
    return Named(where.removesuffix("s"), {key: check(value, f"{key!r} in {where}") for key, value in named.items()})


def _table(value: object, where: str) -> Table:
    if not isinstance(value, Table):
        raise AliceError(f"{where} is of type {type(value).__name__}; give alice.reports.Table(columns, rows)")
    return value


def _only(kind: type) -> Callable[[object, str], Any]:
    """Return a check that a value is of one kind."""

    def check(value: object, where: str) -> Any:
        if not isinstance(value, kind):
            raise AliceError(f"{where} is of type {type(value).__name__}; give alice.reports.{kind.__name__}")
        return value

    return check


def _figure(value: object, where: str) -> Figure:
    if isinstance(value, Figure):
        return value
    try:
        return Figure(value)
    except AliceError as error:
        raise AliceError(f"{where}: {error}") from error
