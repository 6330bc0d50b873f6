"""Dataclass fields as command-line options: names, types, defaults and help said once, in the dataclass."""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

import click

from alice.errors import AliceError

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
UNSET: Any = None
"""What an option that was not given is passed as; the dataclass keeps its own default then."""


def dataclass_options(cls: type, *, skip: Iterable[str] = (), defaults: str | None = None) -> Decorator:
    """Return a decorator that adds an option for each field of a dataclass.

    Args:
        cls: the dataclass; a field's help is `metadata["help"]`.
        skip: fields that are no options.
        defaults: what to say instead of the fields' own defaults, when those depend on something else.
    """
    hints = get_type_hints(cls)
    options = [_option(f, hints[f.name], defaults) for f in fields(cls) if f.init and f.name not in set(skip)]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Return only the options that the user gave."""
    return {name: value for name, value in values.items() if value is not UNSET}


def _option(field: "Field[Any]", hint: Any, defaults: str | None) -> Decorator:
    flag = "--" + field.name.replace("_", "-")
    arguments = _click_type(field.name, _without_none(hint))
    if arguments.pop("boolean", False):
        flag = f"{flag}/--no-{field.name.replace('_', '-')}"
    text = field.metadata.get("help", "")
    shown = defaults or _default_text(field)
    return click.option(
        flag, field.name, default=UNSET, help=f"{text}  [default: {shown}]" if shown else text, **arguments
    )


def _default_text(field: "Field[Any]") -> str:
    default = field.default_factory() if field.default_factory is not MISSING else field.default
    if default is MISSING or default is None or default == () or default == "":
        return ""
    return " ".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _without_none(hint: Any) -> Any:
    """Return the type inside an Optional."""
    if get_origin(hint) in (Union, UnionType):
        inner = [part for part in get_args(hint) if part is not NoneType]
        if len(inner) == 1:
            return inner[0]
    return hint


def _click_type(name: str, hint: Any) -> dict[str, Any]:
    """Return the click arguments for a field's type; a type that cannot be an option is the author's error."""
    if hint is bool:
        return {"type": bool, "boolean": True}
    if hint in (int, float, str):
        return {"type": hint}
    if hint is Path:
        return {"type": click.Path(path_type=Path)}
    if get_origin(hint) is Literal:
        return {"type": click.Choice([str(choice) for choice in get_args(hint)])}
    if get_origin(hint) is tuple and len(parts := get_args(hint)) == 2 and parts[1] is Ellipsis:
        return {"type": _click_type(name, parts[0])["type"], "multiple": True, "callback": _none_if_empty}
    if get_origin(hint) is tuple:
        return {"type": tuple(_click_type(name, part)["type"] for part in get_args(hint))}
    raise AliceError(
        f"field {name!r} has type {hint}, which cannot be an option; use int, float, bool, str, Path, Literal or a tuple of them"
    )


def _none_if_empty(ctx: click.Context, parameter: click.Parameter, value: tuple[Any, ...]) -> tuple[Any, ...] | None:
    return value or UNSET
