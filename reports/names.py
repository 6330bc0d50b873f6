"""Names in a result: keys of a single model, names that stay distinct in keys, and lookups that suggest a name."""

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import TypeVar

from alice.errors import AliceError, nearest

LONGEST_MODEL = 40
"""Characters of a model's name in the key of a figure or an array."""
MOST_LISTED = 20
"""Maximum number of names in an error or a repr."""
Value = TypeVar("Value", covariant=True)


class UnknownNameError(AliceError, KeyError):
    """A result has no entry of this name."""

    __str__ = Exception.__str__  # a KeyError would show the message in quotes


class Named(Mapping[str, Value]):
    """A read-only mapping by name; an unknown name raises an error that suggests the nearest one."""

    def __init__(self, what: str, values: Mapping[str, Value]) -> None:
        """Copy a mapping; `what` is the singular that errors use, such as `table`."""
        self._what, self._values = what, dict(values)

    def __getitem__(self, name: str) -> Value:
        if name not in self._values:
            raise UnknownNameError(f"there is no {self._what} {name!r}{suggestion(str(name), self)}")
        return self._values[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"<{counted(len(self), self._what)}{': ' if self else ''}{listed(self)}>"


def model_key(name: str, model: str) -> str:
    """Return the key of a figure or array of one model: `settling@base`. Other characters become hyphens."""
    return f"{name}@{model_slug(model)}"


def model_slug(model: str) -> str:
    """Return a model's name as used in keys and file names."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", model)[-LONGEST_MODEL:].strip("-.") or "model"


def distinct_names(names: Iterable[str], *, taken: Iterable[str] = ()) -> list[str]:
    """Number the names whose keys would be equal, or equal to those of `taken` names: `tiny (1)`, `tiny (2)`.

    Models, solvers and trainings are all named with this function, because they share the keys of a result.
    """
    given = list(names)
    slugs = [model_slug(name) for name in given]
    used = {model_slug(name) for name in taken}
    unique = {slug for slug in slugs if slugs.count(slug) == 1 and slug not in used}
    used |= unique
    distinct = []
    for name, slug in zip(given, slugs, strict=True):
        if slug not in unique:
            number = 1
            while model_slug(f"{name} ({number})") in used:
                number += 1
            name = f"{name} ({number})"
            used.add(model_slug(name))
        distinct.append(name)
    return distinct


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return the end of an error about an unknown name: the nearest known ones, or all of them."""
    names = sorted(set(known))
    return nearest(name, names) or (f"; there is only {listed(names)}" if names else "; there are none")


def listed(names: Iterable[str]) -> str:
    """Return names separated by commas; of many names only the first."""
    found = list(names)
    more = len(found) - MOST_LISTED
    return ", ".join(found[:MOST_LISTED]) + (f" and {more} more" if more > 0 else "")


def counted(count: int, what: str) -> str:
    """Return `1 table` or `2 tables`."""
    return f"{count} {what}" if count == 1 else f"{count} {what}s"
