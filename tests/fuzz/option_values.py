"""Values of options: an analysis or a recipe gets them exactly as given, or they are refused."""

import math
import os
from dataclasses import fields
from pathlib import Path
from typing import Any

import click
from fuzz.pieces import Choices, Finding

from alice.cli.options import dataclass_options, given
from alice.cli.run import run_options
from alice.cli.train.options import recipe_of
from alice.errors import AliceError
from alice.fields import field_kinds, flags_of, from_plain, to_plain
from alice.front_door import build_analysis
from alice.plugins.manager import build
from alice.training.presets import PRESETS
from alice.training.recipe import Recipe

SEEDS = (b"\x00\x01\x02", bytes(range(40)), bytes(range(90, 40, -1)))
PRESET_WORDS = ("wsd", "constant", "cosine")
ANALYSES = list(build(third_party=False).analyses.values())
WORDS = (
    "0", "1", "2", "-1", "5", "0.5", "1e-3", "1e400", "-0.0", "nan", "inf", "-inf", "99999999999999999999", "1_000",
    "٣",
    "none", "None", "", " ", "a", "true", "1,2", "1-2", "../..", "--", "-h", "=", "\0", "é", "\udcff", "0x10",
    "9" * 5000,
    "base", "all", "yes", "no", "auto", "wsd", "fp32", "test", "letters", "beam",
)  # fmt: skip


def try_input(data: bytes) -> None:
    """Pass options to an analysis or to a recipe."""
    choices = Choices(data)
    cls: Any = choices.pick([*ANALYSES, Recipe])
    preset = choices.pick(list(PRESETS))
    arguments = [word for _ in range(1 + choices.below(4)) for word in _argument(cls, choices)]
    try:
        made = _call(cls, preset, arguments)
    except (AliceError, click.ClickException, click.exceptions.Exit) as error:
        if "\n" in str(error) and "\n" not in "".join(arguments):
            raise Finding(f"the error is not one sentence: {str(error)!r}") from error
        return
    _check(made, arguments)


def _argument(cls: type, choices: Choices) -> list[str]:
    kinds = field_kinds(cls)
    name = choices.pick(list(kinds))
    flags = [*flags_of(name, kinds[name]), "--seed", "--split", "--port", f"--{choices.text(5)}"]
    flag = choices.pick(flags if not choices.below(6) else flags[:1])
    value = choices.pick(WORDS) if choices.below(4) else choices.text(8)
    if kinds[name].scalar is bool and choices.below(4):
        return [flag]
    words = [f"{flag}={value}"] if choices.below(2) else [flag, value]
    return [os.fsdecode(word.replace("\0", "").encode(errors="replace")) for word in words]  # as a shell passes them


def _call(cls: Any, preset: str, arguments: list[str]) -> Any:
    def call(**values: Any) -> Any:
        if cls is Recipe:
            return recipe_of(preset, None, given(values))
        own = {name: value for name, value in values.items() if name in field_kinds(cls)}
        return build_analysis(cls, given(own))

    command = click.command("fuzz")(dataclass_options(cls)(call if cls is Recipe else run_options(call)))
    return command.main(arguments, prog_name="fuzz", standalone_mode=False)


def _check(made: Any, arguments: list[str]) -> None:
    if isinstance(made, int):  # `--help`
        return
    for field in fields(made):
        value = getattr(made, field.name)
        if isinstance(value, float) and math.isnan(value):
            raise Finding(f"{field.name} is {value} after {arguments}")
        if (
            isinstance(value, str)
            and value
            and value not in (field.default, *PRESET_WORDS)
            and value not in "\0".join(arguments)
        ):
            raise Finding(f"{field.name} is {value!r}, which is not in {arguments}")
    again = from_plain(type(made), to_plain(made)) if not isinstance(made, Recipe) else Recipe(**made.to_dict())
    if again != made and not any(isinstance(getattr(made, field.name), Path) for field in fields(made)):
        raise Finding(f"{made} is read from a result as {again}")
