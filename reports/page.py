"""What all pages share: templates with escaping on, safe JSON inside a page, and the policy that guards it.

The Content-Security-Policy names each inlined script by its hash, so a script that slipped into a page would not run.
It works from `file://` too: a script file in the same folder is allowed by a nonce, since browsers disagree about
'self' there and refuse hashes of files.

Plotly renders a few HTML tags in any text, links among them. Text of a figure may come from a ciphertext or an
untrusted plugin, so only tags for formatting are kept; every other `<` is shown as a character.
"""

import base64
import hashlib
import json
import re
from collections.abc import Iterable
from functools import cache, partial
from html import escape
from importlib.resources import files
from typing import Any

import jinja2
from jinja2.filters import do_mark_safe

OURS = "alice.reports"
_FORMATTING = re.compile(
    r"</?(?:b|i|u|s|em|sup|sub|extra|span)>|<br ?/?>"
    r"|<span style=(?P<quote>[\"'])(?:(?:color|font-size|font-weight|font-style): ?[#\w.%-]+;? ?)*(?P=quote)>",
    re.IGNORECASE,
)
_IN_SCRIPT = {ord(sign): f"\\u{ord(sign):04x}" for sign in "<>&\u2028\u2029"}
_CODE = re.compile(r"`([^`\n]+)`")
_SURROGATE = re.compile("[\ud800-\udfff]")


@cache
def resource(name: str, package: str = OURS) -> str:
    """Return a file of a package as text."""
    return files(package).joinpath(name).read_text(encoding="utf-8")


def render(template: str, package: str = OURS, **values: Any) -> str:
    """Fill a template of a package; every value is escaped unless the template says `safe`."""
    return visible(_environment(package).get_template(template).render(**values))


@cache
def script_hash(script: str) -> str:
    """Return the source expression of an inlined script for a Content-Security-Policy."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script.encode()).digest()).decode('ascii')}'"


def policy(scripts: Iterable[str], images: str = "data: blob:") -> str:
    """Return a Content-Security-Policy that runs only the given scripts and makes no connections.

    Plotly exports pictures through the `data:` and `blob:` addresses that are allowed by default.
    """
    return "; ".join(
        (
            "default-src 'none'",
            f"script-src {' '.join(scripts)}",
            "style-src 'unsafe-inline'",  # Plotly sets styles, which cannot load anything under this policy
            f"img-src {images}",
            "base-uri 'none'",
            "form-action 'none'",
        )
    )


def prose(text: str) -> str:
    """Return a sentence as HTML in which text between backticks is code; everything else is escaped."""
    parts = [escape(part) for part in _CODE.split(text)]  # every second one stood between backticks
    return do_mark_safe("".join(f"<code>{part}</code>" if number % 2 else part for number, part in enumerate(parts)))


def figure_json(plotly: str) -> dict[str, Any]:
    """Return a figure in Plotly's JSON as plain values with safe text, without the template, which the page sets."""
    figure: dict[str, Any] = json.loads(plotly)
    figure.get("layout", {}).pop("template", None)
    safe: dict[str, Any] = _safe(figure)
    return safe


def script_json(value: Any) -> str:
    """Return JSON that is safe inside a script element: it cannot contain a tag."""
    return visible(json.dumps(value, ensure_ascii=False, allow_nan=False)).translate(_IN_SCRIPT)


def visible(text: str) -> str:
    """Return text that UTF-8 can encode: half a surrogate pair becomes the replacement character."""
    return _SURROGATE.sub("\ufffd", text)


def safe_text(text: str) -> str:
    """Return text for Plotly in which the only tags left are for formatting."""
    kept, end = [], 0
    for tag in _FORMATTING.finditer(text):
        kept += [text[end : tag.start()].replace("<", "&lt;"), tag[0]]
        end = tag.end()
    return "".join([*kept, text[end:].replace("<", "&lt;")])


def _safe(value: Any) -> Any:
    if isinstance(value, str):
        return safe_text(value)
    if isinstance(value, list):
        return [_safe(entry) for entry in value]
    if isinstance(value, dict):
        return {key: _safe(entry) for key, entry in value.items()}
    return value


@cache
def _environment(package: str) -> jinja2.Environment:
    """Return an environment with the templates of a package and the shared ones of this one."""
    loaders = [jinja2.FunctionLoader(partial(_template, package=room)) for room in (package, OURS)]
    environment = jinja2.Environment(
        loader=jinja2.ChoiceLoader(loaders),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = prose
    return environment


def _template(name: str, package: str) -> str | None:
    try:
        return resource(name, package)
    except FileNotFoundError:
        return None
