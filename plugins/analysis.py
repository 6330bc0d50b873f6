"""The `Analysis` protocol, and checks that a class implements it."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import MISSING, fields, is_dataclass
from inspect import cleandoc, signature
from typing import TYPE_CHECKING, Any, Literal, Protocol, cast, get_args

from alice.errors import AliceError
from alice.fields import field_kinds, flags_of

if TYPE_CHECKING:
    from alice.plugins.context import RunContext
    from alice.reports import Result

Checkpoints = Literal["one", "several", "none"]
"""How many models an analysis reads."""
ALL = "all"
"""Reserved: `run all` runs every analysis."""
_SHARED = (
    *("ckpt", "data", "split", "seed", "device", "engine", "workers", "scheduler"),
    *("out", "standalone", "explore", "plugin", "help"),
)
RUN_OPTIONS = (*_SHARED, "planted", "trials")
"""Options of `run` and `grade` for every analysis; no field may have one of these names."""
_ATTRIBUTES = ("name", "run", "findings", "grading", "checkpoints", "needs", "methods", "timings", "verdicts")
_NAME = re.compile(r"[a-z][a-z0-9]*(-[a-z0-9]+)*")


class Analysis(Protocol):
    """A frozen dataclass whose fields are its options and whose docstring is its help.

    It computes; it does not print, open files, parse options or choose a device. The class attribute `checkpoints` says
    how many models it reads: "one" (the default), "several" for one or more, or "none". The class attribute `needs`
    names fields that the user must give because no default makes sense. An optional method `findings(result)` says what
    a result claims, so that `grade` can test it on models whose mechanism is known; the class attribute `grading` may
    name options for that. The class attribute `workers` is True if it reads its texts with `ctx.map`, so that
    processes can share them, or else a sentence that says why they cannot.

    Three more are for `verify`. The class attribute `methods` maps fields to values that a finding should not depend
    on, such as ways to ablate; `timings` names the parts of a result that are measured times. An optional method
    `verdicts(result)` says what the page claims, for each method that the result has; see `alice.plugins.verdicts`.
    """

    @property
    def name(self) -> str:
        """Its name on the command line, such as `early-exit`."""

    def run(self, ctx: RunContext) -> Result:
        """Compute the result for the model and the texts of a context."""


def check_class(cls: object) -> type[Analysis]:
    """Return a class that is an analysis; raise with what is wrong otherwise."""
    if not isinstance(cls, type):
        raise AliceError(f"register_analyses returned {cls!r}, which is not a class; return the classes themselves")
    for find_fault in (_fault_of_dataclass, _fault_of_names, _fault_of_fields, _fault_of_flags, _fault_of_defaults):
        if fault := find_fault(cls):
            raise AliceError(f"the analysis {cls.__name__} {fault}")
    return cast("type[Analysis]", cls)


def checkpoints_of(cls: type[Analysis]) -> Checkpoints:
    """Return how many models an analysis reads."""
    return cast(Checkpoints, getattr(cls, "checkpoints", "one"))


def needs_of(cls: type[Analysis]) -> tuple[str, ...]:
    """Return the fields of an analysis that the user must give."""
    return tuple(getattr(cls, "needs", ()))


def can_be_divided(cls: type[Analysis]) -> bool:
    """Say whether processes can share the texts of an analysis."""
    return getattr(cls, "workers", None) is True


def check_can_be_divided(analysis: Analysis) -> None:
    """Refuse an analysis whose texts workers cannot share, with its reason."""
    if not can_be_divided(type(analysis)):
        unsaid = "it does not say how what they read adds up"
        if checkpoints_of(type(analysis)) == "none":
            unsaid = "it reads no texts with a model"
        reason = getattr(type(analysis), "workers", None) or unsaid
        raise AliceError(
            f"{analysis.name} cannot be divided among workers, because {reason}",
            hint="run it without workers",
        )


def is_for_all(cls: type[Analysis]) -> bool:
    """Say whether `run all` includes an analysis: whether it needs nothing but one checkpoint."""
    return checkpoints_of(cls) != "none" and not needs_of(cls)


def check_needs(analysis: Analysis) -> None:
    """Refuse an analysis without a field that it needs; the field's `missing` metadata says what to do."""
    for field in fields(cast(Any, analysis)):
        if field.name in needs_of(type(analysis)) and getattr(analysis, field.name) in (None, (), ""):
            (flag, *_) = flags_of(field.name, field_kinds(type(analysis))[field.name])
            advice = field.metadata.get("missing")
            hint = "" if advice else f"see: alice-interp run {analysis.name} --help"
            raise AliceError(f"{analysis.name} needs {flag}{f'; {advice}' if advice else ''}", hint=hint)


def grading_of(cls: type[Analysis]) -> Mapping[str, Any]:
    """Return the options with which `grade` runs an analysis unless others are given.

    Planted models are small and their mechanisms simple, so that fewer texts will do than by default.
    """
    return dict(getattr(cls, "grading", {}))


def methods_of(cls: type[Analysis]) -> dict[str, tuple[Any, ...]]:
    """Return the values, by field, that a finding of an analysis should not depend on."""
    return {name: tuple(values) for name, values in getattr(cls, "methods", {}).items()}


def timings_of(cls: type[Analysis]) -> tuple[str, ...]:
    """Return which parts of a result are measured times, as patterns such as `metrics.letters-per-second-*`."""
    return tuple(getattr(cls, "timings", ()))


