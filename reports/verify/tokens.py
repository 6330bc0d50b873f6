"""Says in which part of a page, and how, it differs from its rendering.

Pages are cut into tags, words and whole scripts, in time proportional to their length. That is no parser of HTML, and
need not be one: it only has to cut a page and its rendering alike.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass

MOST = 20
"""Parts that are listed."""
LONGEST_QUOTE = 60
"""Characters of a piece that are quoted."""
_RAW = ("script", "style")
_ID = re.compile(r'\bid="([^"]*)"')
_SHOWN = re.compile(r'\b(?:title|data-value|aria-label)="([^"]*)"')
_DATA = '<script type="application/json"'
_PARTS = re.compile(r"metrics|provenance|trials|caveats|plot-themes|(?:figure|table|text|card|section)-.+")


@dataclass(frozen=True)
class Token:
    """A piece of a page."""

    part: str
    """The part of the report that it belongs to: the last id that begins one."""
    kind: str
    """`tag`, `words`, `data` for JSON, or `code` for scripts and styles."""
    text: str
    """The piece itself."""


def differences(page: str, rendered: str, *, content_only: bool) -> Iterator[str]:
    """Yield a line for each part of a page that differs from its rendering."""
    ours, theirs = (_by_part(text, content_only=content_only) for text in (rendered, page))
    names = list(dict.fromkeys([*ours, *theirs]))
    differing = [name for name in names if ours.get(name, []) != theirs.get(name, [])]
    for name in differing[:MOST]:
        yield f"{_named(name)}: {_how(theirs.get(name, []), ours.get(name, []))}"
    if len(differing) > MOST:
        yield f"and {len(differing) - MOST} more parts"


def _by_part(page: str, *, content_only: bool) -> dict[str, list[Token]]:
    found: dict[str, list[Token]] = {}
    for token in _cut(page):
        for kept in _content(token) if content_only else [token]:
            found.setdefault(token.part, []).append(kept)
    return found


def _cut(page: str) -> Iterator[Token]:
    """Yield the tags, words, data and code of a page."""
    part, place = "", 0
    while place < len(page):
        begin = page.find("<", place)
        begin = len(page) if begin < 0 else begin
        if words := page[place:begin].strip():
            yield Token(part, "words", " ".join(html.unescape(words).split()))
        if begin == len(page):
            return
        end = page.find(">", begin)
        end = len(page) if end < 0 else end + 1
        tag = page[begin:end]
        if (found := _ID.search(tag)) and _PARTS.fullmatch(named := found[1].removesuffix("-data")):
            part = named.removesuffix("-title")
        elif tag in ("</main>", "<footer>", "</details>"):
            part = "footer"
        yield Token(part, "tag", tag)
        place = end
        raw = next((name for name in _RAW if tag.startswith(f"<{name}")), None)
        if raw is not None:
            close = page.find(f"</{raw}", end)
            place = len(page) if close < 0 else close
            yield Token(part, "data" if tag.startswith(_DATA) else "code", page[end:place])


def _content(token: Token) -> Iterator[Token]:
    """Yield what a reader sees of a token: words, data, and texts that appear when hovering."""
    if token.kind in ("words", "data") and token.part != "plot-themes":
        yield token
    elif token.kind == "tag":
        for text in _SHOWN.findall(token.text):
            yield Token(token.part, "words", html.unescape(text))


def _how(page: list[Token], rendered: list[Token]) -> str:
    """Say how a part differs: the first piece, and how many more."""
    if not page:
        return "it is missing from the page"
    if not rendered:
        return "it is on the page but not in the data"
    unequal = [(one, other) for one, other in zip(page, rendered, strict=False) if one != other]
    count = len(unequal) + abs(len(page) - len(rendered))
    if not unequal:
        more = "more" if len(page) > len(rendered) else "less"
        return f"the page has {count} pieces {more} than the data give"
    first = next(((a, b) for a, b in unequal if a.kind == b.kind == "words"), unequal[0])
    rest = f", and {count - 1} more" if count > 1 else ""
    if first[0].kind == first[1].kind and first[0].kind in ("data", "code"):
        what = "data" if first[0].kind == "data" else "script or style"
        return f"its {what} differs{_where(first[0].text, first[1].text)}{rest}"
    shown, given = _from_difference(first[0].text, first[1].text)
    return f"the page has {_quoted(shown)}, the data give {_quoted(given)}{rest}"


def _where(one: str, other: str) -> str:
    """Quote two long texts from shortly before the first difference."""
    begin = max(0, _first_difference(one, other) - 12)
    return f" (…{_quoted(one[begin : begin + 30])}, not …{_quoted(other[begin : begin + 30])})"


def _from_difference(one: str, other: str) -> tuple[str, str]:
    """Return two texts, without the words that they begin with alike if the difference is far behind them."""
    place = _first_difference(one, other)
    if place < LONGEST_QUOTE // 2:
        return one, other
    begin = one.rfind(" ", 0, place - 12) + 1
    return f"...{one[begin:]}", f"...{other[begin:]}"


def _first_difference(one: str, other: str) -> int:
    return next((i for i, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))


def _quoted(text: str) -> str:
    return repr(text if len(text) <= LONGEST_QUOTE else f"{text[: LONGEST_QUOTE - 3]}...")


def _named(part: str) -> str:
    """Return a part in words: `table-strongest` becomes `table strongest`."""
    return part.replace("-", " ", 1) if part else "top of the page"
