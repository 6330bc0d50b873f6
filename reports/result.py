"""What an analysis found, as data: metrics, tables, figures and arrays under stable names, with labels to show.

Programs read names; people read labels. Everything is checked and copied on construction, so that every result can
be stored and drawn. Numpy and Plotly only.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from alice.errors import AliceError, nearest
from alice.reports import checks
from alice.reports.checks import Array, Cell, Scalar
from alice.reports.names import Named, UnknownNameError, counted, listed, model_key, suggestion
from alice.reports.number_text import is_number, shown, shown_with_error, shown_with_interval

if TYPE_CHECKING:
    import pandas

LONGEST_CAPTION = 100
"""Characters of a caption in a repr."""


@dataclass(frozen=True)
class Metric:
    """One number, text or yes/no of a result, with its uncertainty, its unit and the model it belongs to."""

    name: str
    """Stable machine name such as `ser`, the same for one model and for several."""
    value: Scalar
    """A number, a text or a truth value."""
    error: float | None = None
    """Standard error; NaN counts as absent."""
    interval: tuple[float, float] | None = None
    """Lower and upper end, where a standard error would mislead."""
    unit: str = ""
    """Unit of the value, such as `%` or `letters/s`."""
    model: str = ""
    """Name of the model or solver that it belongs to; empty for a metric of the whole report."""
    label: str = ""
    """What a reader sees; the name with spaces if empty."""

    def __post_init__(self) -> None:
        where = f"the metric {self.name!r}"
        object.__setattr__(self, "name", checks.name(self.name, "metrics"))
        object.__setattr__(self, "value", checks.scalar(self.value, where))
        error = None if self.error is None else float(checks.number(self.error, f"the error of {where}"))
        object.__setattr__(self, "error", None if error is None or math.isnan(error) else error)
        if self.interval is not None:
            low, high = (float(checks.number(end, f"the interval of {where}")) for end in self.interval)
            object.__setattr__(self, "interval", None if math.isnan(low) or math.isnan(high) else (low, high))
        object.__setattr__(self, "unit", checks.text(self.unit, f"the unit of {where}"))
        object.__setattr__(self, "model", checks.text(self.model, f"the model of {where}"))
        label = checks.text(self.label, f"the label of {where}") or self.name.replace("-", " ")
        object.__setattr__(self, "label", checks.label(label, where))

    def __str__(self) -> str:
        """Return the value as a reader sees it: `2.14 ± 0.42 %`."""
        if self.error is not None and is_number(self.value):
            text = shown_with_error(float(self.value), self.error)
        elif self.interval is not None and is_number(self.value):
            text = shown_with_interval(float(self.value), *self.interval)
        else:
            text = shown(self.value)
        return f"{text} {self.unit}" if self.unit else text

    def __repr__(self) -> str:
        of = f" of {self.model}" if self.model else ""
        return f"<{self.label}{of}: {self}>"

    def __float__(self) -> float:
        return float(self.value)


@dataclass(frozen=True)
class Table:
    """Rows under named columns, tidy: one observation per row, a `model` column for values of a model.

    A column `x_error` holds the standard errors of the column `x`; a page shows both in one column.
    """

    columns: Sequence[str]
    """Machine names of the columns, such as `ser_error`; `to_pandas` and the CSV file use them."""
    rows: Iterable[Sequence[Cell]] = ()
    """Rows of cells, one cell per column."""
    caption: str = ""
    """What the table shows."""
    labels: Mapping[str, str] = field(default_factory=dict)
    """What a reader sees above a column; its name with spaces if absent."""
    monospace: Sequence[str] = ()
    """Columns in a monospaced font, such as texts to compare letter by letter."""

    def __post_init__(self) -> None:
        columns = tuple(checks.column(name) for name in _no_text(self.columns, "the columns of a table"))
        if len(set(columns)) < len(columns):
            raise AliceError(f"a table has two columns of the same name: {', '.join(columns)}; rename one")
        labels = {
            name: checks.label(text, "a table") for name, text in checks.mapping(self.labels, "the labels").items()
        }
        for what, named in (("labels", labels), ("monospace", _no_text(self.monospace, "monospace"))):
            if unknown := [name for name in named if name not in columns]:
                raise AliceError(
                    f"{what} names {unknown[0]!r}, which is not a column of the table: {', '.join(columns)}"
                )
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "labels", MappingProxyType(labels))
        object.__setattr__(self, "monospace", tuple(self.monospace))
        object.__setattr__(self, "caption", checks.text(self.caption, "the caption of a table"))
        object.__setattr__(self, "rows", tuple(_row(row, columns, number) for number, row in enumerate(self.rows)))

    def label(self, column: str) -> str:
        """Return what a reader sees above a column."""
        return self.labels.get(column) or column.replace("_", " ")

    def records(self, **where: Cell) -> list[dict[str, Cell]]:
        """Return the rows by column, all of them or those with the given cells: `records(model="base", layer=3)`."""
        for column in where:
            if column not in self.columns:
                raise AliceError(f"the table has no column {column!r}{nearest(column, self.columns)}")
        found = (dict(zip(self.columns, row, strict=True)) for row in self.rows)
        return [row for row in found if all(row[column] == cell for column, cell in where.items())]

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the table as a data frame."""
        import pandas

        return pandas.DataFrame(list(self.rows), columns=list(self.columns))

    def __repr__(self) -> str:
        return f"<Table: {counted(len(tuple(self.rows)), 'row')} of {listed(self.columns)}>"

    def _repr_html_(self) -> str:
        frame: str = self.to_pandas().rename(columns=self.label).to_html(index=False, max_rows=60)
        return frame


