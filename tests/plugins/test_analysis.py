"""Fields that cannot be options, or cannot be stored in provenance, are refused when a plugin is loaded."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

import pytest

from alice.errors import AliceError
from alice.plugins.analysis import check_class


def with_fields(**fields):
    """Return an analysis with these fields, given as pairs of type and default."""
    body = {"__doc__": "Odd.", "name": "odd", "run": lambda self, ctx: None}
    hints = {"__annotations__": {name: hint for name, (hint, _) in fields.items()}}
    return dataclass(frozen=True)(type("Odd", (), body | hints | {name: value for name, (_, value) in fields.items()}))


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        (tuple[int, int], (1, 2, 3)),
        (tuple[int, ...], ("a",)),
        (tuple[int, ...], 3),
        (int, 0.5),
        (int, True),
        (bool, 1),
        (str, None),
        (Path, "here"),
        (Literal["a", "b"], "c"),
        (Literal[1, 2], True),
    ],
)
def test_a_default_that_is_not_of_its_type_is_refused(hint, default):
    with pytest.raises(AliceError, match=r"the analysis Odd has a field 'x' whose default .* is not of its type"):
        check_class(with_fields(x=(hint, default)))


@pytest.mark.parametrize(
    ("hint", "default"),
    [
        *((float, 1), (float, float("nan")), (int | None, None), (int | None, 3), (Path, Path("here")), (bool, False)),
        *((tuple[int, str], (1, "a")), (tuple[float, ...], ()), (tuple[int, ...] | None, None), (Literal[1, "b"], "b")),
    ],
)
def test_a_default_of_its_type_is_accepted(hint, default):
    assert check_class(with_fields(x=(hint, default)))


def test_a_default_that_json_would_change_is_refused():
    shout = type("Shout", (str,), {"__ne__": lambda self, other: True, "__repr__": str.upper})
    with pytest.raises(AliceError, match=r"'x' whose default .* comes back from JSON as"):
        check_class(with_fields(x=(str, shout("a"))))


def test_two_fields_for_one_option_are_refused():
    with pytest.raises(AliceError, match="two fields for the option --no-b, 'no_b' and 'b'"):
        check_class(with_fields(no_b=(int, 1), b=(bool, True)))


def test_a_field_that_begins_with_an_underscore_is_refused():
    with pytest.raises(AliceError, match="a field '_x', which cannot be the name of an option"):
        check_class(with_fields(_x=(int, 1)))


def test_an_analysis_that_cannot_be_built_without_options_is_refused():
    cls = with_fields()
    cls.__init__ = lambda self: {}["gone"]
    with pytest.raises(AliceError, match=r"cannot be built without options \(KeyError: 'gone'\)"):
        check_class(cls)
