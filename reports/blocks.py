"""Parts of a result as the values that the template shows: figures, tables, texts with heat, cards and metrics."""

import re
from typing import Any

from alice.reports import page
from alice.reports.checks import Cell
from alice.reports.csv_text import figure_csv, table_csv
from alice.reports.number_text import MINUS, is_number, shown_column, shown_with_error
from alice.reports.parts import KINDS, Card, Figure, HeatText, Metric, Table
from alice.reports.result import Result

ROWS_SHOWN = 500
"""Rows of a table on the page; the CSV file has all."""
LONG_TEXT = 13
"""A metric with more characters has a smaller font."""
SHORT_TEXT = 24
"""A cell of at most this many characters is not broken into lines."""
_BREAKS = re.compile(r"(?<=\d) (?=[%±])|(?<=±) (?=\d)")
Block = dict[str, Any]
"""What the template shows of one part."""


def blocks_of(result: Result) -> dict[str, dict[str, Block]]:
    """Return the block of every part of a result by kind and name, without its number."""
    makers: dict[str, Any] = {"figures": _figure, "texts": _heat_text, "cards": _card, "tables": _table}
    return {kind: {name: makers[kind](name, part) for name, part in getattr(result, kind).items()} for kind in KINDS}


def paragraphs(text: str) -> list[str]:
    """Return the paragraphs of a text, which empty lines separate."""
    return [unbroken(paragraph.strip()) for paragraph in text.split("\n\n") if paragraph.strip()]


def unbroken(text: str) -> str:
    """Keep a number, its standard error and its percent sign on one line."""
    return _BREAKS.sub("\N{NO-BREAK SPACE}", text)


def words(name: str) -> str:
    """Return a machine name as words: `error-by-layer@base` becomes `Error by layer, base`."""
    spaced = name.replace("_", " ").replace("-", " ").replace("@", ", ")
    return spaced[:1].upper() + spaced[1:]


def metric_cards(result: Result) -> list[Block]:
    """Return a card per metric name; with several models a card has a line for each of them."""
    headline = result.headline_metric()
    several = len({metric.model for metric in result.metrics if metric.model}) > 1
    cards: dict[str, Block] = {}
    for metric in result.metrics:
        card = cards.setdefault(metric.name, {"label": metric.label, "headline": False, "lines": []})
        card["headline"] |= metric is headline
        card["lines"].append(_metric_line(metric, model=metric.model if several else ""))
    return list(cards.values())


def _metric_line(metric: Metric, *, model: str) -> Block:
    text = unbroken(str(metric))
    return {"shown": text, "exact": str(metric.value), "model": model, "long": len(text) > LONG_TEXT}


def _common(kind: str, name: str, part: Any, alternative: str = "") -> Block:
    """Return what figures, texts and tables share."""
    title = part.title or words(name)
    caption = part.caption or alternative or ("" if part.title else f"{title}.")
    plain = (caption or title).replace("`", "")
    return {
        "id": f"{kind}-{name}",
        "file": name,
        "name": title,
        "title": part.title,
        "caption": unbroken(caption),
        "alt": f"{kind.capitalize()}: {plain}",
    }


def _figure(name: str, figure: Figure) -> Block:
    return {
        **_common("figure", name, figure),
        "json": page.script_json({**page.figure_json(figure.json), "csv": figure_csv(figure)}),
    }


def _table(name: str, table: Table) -> Block:
    rows = tuple(table.rows)
    cells = dict(zip(table.columns, list(zip(*rows, strict=True)) or [()] * len(table.columns), strict=True))
    errors = {f"{column}_error" for column in table.columns} & set(table.columns)
    shown_columns = [column for column in table.columns if column not in errors]
    numeric = {column: _all_numbers(cells[column]) for column in shown_columns}
    parts = [
        _column(
            cells[column][:ROWS_SHOWN],
            cells.get(f"{column}_error", ())[:ROWS_SHOWN],
            number=numeric[column],
            mono=column in table.monospace,
        )
        for column in shown_columns
    ]
    return {
        **_common("table", name, table),
        "columns": [{"name": table.label(column), "number": numeric[column]} for column in shown_columns],
        "rows": list(zip(*parts, strict=True)),
        "hidden_rows": max(0, len(rows) - ROWS_SHOWN),
        "json": page.script_json({"csv": table_csv(table)}),
    }