@dataclass(frozen=True, eq=False)
class Figure:
    """A Plotly figure, what it shows, and its numbers as a table."""

    figure: Any
    """A `plotly.graph_objects.Figure`; a copy is kept."""
    caption: str = ""
    """What the figure shows."""
    data: Table | None = None
    """Its numbers for the CSV file, one observation per row; taken from the traces if absent."""

    def __post_init__(self) -> None:
        if self.data is not None and not isinstance(self.data, Table):
            raise AliceError("the data of a figure is not a Table; give alice.reports.Table(columns, rows)")
        object.__setattr__(self, "caption", checks.text(self.caption, "the caption of a figure"))
        object.__setattr__(self, "figure", _copied(self.figure))
        _ = self.json  # raise now rather than when the result is stored

    @cached_property
    def json(self) -> str:
        """The figure as Plotly's own JSON; the archive, the page and the thumbnail use it."""
        try:
            text: str = self.figure.to_json(validate=False, engine="json")
        except (TypeError, ValueError) as error:
            raise AliceError(f"a figure cannot be written as JSON ({error}); use numbers and text only") from error
        return text

    def __repr__(self) -> str:
        return f"<Figure: {_shortened(self.caption) or counted(len(self.figure.data), 'trace')}>"

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> Any:
        """Show the figure in a notebook."""
        return self.figure._repr_mimebundle_(*args, **options)


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
        }
        for key, value in checked.items():
            object.__setattr__(self, key, value)
        names = sorted({metric.name for metric in self.metrics})
        if self.headline is not None and self.headline not in names:
            raise AliceError(
                f"the headline {self.headline!r} is not a metric of the result: {', '.join(names) or 'it has none'}"
            )

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
        """Return how many metrics, tables, figures and arrays there are."""
        parts = {"metric": self.metrics, "table": self.tables, "figure": self.figures, "array": self.arrays}
        return ", ".join(counted(len(part), what) for what, part in parts.items() if part) or "empty"

    def __repr__(self) -> str:
        headline = self.headline_text()
        return f"<Result {self.title}{f': {headline}' if headline else ''} | {self.contents()}>"


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_CAPTION else f"{line[: LONGEST_CAPTION - 3]}..."


def _metrics(given: object) -> tuple[Metric, ...]:
    metrics = tuple(_no_text(given, "metrics"))
    seen: set[tuple[str, str]] = set()
    for metric in metrics:
        if not isinstance(metric, Metric):
            raise AliceError(f"metrics holds {metric!r:.60}; give a list of alice.reports.Metric(name, value)")
        if (metric.name, metric.model) in seen:
            raise AliceError(f"there are two metrics {metric.name!r} of {metric.model or 'no model'}; rename one")
        seen.add((metric.name, metric.model))
    return metrics


def _named(given: object, where: str, check: Any) -> Mapping[str, Any]:
    """Check the names and the values of a mapping."""
    named = {checks.name(key, where): value for key, value in checks.mapping(given, where).items()}
    return Named(where.removesuffix("s"), {key: check(value, f"{key!r} in {where}") for key, value in named.items()})


def _table(value: object, where: str) -> Table:
    if not isinstance(value, Table):
        raise AliceError(f"{where} is of type {type(value).__name__}; give alice.reports.Table(columns, rows)")
    return value


def _figure(value: object, where: str) -> Figure:
    if isinstance(value, Figure):
        return value
    try:
        return Figure(value)
    except AliceError as error:
        raise AliceError(f"{where}: {error}") from error


def _copied(figure: Any) -> Any:
    """Return a copy of a Plotly figure that always has a template, since reading one back would add the default."""
    import plotly.graph_objects as go  # slow to import, and most commands draw nothing

    if not isinstance(figure, go.Figure):
        raise AliceError(f"a figure is of type {type(figure).__name__}; give a plotly.graph_objects.Figure")
    copy = go.Figure(figure)
    if not figure.layout.to_plotly_json().get("template"):
        copy.layout.template = {}
    return copy


def _row(row: Sequence[Cell], columns: tuple[str, ...], number: int) -> tuple[Cell, ...]:
    cells = tuple(_no_text(row, f"row {number} of a table"))
    if len(cells) != len(columns):
        raise AliceError(f"row {number} of a table has {len(cells)} cells, but the table has {len(columns)} columns")
    return tuple(
        checks.cell(value, f"row {number}, column {column!r} of a table")
        for value, column in zip(cells, columns, strict=True)
    )


def _no_text(given: Any, where: str) -> Iterable[Any]:
    """Return an iterable; raise if it is a string or a mapping, which would be iterated over by accident."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise AliceError(f"{where} is {given!r:.60}; give a list")
    return given
