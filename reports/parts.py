"""What a result consists of: metrics, tables, figures, texts with weights, cards, and the sections that group them.

Everything is checked and copied on construction, so that it can be stored and shown.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from alice.errors import AliceError, nearest
from alice.reports import checks
from alice.reports.checks import Cell, Scalar
from alice.reports.names import counted, listed
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
    title: str = ""
    """Short title for the contents; the name with spaces if empty."""

    def __post_init__(self) -> None:
        columns = tuple(checks.column(name) for name in no_text(self.columns, "the columns of a table"))
        if len(set(columns)) < len(columns):
            raise AliceError(f"a table has two columns of the same name: {', '.join(columns)}; rename one")
        labels = {
            name: checks.label(text, "a table") for name, text in checks.mapping(self.labels, "the labels").items()
        }
        for what, named in (("labels", labels), ("monospace", no_text(self.monospace, "monospace"))):
            if unknown := [name for name in named if name not in columns]:
                raise AliceError(
                    f"{what} names {unknown[0]!r}, which is not a column of the table: {', '.join(columns)}"
                )
        object.__setattr__(self, "columns", columns)
        object.__setattr__(self, "labels", MappingProxyType(labels))
        object.__setattr__(self, "monospace", tuple(self.monospace))
        object.__setattr__(self, "caption", checks.text(self.caption, "the caption of a table"))
        object.__setattr__(self, "title", checks.text(self.title, "the title of a table"))
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
    title: str = ""
    """Short title for the contents; the name with spaces if empty."""

    def __post_init__(self) -> None:
        if self.data is not None and not isinstance(self.data, Table):
            raise AliceError("the data of a figure is not a Table; give alice.reports.Table(columns, rows)")
        object.__setattr__(self, "caption", checks.text(self.caption, "the caption of a figure"))
        object.__setattr__(self, "title", checks.text(self.title, "the title of a figure"))
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


Weights = Sequence[float] | np.ndarray[Any, Any]
"""A weight per character."""


@dataclass(frozen=True)
class HeatText:
    """A text with heat: a row of characters, each with a weight that colours it.

    With weights by symbol the reader chooses a symbol, by a button or by clicking on it in the text, and sees the
    weights that belong to it: what the rest of the text contributes to that symbol, for example.
    """

    characters: str
    """The text; each character is a cell."""
    weights: Weights | Mapping[str, Weights]
    """A weight per character, or such weights for every symbol that can be chosen. NaN is shown without colour."""
    below: str = ""
    """A second text of the same length below the first, such as the answer; empty for none."""
    notes: Sequence[str] = ()
    """What hovering over a character adds to its weight, one note per character; empty for none."""
    caption: str = ""
    """What the text and its weights show."""
    title: str = ""
    """Short title for the contents; the name with spaces if empty."""
    unit: str = ""
    """Unit of the weights, such as `nats`."""
    limit: float | None = None
    """Absolute weight that is shown in full colour; the largest of all weights if None."""

    def __post_init__(self) -> None:
        where = "a text with heat"
        for name in ("characters", "below", "caption", "title", "unit"):
            object.__setattr__(self, name, checks.text(getattr(self, name), f"the field {name!r} of {where}"))
        given = self.weights if isinstance(self.weights, Mapping) else {"": self.weights}
        weights = {
            checks.text(symbol, f"a symbol of {where}"): checks.weights(values, len(self.characters), where)
            for symbol, values in given.items()
        }
        if not weights:
            raise AliceError(f"{where} has no weights; give one per character")
        notes = tuple(checks.text(note, f"a note of {where}") for note in no_text(self.notes, f"the notes of {where}"))
        for name, length in (("below", len(self.below)), ("notes", len(notes))):
            if length not in (0, len(self.characters)):
                raise AliceError(f"{name} of {where} has {length} entries for {len(self.characters)} characters")
        if self.limit is not None and not 0 < float(checks.number(self.limit, f"the limit of {where}")) < math.inf:
            raise AliceError(f"the limit of {where} is {self.limit!r:.60}; give a number above 0")
        object.__setattr__(self, "weights", MappingProxyType(weights))
        object.__setattr__(self, "notes", notes)
        object.__setattr__(self, "limit", None if self.limit is None else float(self.limit))

    @property
    def choices(self) -> tuple[str, ...]:
        """Symbols that a reader can choose; a single empty one if there is nothing to choose."""
        return tuple(self.by_symbol)

    @property
    def by_symbol(self) -> Mapping[str, tuple[float, ...]]:
        """The weights of each choice."""
        return cast("Mapping[str, tuple[float, ...]]", self.weights)

    @property
    def largest(self) -> float:
        """The weight of full colour; 1 if all weights are 0."""
        found = (abs(weight) for values in self.by_symbol.values() for weight in values if not math.isnan(weight))
        return self.limit or max(found, default=0.0) or 1.0

    @property
    def data(self) -> Table:
        """The weights as a table, one row per choice and character."""
        below = self.below or [None] * len(self.characters)
        rows = [
            (symbol, place, character, under, weight)
            for symbol, values in self.by_symbol.items()
            for place, (character, under, weight) in enumerate(zip(self.characters, below, values, strict=True))
        ]
        return Table(("symbol", "place", "character", "below", "weight"), rows)

    def __repr__(self) -> str:
        return f"<HeatText: {_shortened(self.characters)!r}>"


@dataclass(frozen=True)
class Card:
    """A card about one thing of many, such as a feature or a head: a title, words, numbers and texts with heat."""

    title: str
    """Heading of the card."""
    text: str = ""
    """What it is, in paragraphs separated by empty lines."""
    metrics: Sequence[Metric] = ()
    """Its numbers."""
    texts: Sequence[HeatText] = ()
    """Examples."""

    def __post_init__(self) -> None:
        where = f"the card {self.title!r:.60}"
        object.__setattr__(self, "title", checks.label(self.title, "a card"))
        object.__setattr__(self, "text", checks.text(self.text, f"the text of {where}"))
        for name, kind in (("metrics", Metric), ("texts", HeatText)):
            entries = tuple(no_text(getattr(self, name), f"{name} of {where}"))
            if strange := [entry for entry in entries if not isinstance(entry, kind)]:
                raise AliceError(f"{name} of {where} holds {strange[0]!r:.60}; give a list of {kind.__name__}")
            object.__setattr__(self, name, entries)

    def __repr__(self) -> str:
        return f"<Card: {self.title}>"


@dataclass(frozen=True)
class Section:
    """A part of a report under a heading: words, then what the result has under the names listed here, in this order.

    A section with `page=True` has a page of its own, to which the main page links; it may have sections below it.
    """

    name: str
    """Stable name; it is in the address of the section."""
    title: str
    """Heading."""
    text: str = ""
    """What it shows, in paragraphs separated by empty lines."""
    figures: Sequence[str] = ()
    """Names of figures of the result."""
    texts: Sequence[str] = ()
    """Names of texts with heat."""
    cards: Sequence[str] = ()
    """Names of cards."""
    tables: Sequence[str] = ()
    """Names of tables."""
    sections: "Sequence[Section]" = ()
    """Sections below this one; they have none below themselves."""
    page: bool = False
    """Whether the section is a page of its own; only outer sections can be."""

    def __post_init__(self) -> None:
        where = f"the section {self.name!r:.60}"
        object.__setattr__(self, "name", checks.name(self.name, "sections"))
        object.__setattr__(self, "title", checks.label(self.title, where))
        object.__setattr__(self, "text", checks.text(self.text, f"the text of {where}"))
        for kind in KINDS:
            names = tuple(checks.name(name, where) for name in no_text(getattr(self, kind), f"{kind} of {where}"))
            object.__setattr__(self, kind, names)
        below = tuple(no_text(self.sections, f"sections of {where}"))
        for inner in below:
            if not isinstance(inner, Section):
                raise AliceError(f"sections of {where} holds {inner!r:.60}; give a list of Section")
            if inner.sections or inner.page:
                raise AliceError(
                    f"{where} has the section {inner.name!r} below it, which cannot be a page or have more"
                )
        object.__setattr__(self, "sections", below)
        if not isinstance(self.page, bool):
            raise AliceError(f"page of {where} is {self.page!r:.60}; give True or False")

    def __repr__(self) -> str:
        return f"<Section {self.name}: {self.title}>"


KINDS = ("figures", "texts", "cards", "tables")
"""Kinds of things that a section can show."""


def _shortened(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= LONGEST_CAPTION else f"{line[: LONGEST_CAPTION - 3]}..."


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
    cells = tuple(no_text(row, f"row {number} of a table"))
    if len(cells) != len(columns):
        raise AliceError(f"row {number} of a table has {len(cells)} cells, but the table has {len(columns)} columns")
    return tuple(
        checks.cell(value, f"row {number}, column {column!r} of a table")
        for value, column in zip(cells, columns, strict=True)
    )


def no_text(given: Any, where: str) -> Iterable[Any]:
    """Return an iterable; raise if it is a string or a mapping, which would be iterated over by accident."""
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise AliceError(f"{where} is {given!r:.60}; give a list")
    return given
