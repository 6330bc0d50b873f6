"""Shared options, options from dataclass fields, and "did you mean" suggestions."""

from collections.abc import Callable, Iterable
from dataclasses import MISSING, Field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from alice.errors import AliceError, nearest
from alice.fields import Kind, field_kinds, flags_of
from alice.files import user_path

if TYPE_CHECKING:
    ParamType = click.ParamType[Any]
    Choice = click.Choice[str]
else:  # older releases of click have no type parameters
    ParamType, Choice = click.ParamType, click.Choice

Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]
UNSET: Any = None
"""Value of an option that was not given; the dataclass then keeps its own default."""
LARGEST = 2**31 - 1
MOST_WORKERS = 1024
NONE_WORD = "none"
"""What a user writes for None where a field's default is something else."""
_SAID_NONE: Any = object()
SPLITS = ("test", "validation", "train", "all")


class UserPath(click.Path):
    """A path with `~` expanded; one that the system refuses is an error of usage."""

    def __init__(self, **kinds: bool) -> None:
        super().__init__(path_type=Path, **kinds)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the path."""
        try:
            value = user_path(value)
        except AliceError as error:
            self.fail(str(error), param, ctx)
        return super().convert(value, param, ctx)


PATH = UserPath()
FILE = UserPath(dir_okay=False)
FOLDER = UserPath(file_okay=False)


class Whole(click.types.IntParamType):
    """A whole number of at most 31 bits."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number."""
        return _bounded(self, super().convert(value, param, ctx), param, ctx)


class AtLeast(click.IntRange):
    """A whole number of at most 31 bits with a lower bound."""

    def __init__(self, least: int) -> None:
        super().__init__(min=least)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number."""
        return _bounded(self, super().convert(value, param, ctx), param, ctx)


def _bounded(kind: ParamType, value: int, param: click.Parameter | None, ctx: click.Context | None) -> int:
    if abs(value) > LARGEST:
        kind.fail(f"{value} is too large; the limit is {LARGEST}.", param, ctx)
    return value


class NearestChoice(Choice):
    """A choice between names that suggests the nearest to a misspelt one."""

    def get_invalid_choice_message(self, value: Any, ctx: click.Context | None) -> str:
        """Say what is possible."""
        return super().get_invalid_choice_message(value, ctx).rstrip(".") + nearest(str(value), self.choices)


class NearestGroup(click.Group):
    """A group that suggests the nearest command to a misspelt one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments call."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"there is no command {name!r}{nearest(name, known)}")
        return super().resolve_command(ctx, args)


ckpt_option = click.option("--ckpt", multiple=True, help="Bundled model, checkpoint folder or hub id.")
data_option = click.option(
    "--data", default="quotes", show_default=True, help="Corpus to read: one by name, or a file."
)
split_option = click.option(
    "--split", type=NearestChoice(SPLITS), default="test", show_default=True, help="Split of the corpus to read."
)
seed_option = click.option("--seed", type=AtLeast(0), default=0, show_default=True, help="Seed of the keys.")
device_option = click.option(
    "--device",
    metavar="NAME",
    help="Where to compute, such as cpu or cuda:1.  [default: the accelerator if there is one]",
)
"""Adds `--device`, passed as `device: str | None`, to a command that computes."""
out_option = click.option("--out", type=FOLDER, default=Path("runs"), show_default=True, help="Folder of all reports.")
force_option = click.option("--force", is_flag=True, help="Replace what is already there.")
PLUGIN_HELP = "Load a plugin from a Python file, which runs its code."
plugin_option = click.option("--plugin", type=PATH, multiple=True, help=PLUGIN_HELP)


def engine_options(workers: str) -> Decorator:
    """Return a decorator that adds the options for workers on this machine, which a text describes, and on others."""
    options = (
        click.option(
            "--scheduler", metavar="ADDRESS", help="Use the workers of this Dask scheduler (tcp://HOST:8786)."
        ),
        click.option("--workers", type=click.IntRange(1, MOST_WORKERS), help=workers),
        click.option("--engine", type=NearestChoice(["dask"]), help="What runs the workers; --scheduler implies it."),
    )

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in options:
            command = option(command)
        return command

    return decorate


def dataclass_options(cls: type, *, skip: Iterable[str] = (), show_defaults: bool = True) -> Decorator:
    """Return a decorator that adds an option for each field of a dataclass.

    Args:
        cls: the dataclass; the help of a field is `metadata["help"]`.
        skip: fields without an option.
        show_defaults: whether the help shows the fields' own defaults.

    """
    kinds, skipped = field_kinds(cls), set(skip)
    options = [
        _option(f, kinds[f.name], show_default=show_defaults) for f in fields(cls) if f.init and f.name not in skipped
    ]

    def decorate(command: Callable[..., Any]) -> Callable[..., Any]:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate


def given(values: dict[str, Any]) -> dict[str, Any]:
    """Return only the options that the user gave."""
    return {name: None if value is _SAID_NONE else value for name, value in values.items() if value is not UNSET}


class _Literal(NearestChoice):
    """A choice that returns the value itself, a number for example, and not its text."""

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


def _option(field: "Field[Any]", kind: Kind, *, show_default: bool) -> Decorator:
    text = field.metadata.get("help", "")
    shown = _default_text(field) if show_default else ""
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
        return PATH
    return Whole() if kind.scalar is int else click.types.convert_type(kind.scalar)


def _none_if_empty(ctx: click.Context, parameter: click.Parameter, value: tuple[Any, ...]) -> tuple[Any, ...] | None:
    return value or UNSET
