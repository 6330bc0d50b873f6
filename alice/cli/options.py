"""Dataclass fields as command-line options: names, types, defaults and help said once, in the dataclass."""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from alice.errors import nearest
from alice.fields import Kind, field_kinds, flags_of

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
    Choice = click.Choice[str]
else:  # older releases of click know no type arguments
    ParamType, Choice = click.ParamType, click.Choice

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
UNSET: Any = None
"""What an option that was not given is passed as; the dataclass keeps its own default then."""
MOST = 2**31 - 1
NONE_WORD = "none"
"""What a user writes where a field may be None and something else is its default."""
_SAID_NONE: Any = object()

device_option = click.option(
    "--device",
    metavar="NAME",
    help="Where to compute, such as cpu or cuda:1.  [default: the accelerator if there is one]",
)
"""Adds `--device`, passed as `device: str | None`, to a command that computes."""


class Whole(click.types.IntParamType):
    """A whole number that a machine can count to."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number."""
        return _countable(self, super().convert(value, param, ctx), param, ctx)


class AtLeast(click.IntRange):
    """A whole number from a smallest one on; that it must be one that a machine can count to goes without saying."""

    def __init__(self, least: int) -> None:
        super().__init__(min=least)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number."""
        return _countable(self, super().convert(value, param, ctx), param, ctx)


def _countable(kind: ParamType, value: int, param: click.Parameter | None, ctx: click.Context | None) -> int:
    if abs(value) > MOST:
        kind.fail(f"{value} is too large; {MOST} is the most.", param, ctx)
    return value


def dataclass_options(cls: type, *, skip: Iterable[str] = (), defaults: str | None = None) -> Decorator:
    """Return a decorator that adds an option for each field of a dataclass.

    Args:
        cls: the dataclass; a field's help is `metadata["help"]`.
        skip: fields that are no options.
        defaults: what to say instead of the fields' own defaults, when those depend on something else.

    """
    kinds, skipped = field_kinds(cls), set(skip)
    options = [_option(f, kinds[f.name], defaults) for f in fields(cls) if f.init and f.name not in skipped]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Return only the options that the user gave."""
    return {name: None if value is _SAID_NONE else value for name, value in values.items() if value is not UNSET}


class NearestChoice(Choice):
    """A choice between names that answers a misspelt one with the nearest."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Say what is possible."""
        return super().get_invalid_choice_message(value, ctx).rstrip(".") + nearest(str(value), self.choices)


class _Literal(NearestChoice):
    """A choice that gives the value itself, a number for example, and not how it is written."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        super().__init__([str(value) for value in values])
        self.values = {str(value): value for value in values}

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return self.values[super().convert(value, param, ctx)]


class _OrNone(ParamType):
    """A type that also takes the word `none`."""

    def __init__(self, inner: ParamType) -> None:
        self.inner, self.name = inner, f"{inner.name} or {NONE_WORD}"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        return _SAID_NONE if value == NONE_WORD else self.inner.convert(value, param, ctx)


def _option(field: "Field[Any]", kind: Kind, defaults: str | None) -> Decorator:
    text = field.metadata.get("help", "")
    shown = defaults or _default_text(field)
    return click.option(
        "/".join(flags_of(field.name, kind)),
        field.name,
        default=UNSET,
        help=f"{text}  [default: {shown}]" if shown else text,
        **_click_arguments(kind, or_none=kind.optional and _default(field) is not None),
    )


def _default(field: "Field[Any]") -> Any:
    return field.default_factory() if field.default_factory is not MISSING else field.default


def _default_text(field: "Field[Any]") -> str:
    default = _default(field)
    if default is MISSING or default is None or default == () or default == "":
        return ""
    return " ".join(map(str, default)) if isinstance(default, tuple) else str(default)


def _click_arguments(kind: Kind, *, or_none: bool) -> dict[str, Any]:
    if kind.repeated:
        return {"type": _click_type(kind.items[0]), "multiple": True, "callback": _none_if_empty}
    if kind.items:
        return {"type": tuple(_click_type(item) for item in kind.items)}
    return {"type": _OrNone(_click_type(kind)) if or_none and kind.scalar is not bool else _click_type(kind)}


def _click_type(kind: Kind) -> ParamType:
    if kind.choices:
        return _Literal(kind.choices)
    if kind.scalar is Path:
        return click.Path(path_type=Path)
    return Whole() if kind.scalar is int else click.types.convert_type(kind.scalar)


def _none_if_empty(ctx: click.Context, parameter: click.Parameter, value: tuple[Any, ...]) -> tuple[Any, ...] | None:
    return value or UNSET
