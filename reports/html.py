"""Renders a stored report as one HTML page that opens from disk, without network and without a model."""

import os
import re
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alice.files import atomic_write, check_file
from alice.reports import page, plotly_script
from alice.reports.archive import ARRAYS, RESULT, Report
from alice.reports.checks import Cell
from alice.reports.csv_text import figure_csv, table_csv
from alice.reports.figures import theme
from alice.reports.number_text import is_number, shown_column, shown_with_error
from alice.reports.result import Figure, Result, Table

REPORT = "report.html"
INDEX = "index.html"
MARK = b'<meta name="generator" content="alice-interp">'
BYTES_OF_HEAD = 4000
"""The mark and the policy of a page are in its first lines."""
ROWS_SHOWN = 500
"""Rows of a table on the page; the CSV file has all."""
LONG_TEXT = 14
"""A metric with more characters has a smaller font."""
SHORT_TEXT = 24
"""A cell of at most this many characters is not broken into lines."""
CONTENTS_FROM = 4
"""Figures and tables from which a list of contents helps."""
_BREAKS = re.compile(r"(?<=\d) (?=[%±])|(?<=±) (?=\d)")


def write_report(report: Report, *, out: Path | None = None, standalone: bool = False, force: bool = False) -> Path:
    """Write the page of a report as `report.html` in its folder, or elsewhere, and return its path.

    A standalone page contains the drawing script; otherwise the script is written once for all reports of a gallery.
    An existing file that is not such a page is replaced only with `force`, and a file of the report itself never.
    """
    path = report.stored_in / REPORT if out is None else out
    if out is not None:
        own = [report.stored_in / name for name in (RESULT, ARRAYS)]
        path = check_file(out, read=own, is_ours=lambda file: MARK in head(file), force=force)
    library = report.stored_in.absolute().parent
    linked = (library / INDEX).is_file()
    text = render_report(report, address=None if standalone else _relative(library, path), linked=linked)
    with atomic_write(path) as file:
        file.write(text)
    if not standalone:
        plotly_script.place(library)
    return path


def head(path: Path) -> bytes:
    """Return the beginning of a page."""
    with path.open("rb") as file:
        return file.read(BYTES_OF_HEAD)


def render_report(report: Report, *, address: str | None = "..", linked: bool = True) -> str:
    """Return the page of a report, by default for its own folder.

    `address` is the relative path to the folder of the gallery, None makes the page standalone; `linked` says whether
    the page links to the gallery.
    """
    result = report.result
    figures = [_figure_parts(name, figure) for name, figure in result.figures.items()]
    tables = [_table_parts(name, table) for name, table in result.tables.items()]
    nonce = secrets.token_hex(16)  # the author of a result cannot predict it
    inlined = "" if address is not None else plotly_script.source()
    models = ", ".join(report.models)
    return page.render(
        "template.html",
        result=result,
        models=models,
        where=[part for part in (report.analysis, models, report.date) if part],
        summary=[_unbroken(paragraph.strip()) for paragraph in result.summary.split("\n\n") if paragraph.strip()],
        metrics=_metric_cards(result),
        figures=figures,
        tables=tables,
        arrays=[{"name": name, "kind": f"{array.dtype} {array.shape}"} for name, array in result.arrays.items()],
        contents=_contents(figures, tables),
        provenance=_tree(report.provenance),
        themes=page.script_json({"light": theme.template("light"), "dark": theme.template("dark")}),
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
    """Return the policy sources of the scripts inside a report."""
    return [page.script_hash(page.resource(name)) for name in ("theme.js", "page.js")]


def _unbroken(text: str) -> str:
    """Keep a number, its standard error and its percent sign on one line."""
    return _BREAKS.sub("\N{NO-BREAK SPACE}", text)


def _relative(folder: Path, path: Path) -> str:
    return Path(os.path.relpath(folder, path.absolute().parent)).as_posix()


def _metric_cards(result: Result) -> list[dict[str, Any]]:
    """Return a card per metric name; with several models a card has a line for each of them."""
    headline = result.headline_metric()
    several = len({metric.model for metric in result.metrics if metric.model}) > 1
    cards: dict[str, dict[str, Any]] = {}
    for metric in result.metrics:
        card = cards.setdefault(metric.name, {"label": metric.label, "headline": False, "lines": []})
        card["headline"] |= metric is headline
        text = _unbroken(str(metric))
        line = {"shown": text, "exact": str(metric.value), "model": metric.model if several else ""}
        card["lines"].append({**line, "long": len(text) > LONG_TEXT})
    return list(cards.values())


def _figure_parts(name: str, figure: Figure) -> dict[str, Any]:
    caption = figure.caption or f"{_words(name)}."
    return {
        "id": f"figure-{name}",
        "file": name,
        "name": _words(name),
        "caption": caption,
        "alt": f"Figure: {caption}",
        "json": page.script_json({**page.figure_json(figure.json), "csv": figure_csv(figure)}),
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
        "json": page.script_json({"csv": table_csv(table)}),
    }


def _column_parts(
    cells: tuple[Cell, ...], errors: tuple[Cell, ...], *, number: bool, mono: bool
) -> list[dict[str, str]]:
    """Return the cells of a column, each with its standard error where there is one."""

    def style(text: str) -> str:
        return "number" if number else "mono" if mono else "short" if len(text) <= SHORT_TEXT else ""

    texts = shown_column(cells)
    for place, (cell, error) in enumerate(zip(cells, errors, strict=False)):
        if is_number(error) and is_number(cell) and error == error:  # a NaN is not an error
            texts[place] = shown_with_error(float(cell), float(error))
    return [
        {"shown": text, "exact": repr(cell) if is_number(cell) else "", "style": style(text)}
        for cell, text in zip(cells, texts, strict=True)
    ]


def _all_numbers(cells: tuple[Cell, ...]) -> bool:
    return any(map(is_number, cells)) and all(cell is None or is_number(cell) for cell in cells)


def _contents(figures: list[dict[str, Any]], tables: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return links to the figures and tables of a long report; figures of several models share an entry."""
    groups: dict[str, list[dict[str, Any]]] = {}
    for part in figures:
        groups.setdefault(part["file"].partition("@")[0], []).append(part)
    entries: list[dict[str, Any]] = []
    for name, parts in groups.items():
        if len(parts) == 1:
            entries.append({"id": parts[0]["id"], "label": parts[0]["name"]})
        else:
            links = [{"id": part["id"], "label": part["file"].partition("@")[2] or "all"} for part in parts]
            entries.append({"id": "", "label": _words(name), "links": links})
    entries += [{"id": part["id"], "label": f"{part['name']} (table)"} for part in tables]
    return entries if len(entries) >= CONTENTS_FROM else []


def _words(name: str) -> str:
    words = name.replace("_", " ").replace("-", " ").replace("@", ", ")
    return words[:1].upper() + words[1:]


def _tree(value: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return provenance as names with either a text or names below them; a list of objects repeats its name."""
    found: list[dict[str, Any]] = []
    for name, entry in value.items():
        entries = entry if isinstance(entry, list) and entry else [entry]
        if all(isinstance(one, Mapping) and one for one in entries):
            found += [{"name": name, "children": _tree(one), "shown": ""} for one in entries]
        else:
            found.append({"name": name, "children": None, "shown": _plain(entry)})
    return found


def _plain(value: Any) -> str:
    if isinstance(value, list):
        return ", ".join(map(_plain, value)) or "none"
    return "none" if value is None or (isinstance(value, Mapping) and not value) else str(value)
