"""What the page of a report claims, by name, so that `verify --vary` can say which claims depend on chance or method.

A verdict is a text or a truth value: `used`, `holds`, `L3H2`, yes. Verdicts are every metric whose value is a text or a
truth value, and every cell of a column called `verdict` or `outcome`. An analysis whose page claims more has a method
`verdicts(result)`, which returns verdicts by method: those of the page under `OWN`, and what the same result says by
another method, such as another ablation, under the name of that method.
"""

from collections.abc import Mapping
from typing import Any

from alice.plugins.analysis import Analysis
from alice.reports import Result
from alice.reports.parts import Table

Outcome = str | bool
Verdicts = Mapping[str, Mapping[str, Outcome]]
"""Verdicts by method and name."""
OWN = ""
"""The method of the page itself."""
COLUMNS = ("verdict", "outcome")
"""Columns whose cells are verdicts; the cells before them say on what."""


def verdicts_of(analysis: Analysis, result: Result) -> dict[str, dict[str, Outcome]]:
    """Return what a result claims, by method and name; the page's own claims are under `OWN`."""
    found: dict[str, dict[str, Outcome]] = {OWN: _of_metrics(result) | _of_tables(result)}
    more: Any = getattr(analysis, "verdicts", None)
    for method, named in more(result).items() if callable(more) else ():
        found[method] = found.get(method, {}) | dict(named)
    return found


def _of_metrics(result: Result) -> dict[str, Outcome]:
    several = len({metric.model for metric in result.metrics if metric.model}) > 1
    return {
        f"{metric.name}@{metric.model}" if several and metric.model else metric.name: metric.value
        for metric in result.metrics
        if isinstance(metric.value, str | bool)
    }


def _of_tables(result: Result) -> dict[str, Outcome]:
    return {
        f"{name}: {key}": outcome
        for name, table in result.tables.items()
        for column in COLUMNS
        if column in table.columns
        for key, outcome in _of_rows(table, column)
    }


def _of_rows(table: Table, column: str) -> list[tuple[str, Outcome]]:
    """Return the verdict of each row with the cells before it, without the model if there is one only.

    Measured numbers are left out, too: they differ in every repeat, which then would have no verdict of that name.
    """
    place = table.columns.index(column)
    several = len({row.get("model") for row in table.records()}) > 1
    names = [number for number in range(place) if several or table.columns[number] != "model"]
    return [
        (" ".join(str(row[number]) for number in names if not isinstance(row[number], float)), cell)
        for row in table.rows
        if isinstance(cell := row[place], str | bool)
    ]
