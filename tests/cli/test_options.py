"""Fields become options, and options become the same fields again."""

from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import click
import pytest
from click.testing import CliRunner

from alice import fields
from alice.cli import main
from alice.cli.options import dataclass_options, given
from alice.errors import AliceError


@dataclass(frozen=True)
class Everything:
    """One field of each kind."""

    count: int = 3
    share: float = field(default=0.5, metadata={"help": "How much."})
    loud: bool = False
    word: str = "yes"
    folder: Path = Path("here")
    level: Literal["low", "high"] = "low"
    size: Literal[1, 2, 4] = 1
    layers: tuple[int, ...] = (1, 2)
    pair: tuple[int, str] = (7, "seven")
    sides: tuple[Literal["l", "r"], ...] = ()
    limit: int | None = None
    budget: float | None = 1.5


def parse(*arguments):
    """Return the dataclass that the arguments make, or the error message."""
    made = []

    @click.command()
    @dataclass_options(Everything)
    def command(**options):
        made.append(Everything(**given(options)))

    result = CliRunner().invoke(command, arguments)
    return made[0] if made else result.output


def test_no_option_gives_the_defaults():
    assert parse() == Everything()


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        (["--count", "-4"], {"count": -4}),
        (["--share", "1e-3"], {"share": 0.001}),
        (["--loud"], {"loud": True}),
        (["--no-loud"], {"loud": False}),
        (["--word", ""], {"word": ""}),
        (["--word", "<b>"], {"word": "<b>"}),
        (["--folder", "a/b"], {"folder": Path("a/b")}),
        (["--level", "high"], {"level": "high"}),
        (["--size", "4"], {"size": 4}),
        (["--layers", "5"], {"layers": (5,)}),
        (["--layers", "5", "--layers", "0"], {"layers": (5, 0)}),
        (["--pair", "1", "one"], {"pair": (1, "one")}),
        (["--sides", "r", "--sides", "l"], {"sides": ("r", "l")}),
        (["--limit", "9"], {"limit": 9}),
        (["--budget", "none"], {"budget": None}),
        (["--budget", "2"], {"budget": 2.0}),
    ],
)
def test_a_value_arrives_as_the_field_has_it(arguments, wanted):
    made = parse(*arguments)
    assert made == Everything(**wanted)
    for name, value in wanted.items():
        assert type(getattr(made, name)) is type(value)


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["--count", "many"], "'many' is not a valid integer"),
        (["--share", "half"], "'half' is not a valid float"),
        (["--level", "middle"], "'middle' is not one of 'low', 'high'"),
        (["--size", "3"], "'3' is not one of '1', '2', '4'"),
        (["--layers", "x"], "'x' is not a valid integer"),
        (["--pair", "1"], "requires 2 arguments"),
        (["--budget", "nothing"], "'nothing' is not a valid float"),
    ],
)
def test_a_wrong_value_is_refused_with_the_value_in_the_message(arguments, complaint):
    assert complaint in parse(*arguments)


def test_help_shows_texts_and_defaults():
    shown = parse("--help")
    assert "How much.  [default: 0.5]" in " ".join(shown.split()).replace(". [", ".  [")
    assert "[default: 7 seven]" in shown
    assert "--loud / --no-loud" in shown


def test_options_survive_json():
    given_ = Everything(folder=Path("x"), layers=(3,), pair=(1, "a"), budget=None, sides=("l", "r"), size=4)
    plain = fields.to_plain(given_)
    assert plain["folder"] == "x"
    assert plain["pair"] == [1, "a"]
    assert fields.from_plain(Everything, plain) == given_


@pytest.mark.parametrize("hint", [dict[str, int], int | str, list[int], bytes, tuple[tuple[int, ...], ...], object])
def test_a_type_that_cannot_be_an_option_is_named(hint):
    with pytest.raises(AliceError, match=r"field 'odd' has type .* cannot be an option"):
        fields.field_kinds(dataclass(type("Odd", (), {"__annotations__": {"odd": hint}})))


def options_below(command, path="alice-interp"):
    """Yield every option of a command and of its subcommands."""
    yield from ((f"{path} --{option.name}", option) for option in command.params)
    if isinstance(command, click.Group):
        ctx = click.Context(command)
        for name in command.list_commands(ctx):
            yield from options_below(command.get_command(ctx, name), f"{path} {name}")


def test_no_command_takes_a_number_above_31_bits():
    whole = {
        name: option
        for name, option in options_below(main)
        if isinstance(getattr(option.type, "inner", option.type), click.types.IntParamType)
    }
    assert len(whole) > 30
    for name, option in whole.items():
        with pytest.raises(click.BadParameter, match=r"too large|not in the range"):
            pytest.fail(f"{name} takes {option.type.convert('9' * 30, option, None)}")
