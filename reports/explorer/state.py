"""States of the explorer page, checked as state.js does, and the links that open the page on one."""

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote, unquote

from alice.errors import AliceError, nearest
from alice.files import parse_json
from alice.reports import checks

MARK = "#s="
LONGEST_TEXT, MOST, LARGEST_FACTOR = 20_000, 2_000, 100
"""Limits of texts, lists and factors, the same as in state.js."""
_UNESCAPED = "-_.!~*'()"
"""What `encodeURIComponent` leaves as it is, besides letters and digits."""
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")
"""Half a surrogate pair, which a JSON escape can give and a link cannot have."""
Config = Mapping[str, Any]
"""The configuration of a model, as in the header of the page."""


@dataclass(frozen=True)
class Trial:
    """Something to try in the explorer, which a page of a report links to if the explorer lies beside it."""

    label: str
    """What the reader tries, such as `Switch off L3H2`."""
    model: str
    """Name of the checkpoint."""
    state: Mapping[str, Any]
    """The state that the explorer opens on; see state.js."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "label", checks.label(self.label, "a trial"))
        object.__setattr__(self, "model", checks.text(self.model, "the model of a trial"))
        object.__setattr__(self, "state", check(self.state))


def check(state: Any, config: Config | None = None) -> dict[str, Any]:
    """Return a state; raise if a field is unknown, malformed, or does not fit a configuration if one is given."""
    if not isinstance(state, Mapping):
        raise AliceError("a state of the explorer is a JSON object; copy the whole link")
    sizes = config or {"n_layers": 10**6, "n_heads": 10**6, "n_ctx": 10**6}
    for name, value in state.items():
        if name not in _FIELDS:
            raise AliceError(f"a state of the explorer has no field {name!r:.60}{nearest(str(name), _FIELDS)}")
        if not _FIELDS[name](value, sizes):
            valid = "is not valid for the model" if config else "is not valid"
            raise AliceError(f"the field {name!r} of a state of the explorer {valid}: {value!r:.60}")
    return dict(state)


def fragment(state: Mapping[str, Any]) -> str:
    """Return the end of an address that opens the explorer on a state."""
    written = json.dumps(dict(state), ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return MARK + quote(written, safe=_UNESCAPED)


def parse(given: str) -> Any:
    """Return the state in a link, in the end of one, or in JSON; it is not checked yet."""
    linked = re.search("(?:^|#)s=(.*)", given, re.DOTALL)
    text = unquote(linked[1]) if linked else given
    try:
        return parse_json(text)
    except ValueError as error:
        raise AliceError(
            "this is no state of the explorer; copy the link of the page, or what follows # in it, or give JSON"
        ) from error


def _number(value: Any, end: int) -> bool:
    return type(value) is int and 0 <= value < end


def _part(value: Any, sizes: Config, *, resid: bool = False) -> bool:
    match value:
        case ["head", block, head]:
            return _number(block, sizes["n_layers"]) and _number(head, sizes["n_heads"])
        case ["mlp", block]:
            return _number(block, sizes["n_layers"])
        case ["resid", layer]:
            return resid and _number(layer, sizes["n_layers"] + 1)
    return False


def _scaled(value: Any, sizes: Config) -> bool:
    if not isinstance(value, list | tuple) or not value or type(value[-1]) not in (int, float):
        return False
    return abs(value[-1]) <= LARGEST_FACTOR and _part(list(value[:-1]), sizes)


def _list(value: Any, is_entry: Callable[[Any], bool]) -> bool:
    return isinstance(value, list | tuple) and len(value) <= MOST and all(map(is_entry, value))


def _distinct(parts: Iterable[Any]) -> bool:
    names = [tuple(part) for part in parts]
    return len(set(names)) == len(names)


def _text(value: Any, sizes: Config) -> bool:
    return isinstance(value, str) and len(value) <= LONGEST_TEXT and _LONE_SURROGATE.search(value) is None


def _pin(value: Any) -> bool:
    return _list(value, lambda one: isinstance(one, str) and re.fullmatch("[A-Z]", one) is not None) and len(value) == 2


def _key(value: Any, sizes: Config) -> bool:
    return isinstance(value, str) and re.fullmatch("[A-Z]{26}", value) is not None and len(set(value)) == 26


_FIELDS: dict[str, Callable[[Any, Config], bool]] = {
    "text": _text,
    "plain": _text,
    "second": _text,
    "key": _key,
    "layer": lambda value, sizes: _number(value, sizes["n_layers"] + 1),
    "head": lambda value, sizes: isinstance(value, list | tuple) and _part(["head", *value], sizes),
    "off": lambda value, sizes: _list(value, lambda part: _part(part, sizes)) and _distinct(value),
    "scale": lambda value, sizes: (
        _list(value, lambda part: _scaled(part, sizes)) and _distinct([part[:-1] for part in value])
    ),
    "pin": lambda value, sizes: _list(value, _pin) and all(map(_distinct, zip(*value, strict=True))),
    "patch": lambda value, sizes: _list(value, lambda part: _part(part, sizes, resid=True)) and _distinct(value),
    "by": lambda value, sizes: value in ("position", "symbol"),
    "places": lambda value, sizes: _list(value, lambda place: _number(place, sizes["n_ctx"])),
}