def _column(cells: tuple[Cell, ...], errors: tuple[Cell, ...], *, number: bool, mono: bool) -> list[dict[str, str]]:
    """Return the cells of a column, each with its standard error where there is one."""

    def style(text: str) -> str:
        return "number" if number else "mono" if mono else "short" if len(text) <= SHORT_TEXT else "long"

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


def _heat_text(name: str, text: HeatText, *, with_csv: bool = True) -> Block:
    """Return a text with heat: its cells for the first choice, and the weights of every choice for the script."""
    first = text.choices[0]
    data = {
        "csv": table_csv(text.data) if with_csv else "",
        "weights": {symbol: [_weight(weight) for weight in values] for symbol, values in text.by_symbol.items()},
        "limit": text.largest,
        "unit": text.unit,
        "notes": list(text.notes),
    }
    return {
        **_common("text", name, text),
        "alt": f"Text: {text.characters}",
        "choices": [symbol for symbol in text.choices if symbol],
        "chosen": first,
        "words": _heat_words(text, text.by_symbol[first]),
        "below": bool(text.below),
        "scale": _scale(text),
        "json": page.script_json(data),
    }


def _scale(text: HeatText) -> Block:
    """Return the ends of the colour scale, the lower one only if there are negative weights."""
    negative = any(weight < 0 for values in text.by_symbol.values() for weight in values)
    low, high = (f"{sign * text.largest:.3g}".replace("-", MINUS) for sign in (-1, 1))
    return {"low": low if negative else "0", "high": f"{high} {text.unit}".strip(), "negative": negative}


def _heat_words(text: HeatText, weights: tuple[float, ...]) -> list[list[Block]]:
    """Return the cells of each word with the space after it, so that lines break between words."""
    found: list[list[Block]] = []
    for place, (character, weight) in enumerate(zip(text.characters, weights, strict=True)):
        note = text.notes[place] if text.notes else ""
        cell = {
            "character": character,
            "below": text.below[place] if text.below else "",
            "space": character == " ",
            "place": place,
            "strength": _strength(weight, text.largest),
            "cold": weight < 0,
            "clickable": character in text.by_symbol,
            "hint": _hint(_weight(weight), text.unit, note),
        }
        if not found or found[-1][-1]["space"]:
            found.append([])
        found[-1].append(cell)
    return found


def _hint(weight: float | None, unit: str, note: str) -> str:
    """Return what hovering over a character shows; `page.js` writes the same for other choices."""
    number = "" if weight is None else f"{weight:g} {unit}".strip().replace("-", MINUS, 1)
    return " · ".join(part for part in (number, note) if part)


def _weight(weight: float) -> float | None:
    """Return a weight with four significant digits for the page, which shows no more; None if there is none."""
    return None if weight != weight else float(f"{weight:.4g}")


def _strength(weight: float, limit: float) -> float:
    """Return the opacity of a cell, 0 to 1."""
    return 0.0 if weight != weight else round(min(1.0, abs(weight) / limit), 3)


def _card(name: str, card: Card) -> Block:
    texts = [_heat_text(f"{name}-{number}", text, with_csv=False) for number, text in enumerate(card.texts, 1)]
    metrics = [{"label": metric.label, **_metric_line(metric, model=metric.model)} for metric in card.metrics]
    for block, text in zip(texts, card.texts, strict=True):
        block["caption"] = text.caption  # a name that nobody chose is not worth showing
    return {
        "id": f"card-{name}",
        "title": card.title,
        "text": paragraphs(card.text),
        "metrics": metrics,
        "texts": texts,
    }
