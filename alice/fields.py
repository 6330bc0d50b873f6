"""Which types a dataclass field may have to be an option, read from its type hint.

The command line builds options from it, the plugin manager checks classes with it, and provenance stores options as
JSON with it.
"""

import sys
from collections.abc import Container, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from alice.errors import AliceError

SCALARS = (bool, int, float, str, Path)


@dataclass(frozen=True)
class Kind:
    """The type of a field: a scalar, one of some choices, or a tuple of these."""

    scalar: type | None = None
    """bool, int, float, str or Path."""
    choices: tuple[Any, ...] = ()
    """The values of a Literal."""
    items: tuple["Kind", ...] = ()
    """The kinds of the entries of a tuple."""
    repeated: bool = False
    """Whether the tuple has any number of entries, all of the first kind."""
    optional: bool = False
    """Whether it may be None."""

    def to_plain(self, value: Any) -> Any:
        """Return a value in the form that JSON stores."""
        if isinstance(value, tuple):
            return [kind.to_plain(entry) for kind, entry in zip(self._kinds(len(value)), value, strict=True)]
        return str(value) if isinstance(value, Path) else value

    def from_plain(self, value: Any) -> Any:
        """Undo `to_plain`."""
        if isinstance(value, list):
            return tuple(kind.from_plain(entry) for kind, entry in zip(self._kinds(len(value)), value, strict=True))
        return Path(value) if self.scalar is Path and value is not None else value

    def fits(self, value: Any) -> bool:
        """Say whether a value is of this kind."""
        if value is None:
            return self.optional
        if self.items:
            kinds = self._kinds(len(value)) if isinstance(value, tuple) else ()
            fitting = isinstance(value, tuple) and len(kinds) == len(value)
            return fitting and all(kind.fits(entry) for kind, entry in zip(kinds, value, strict=True))
        if self.choices:
            return any(type(value) is type(choice) and value == choice for choice in self.choices)
        if isinstance(value, bool):  # a bool is also an int in Python
            return self.scalar is bool
        return self.scalar is not None and isinstance(value, (int, float) if self.scalar is float else self.scalar)

    def _kinds(self, count: int) -> tuple["Kind", ...]:
        return self.items * count if self.repeated else self.items


def field_kinds(cls: type) -> dict[str, Kind]:
    """Return the kind of each field of the constructor; raise for a type that cannot be an option."""
    hints = get_type_hints(cls)
    return {field.name: _kind(field.name, hints[field.name]) for field in fields(cls) if field.init}


def flags_of(name: str, kind: Kind) -> tuple[str, ...]:
    """Return the flags of a field on the command line: one, or two for a bool."""
    word = name.replace("_", "-")
    return (f"--{word}", f"--no-{word}") if kind.scalar is bool else (f"--{word}",)


def to_plain(instance: Any) -> dict[str, Any]:
    """Return the fields of a dataclass in the form that JSON stores."""
    return {name: kind.to_plain(getattr(instance, name)) for name, kind in field_kinds(type(instance)).items()}


def from_plain(cls: type, values: dict[str, Any]) -> Any:
    """Build a dataclass from the values that `to_plain` returned."""
    kinds = field_kinds(cls)
    return cls(**{name: kinds[name].from_plain(value) for name, value in values.items()})


def _kind(name: str, hint: Any) -> Kind:
    if get_origin(hint) in (Union, UnionType):
        inner = [part for part in get_args(hint) if part is not NoneType]
        if len(inner) == 1:
            return replace(_kind(name, inner[0]), optional=True)
    if hint in SCALARS:
        return Kind(scalar=hint)
    if get_origin(hint) is Literal:
        return Kind(choices=get_args(hint))
    if get_origin(hint) is tuple and (parts := get_args(hint)):
        repeated = len(parts) == 2 and parts[1] is Ellipsis
        items = tuple(_kind(name, part) for part in (parts[:1] if repeated else parts))
        if not any(item.items or item.optional for item in items):
            return Kind(items=items, repeated=repeated)
    raise AliceError(
        f"field {name!r} has type {getattr(hint, '__name__', None) or hint}, which cannot be an option; "
        "use int, float, bool, str, Path, Literal, a tuple of these, or one of these or None"
    )


def with_floats(values: Mapping[str, Any], names: Container[str]) -> dict[str, Any]:
    """Return values from JSON with whole numbers as floats in the named fields; torch refuses those above 64 bits.

    A number beyond the range of a float stays as it is, for the caller's check of its range.
    """
    return {
        name: float(value) if name in names and isinstance(value, int) and abs(value) <= sys.float_info.max else value
        for name, value in values.items()
    }
