"""Click groups: one that suggests the nearest name, one that imports late, and one that turns errors into one line."""

import os
import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from alice.cli.signals import no_interrupts
from alice.errors import AliceError, nearest
from alice.files import NO_ROOM

PROGRAM = "alice-interp"
INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C


@dataclass(frozen=True)
class LazyCommand:
    """A command that is not imported yet."""

    target: str
    """Where it is, as `module:attribute`."""
    help: str
    """The line that `--help` of the group shows; a command's own help would have to be imported."""


class NearestGroup(click.Group):
    """A group that answers a misspelt command with the nearest one."""

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that the arguments call."""
        name, known = args[0], self.list_commands(ctx)
        if name not in known and not name.startswith("-") and not ctx.resilient_parsing:
            ctx.fail(f"there is no command {name!r}{nearest(name, known)}")
        return super().resolve_command(ctx, args)


class LazyGroup(NearestGroup):
    """A group whose commands are given as a table of names and `LazyCommand`s."""

    def __init__(self, *args: Any, table: dict[str, LazyCommand], **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.table = table

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the table."""
        return list(self.table)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import a command."""
        if cmd_name not in self.table:
            return None
        module, _, attribute = self.table[cmd_name].target.partition(":")
        command: click.Command = getattr(import_module(module), attribute)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands from the table, without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in self.table.items()])


class RootGroup(LazyGroup):
    """The outermost group: what the user can mend is one line on stderr; a traceback comes with `--debug` only."""

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program; where its output finds no room that is one line, too."""
        try:
            try:
                return super().main(*args, **kwargs)
            finally:
                if sys.stdout is not None:
                    sys.stdout.flush()
        except OSError as error:
            if error.errno not in NO_ROOM or "--debug" in sys.argv:
                raise
            if sys.__stdout__ is not None and sys.stdout is sys.__stdout__:
                # What it still holds would fail again when Python ends.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
            sys.exit(f"{PROGRAM}: error: no room left for what is printed; free some space or print elsewhere")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was called."""
        try:
            return super().invoke(ctx)
        except AliceError as error:
            if ctx.params.get("debug"):
                raise
            click.echo(f"{PROGRAM}: error: {' '.join(str(error).split())}", err=True)
            ctx.exit(1)
        except KeyboardInterrupt as error:
            if ctx.params.get("debug"):
                raise
            with no_interrupts(also_at_exit=True):
                traceback.clear_frames(error.__traceback__)  # ends what was begun, a progress bar for example
                after_echo = "\n" if sys.stderr.isatty() else ""  # a terminal has just written ^C on this line
                click.echo(f"{after_echo}{PROGRAM}: interrupted", err=True)
            ctx.exit(INTERRUPTED)
