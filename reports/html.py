"""A stored run -> one HTML page that opens from disk, without network and without a model."""

import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alice.files import atomic_write
from alice.reports import page, plotly_script, theme
from alice.reports.archive import Report
from alice.reports.checks import Cell
from alice.reports.csv_text import figure_csv, table_csv
from alice.reports.number_text import is_number, shown_column, shown_with_error
from alice.reports.plot_json import figure_json, script_json
from alice.reports.provenance import analysis_of, date_of, model_of
from alice.reports.result import Figure, Result, Table

REPORT = "report.html"
INDEX = "index.html"
ROWS_SHOWN = 500
"""Rows of a table on the page; the CSV file has all."""
LONG_TEXT = 14
"""A metric that takes more characters than this is set smaller."""
SHORT_TEXT = 24
"""A cell of at most this many characters is not broken into lines."""
CONTENTS_FROM = 4
"""Figures and tables from which a list of contents helps."""


def write_report(run: Report, *, out: Path | None = None, standalone: bool = False) -> Path:
    """Write the page of a run as `report.html` in its folder, or elsewhere, and return where.

    A standalone page holds the drawing script; otherwise the script is put beside the folder of the run, once for all.
    """
    path = run.stored_in / REPORT if out is None else out
    library = run.stored_in.absolute().parent
    linked = (library / INDEX).is_file()
    text = render_report(run, address=None if standalone else _relative(library, path), linked=linked)
    with atomic_write(path) as file:
        file.write(text)
    if not standalone:
        plotly_script.place(library)
    return path


def render_report(run: Report, *, address: str | None = "..", linked: bool = True) -> str:
    """Return the page of a run, by default for its own folder.

    `address` leads to the folder of the gallery, None makes the page standalone; `linked` says whether it names the
    gallery.
    """
    result, provenance = run.result, run.provenance
    figures = [_figure_parts(name, figure) for name, figure in result.figures.items()]
    tables = [_table_parts(name, table) for name, table in result.tables.items()]
    nonce = secrets.token_hex(16)  # nobody who supplies a result can foresee it
    inlined = "" if address is not None else plotly_script.source()
    where = [analysis_of(provenance), model_of(provenance), date_of(provenance)]
    return page.render(
        "template.html",
        result=result,
        model=model_of(provenance),
        where=[part for part in where if part],
        summary=[paragraph.strip() for paragraph in result.summary.split("\n\n") if paragraph.strip()],
        metrics=_metric_parts(result),
        figures=figures,
        tables=tables,
        arrays=[{"name": name, "kind": f"{array.dtype} {array.shape}"} for name, array in result.arrays.items()],
        contents=_contents(figures, tables),
        provenance=_tree(provenance),
        themes=script_json({"light": theme.template("light"), "dark": theme.template("dark")}),
        style=page.resource("style.css"),
        theme_script=page.resource("theme.js"),
        page_script=page.resource("page.js"),
        plotly_inlined=inlined,
        plotly_address=f"{address}/{plotly_script.FILE}",
        gallery_address=f"{address}/{INDEX}" if linked and address is not None else None,
        nonce=nonce,
        policy=page.policy([*scripts(), page.script_hash(inlined) if inlined else f"'nonce-{nonce}'"]),
    )


def scripts() -> list[str]:
    """Return the policy sources of the scripts that stand inside a report."""
    return [page.script_hash(page.resource(name)) for name in ("theme.js", "page.js")]


def _relative(folder: Path, path: Path) -> str:
    return Path(os.path.relpath(folder, path.absolute().parent)).as_posix()


def _metric_parts(result: Result) -> list[dict[str, Any]]:
    headline = result.headline_metric()
    several = len({metric.model for metric in result.metrics if metric.model}) > 1
    return [
        {
            "name": f"{metric.label}, {metric.model}" if several and metric.model else metric.label,
            "shown": str(metric),
            "exact": str(metric.value),
            "headline": metric is headline,
            "long": len(str(metric)) > LONG_TEXT,
        }
        for metric in result.metrics
    ]


def _figure_parts(name: str, figure: Figure) -> dict[str, Any]:
    caption = figure.caption or f"{_words(name)}."
    page_data = {**figure_json(figure.json), "csv": figure_csv(figure)}
    identifier = f"figure-{name}"
    return {
        "id": identifier,
        "file": name,
        "name": _words(name),
        "caption": caption,
        "alt": f"Figure: {caption}",
        "json": script_json(page_data),
    }


def _table_parts(name: str, table: Table) -> dict[str, Any]:
    rows = tuple(table.rows)
    caption = table.caption or f"{_words(name)}."
    cells = dict(zip(table.columns, list(zip(*rows, strict=True)) or [()] * len(table.columns), strict=True))
    errors = {f"{column}_error" for column in table.columns} & set(table.columns)
    shown_columns = [column for column in table.columns if column not in errors]
    numeric = {column: _all_numbers(cells[column]) for column in shown_columns}
    parts = [
        _column_parts(
            cells[column][:ROWS_SHOWN],
            cells.get(f"{column}_error", ())[:ROWS_SHOWN],
            number=numeric[column],
            mono=column in table.monospace,
        )
        for column in shown_columns
    ]
    return {
        "id": f"table-{name}",
        "file": name,
        "name": _words(name),
        "caption": caption,
        "alt": f"Table: {caption}",
        "columns": [{"name": table.label(column), "number": numeric[column]} for column in shown_columns],
        "rows": list(zip(*parts, strict=True)),
        "hidden_rows": max(0, len(rows) - ROWS_SHOWN),
        "json": script_json({"csv": table_csv(table)}),
    }


def _column_parts(
    cells: tuple[Cell, ...], errors: tuple[Cell, ...], *, number: bool, mono: bool
) -> list[dict[str, str]]:
    """Return the cells of a column, each with its standard error where there is one."""

    def style(text: str) -> str:
        return "number" if number else "mono" if mono else "short" if len(text) <= SHORT_TEXT else ""

    texts = shown_column(cells)
    for place, error in enumerate(errors):
        cell = cells[place]
        if is_number(error) and is_number(cell):
            texts[place] = shown_with_error(float(cell), float(error))
    return [
        {"shown": text, "exact": repr(cell) if is_number(cell) else "", "style": style(text)}
        for cell, text in zip(cells, texts, strict=True)
    ]


def _all_numbers(cells: tuple[Cell, ...]) -> bool:
    return any(map(is_number, cells)) and all(cell is None or is_number(cell) for cell in cells)


def _contents(figures: list[dict[str, Any]], tables: list[dict[str, Any]]) -> list[dict[str, str]]:
    """Return the links to figures and tables, if there are enough to lose one's way among."""
    entries = [{"id": part["id"], "label": part["name"]} for part in (*figures, *tables)]
    return entries if len(entries) >= CONTENTS_FROM else []


def _words(name: str) -> str:
    words = name.replace("_", " ").replace("-", " ").replace("@", ", ")
    return words[:1].upper() + words[1:]


def _tree(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return provenance as names with either a text or names below them."""
    return [
        {"name": name, "children": _tree(entry), "shown": ""}
        if isinstance(entry, Mapping) and entry
        else {"name": name, "children": None, "shown": _plain(entry)}
        for name, entry in value.items()
    ]


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "none"
    return "none" if value is None or (isinstance(value, Mapping) and not value) else str(value)
