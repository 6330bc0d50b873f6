"""Figures as JSON for the page, made harmless.

Plotly takes a few HTML tags in any text, links among them. Text of a figure may come from a ciphertext or a stranger's
plugin, so only tags that set type are let through; every other `<` is shown as the character it is.
"""

import json
import re
from typing import Any

_TYPE_TAGS = re.compile(
    r"</?(?:b|i|u|s|em|sup|sub|extra|span)>|<br ?/?>"
    r"|<span style=(?P<quote>[\"'])(?:(?:color|font-size|font-weight|font-style): ?[#\w.%-]+;? ?)*(?P=quote)>",
    re.IGNORECASE,
)
_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_SURROGATE = re.compile("[\ud800-\udfff]")


def figure_json(plotly: str) -> dict[str, Any]:
    """Return a figure in Plotly's JSON as plain values without its template, which is the page's to choose."""
    figure: dict[str, Any] = json.loads(plotly)
    figure.get("layout", {}).pop("template", None)
    harmless: dict[str, Any] = _harmless(figure)
    return harmless


def script_json(value: Any) -> str:
    """Return JSON that may stand inside a `<script type="application/json">`: no tag can end or begin in it."""
    return visible(json.dumps(value, ensure_ascii=False, allow_nan=False)).translate(_IN_SCRIPT)


def visible(text: str) -> str:
    """Return text that UTF-8 can write: half a surrogate pair becomes the replacement character."""
    return _SURROGATE.sub("\ufffd", text)


def harmless_text(text: str) -> str:
    """Return text for Plotly in which only tags that set type are left."""
    kept, end = [], 0
    for tag in _TYPE_TAGS.finditer(text):
        kept += [text[end : tag.start()].replace("<", "&lt;"), tag[0]]
        end = tag.end()
    return "".join([*kept, text[end:].replace("<", "&lt;")])


def _harmless(value: Any) -> Any:
    if isinstance(value, str):
        return harmless_text(value)
    if isinstance(value, list):
        return [_harmless(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _harmless(entry) for key, entry in value.items()}
    return value
