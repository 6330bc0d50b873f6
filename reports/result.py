"""What a report can show: a title, a paragraph, caveats, metrics, tables, figures, arrays. Numpy and Plotly only.

Everything is checked and copied when it is built, so that whatever an analysis returns can be stored and drawn.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from alice.errors import AliceError
from alice.reports import checks
from alice.reports.checks import Array, Cell, Scalar
from alice.reports.encoding import encode


@dataclass(frozen=True)
class Table:
    """Rows under named columns."""

    columns: Sequence[str]
    """Names of the columns."""
    rows: Iterable[Sequence[Cell]] = ()
    """Rows of cells, each as long as there are columns."""
    caption: str = ""
    """What the table shows."""
    monospace: Sequence[str] = ()
    """Columns set in type of one width, such as texts to compare letter by letter."""

    def __post_init__(self) -> None:
        columns = tuple(checks.label(column, "a table") for column in _no_text(self.columns, "the columns of a table"))
        if len(set(columns)) < len(columns):
            raise AliceError(f"a table has two columns of the same name: {', '.join(columns)}; rename one")
        unknown = [column for column in _no_text(self.monospace, "monospace") if column not in columns]
        if unknown:
            raise AliceError(f"monospace names {unknown[0]!r}, which is no column of the table: {', '.join(columns)}")
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "monospace", tuple(self.monospace))
        object.__setattr__(self, "caption", checks.text(self.caption, "the caption of a table"))
        object.__setattr__(self, "rows", tuple(_row(row, columns, number) for number, row in enumerate(self.rows)))


@dataclass(frozen=True, eq=False)
class Figure:
    """A Plotly figure, what it shows, and its numbers as a table."""

    figure: Any
    """A `plotly.graph_objects.Figure`; a copy is kept."""
    caption: str = ""
    """What the figure shows."""
    data: Table | None = None
    """Its numbers, one observation per row, for the CSV file; taken from the traces if absent."""

    def __post_init__(self) -> None:
        if self.data is not None and not isinstance(self.data, Table):
            raise AliceError("the data of a figure is no Table; give alice.reports.Table(columns, rows)")
        object.__setattr__(self, "caption", checks.text(self.caption, "the caption of a figure"))
        object.__setattr__(self, "figure", _copied(self.figure))


@dataclass(frozen=True, eq=False)
class Result:
    """What an analysis found."""

    title: str
    """Heading of the report."""
    summary: str = ""
    """A paragraph of what it shows; an empty line begins another."""
    caveats: str | Sequence[str] = ()
    """When not to trust it, a sentence or more each."""
    metrics: Mapping[str, Scalar] = field(default_factory=dict)
    """Single numbers, texts or truth values, in the order to show them."""
    headline: str | None = None
    """Name of the metric that stands for the result in the gallery; the first if absent."""
    tables: Mapping[str, Table] = field(default_factory=dict)
    """Tables by name."""
    figures: Mapping[str, Any] = field(default_factory=dict)
    """Figures by name: `Figure`, or a bare Plotly figure, which becomes a `Figure` without caption."""
    arrays: Mapping[str, Array] = field(default_factory=dict)
    """Numpy arrays by name, for further work; stored, not shown."""

    def __post_init__(self) -> None:
        caveats = (self.caveats,) if isinstance(self.caveats, str) else self.caveats
        metrics = checks.mapping(self.metrics, "metrics").items()
        checked = {
            "title": checks.label(self.title, "the title of a result"),
            "summary": checks.text(self.summary, "the summary of a result"),
            "caveats": tuple(text for text in (checks.text(entry, "a caveat") for entry in caveats) if text.strip()),
            "metrics": _frozen(
                {checks.label(key, "a metric"): checks.scalar(value, f"the metric {key!r}") for key, value in metrics}
            ),
            "tables": _named(self.tables, "tables", _table),
            "figures": _named(self.figures, "figures", _figure),
            "arrays": _named(self.arrays, "arrays", checks.array),
        }
        for key, value in checked.items():
            object.__setattr__(self, key, value)
        if self.headline is not None and self.headline not in self.metrics:
            raise AliceError(
                f"the headline {self.headline!r} is no metric of the result: {', '.join(self.metrics) or 'it has none'}"
            )

    def headline_metric(self) -> tuple[str, Scalar] | None:
        """Return the name and value of the metric that stands for the result, if it has any metric."""
        if not self.metrics:
            return None
        name = self.headline or next(iter(self.metrics))
        return name, self.metrics[name]


def _named(given: object, where: str, check: Any) -> Mapping[str, Any]:
    """Check the names and the values of a mapping."""
    named = {checks.name(key, where): value for key, value in checks.mapping(given, where).items()}
    return _frozen({key: check(value, f"{key!r} in {where}") for key, value in named.items()})


def _frozen(given: dict[str, Any]) -> Mapping[str, Any]:
    return MappingProxyType(given)


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
    import plotly.graph_objects as go  # here, because a listing of the plugins needs no figures

    if not isinstance(figure, go.Figure):
        raise AliceError(f"a figure is of type {type(figure).__name__}; give a plotly.graph_objects.Figure")
    parts = {
        "data": [trace.to_plotly_json() for trace in figure.data],
        "layout": {"template": {}, **figure.layout.to_plotly_json()},
        "frames": [frame.to_plotly_json() for frame in figure.frames],
    }
    encode(parts, "a figure")  # what cannot be stored is told now, not after hours of work
    return go.Figure(**parts)


def _row(row: Sequence[Cell], columns: tuple[str, ...], number: int) -> tuple[Cell, ...]:
    cells = tuple(_no_text(row, f"row {number} of a table"))
    if len(cells) != len(columns):
        raise AliceError(f"row {number} of a table has {len(cells)} cells, but the table has {len(columns)} columns")
    return tuple(
        checks.cell(value, f"row {number}, column {column!r} of a table")
        for value, column in zip(cells, columns, strict=True)
    )


def _no_text(given: Any, where: str) -> Iterable[Any]:
    """Return what was given unless it is one string, whose letters nobody meant, or cannot be iterated over."""
    if isinstance(given, str) or not isinstance(given, Iterable):
        raise AliceError(f"{where} is {given!r}; give a list")
    return given