def can_be_graded(cls: type[Analysis]) -> bool:
    """Say whether an analysis has the optional method `findings(result)`, so that `grade` can compare it with truth."""
    return callable(getattr(cls, "findings", None))


def help_of(cls: type[Analysis]) -> str:
    """Return the docstring of an analysis."""
    return cleandoc(cls.__doc__ or "")


def summary_of(cls: type[Analysis]) -> str:
    """Return the first paragraph of the docstring, in one line."""
    return " ".join(help_of(cls).partition("\n\n")[0].split())


def _fault_of_dataclass(cls: Any) -> str | None:
    if not is_dataclass(cls) or not cast(Any, cls).__dataclass_params__.frozen:
        return "is not a frozen dataclass; put @dataclass(frozen=True) above it"
    text = (getattr(cls, "__doc__", None) or "").strip()
    if not text or text.startswith(
        f"{getattr(cls, '__name__', '')}("
    ):  # the default docstring of a dataclass is its signature
        return "has no docstring; write one, it becomes the help"
    return None


def _fault_of_names(cls: Any) -> str | None:
    name = getattr(cls, "name", None)
    if not isinstance(name, str):
        return 'has no name; add a line such as name = "my-analysis"'
    if not _NAME.fullmatch(name) or name == ALL:
        return f"has the name {name!r}; use lower-case letters, digits and single hyphens, but not {ALL!r}"
    if getattr(cls, "checkpoints", "one") not in get_args(Checkpoints):
        return f"has checkpoints={cls.checkpoints!r}; choose one of {', '.join(get_args(Checkpoints))}"
    needs, known = getattr(cls, "needs", ()), {field.name for field in fields(cls)}
    if not isinstance(needs, tuple) or not known.issuperset(needs):
        return f'has needs={needs!r}, which is not a tuple of names of its fields; write needs = ("field",)'
    grading = getattr(cls, "grading", {})
    if not isinstance(grading, Mapping) or not known.issuperset(grading):
        return f'has grading={grading!r:.60}, which does not map names of its fields; write grading = {{"field": 1}}'
    if not isinstance(getattr(cls, "workers", True), bool | str):
        return f"has workers={cls.workers!r:.60}; write True, or why its texts cannot be divided"
    if fault := _fault_of_methods(cls):
        return fault
    run = getattr(cls, "run", None)
    if not callable(run):
        return "has no method run; add run(self, ctx) that returns a Result"
    try:
        signature(run).bind(None, None)
    except TypeError:
        return "has a method run that does not take exactly one argument; write run(self, ctx)"
    return None


def _fault_of_methods(cls: Any) -> str | None:
    """Check what `verify` reads: `methods` and `timings`."""
    known = {field.name for field in fields(cls)}
    if known.intersection(_ATTRIBUTES):
        return None  # which is another fault
    methods = getattr(cls, "methods", {})
    wrong = not isinstance(methods, Mapping) or not known.issuperset(methods)
    if wrong or not all(isinstance(values, tuple) for values in methods.values()):
        return (
            f"has methods={methods!r:.60}, which does not map names of its fields to tuples of values; "
            'write methods = {"field": ("a", "b")}'
        )
    timings = getattr(cls, "timings", ())
    if not isinstance(timings, tuple) or not all(isinstance(one, str) for one in timings):
        return f'has timings={timings!r:.60}, which is not a tuple of texts; write timings = ("metrics.name",)'
    return None


def _fault_of_fields(cls: Any) -> str | None:
    for field in fields(cls):
        if field.name in (*RUN_OPTIONS, *_ATTRIBUTES):
            return f"has a field {field.name!r}, which every analysis already has; rename it"
        if field.init and field.name.startswith("_"):
            return f"has a field {field.name!r}, which cannot be the name of an option; remove the underscore"
        if field.init and field.default is MISSING and field.default_factory is MISSING:
            return f"has a field {field.name!r} without a default; give it one"
    try:
        field_kinds(cls)
    except AliceError as error:
        return f"cannot have options: {error}"
    except NameError as error:
        return f"has a field whose type cannot be found: {error}; import it where the class is defined"
    return None


def _fault_of_flags(cls: Any) -> str | None:
    owners = {f"--{name}": name for name in RUN_OPTIONS}
    for name, kind in field_kinds(cls).items():
        for flag in flags_of(name, kind):
            if flag in owners:
                return f"has two fields for the option {flag}, {owners[flag]!r} and {name!r}; rename one"
            owners[flag] = name
    return None


def _fault_of_defaults(cls: Any) -> str | None:
    """Build it without options, as `run all` does, and check that its defaults survive JSON, as provenance needs."""
    try:
        instance = cls()
    except Exception as error:  # anything that a plugin's __post_init__ may raise
        return f"cannot be built without options ({type(error).__name__}: {error}); fix its defaults"
    for name, kind in field_kinds(cls).items():
        value = getattr(instance, name)
        if not kind.fits(value):
            return f"has a field {name!r} whose default {value!r} is not of its type; change one of them"
        again = kind.from_plain(json.loads(json.dumps(kind.to_plain(value))))
        if repr(again) != repr(value) and again != value:  # NaN is not equal to itself
            return f"has a field {name!r} whose default {value!r} comes back from JSON as {again!r}; choose another"
    return None
