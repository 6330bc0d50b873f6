"""The commands of `alice-interp`, each imported when it is called, and the error handler."""

import os
import sys
import traceback
from dataclasses import dataclass
from importlib import import_module
from typing import Any

import click

from alice.cli.options import NearestGroup
from alice.cli.signals import no_interrupts
from alice.errors import AliceError, printable
from alice.files import NO_ROOM

PROGRAM = "alice-interp"
INTERRUPTED = 130  # what a shell reports for a program ended by Ctrl-C


@dataclass(frozen=True)
class LazyCommand:
    """A command that is not imported yet."""

    target: str
    """Where it is, as `module:attribute`."""
    help: str
    """Its line in the help of the group."""


COMMANDS = {
    "demo": LazyCommand("alice.cli.demo:demo", "See everything once: cryptograms solved, analyses run."),
    "explore": LazyCommand("alice.cli.explore:explore", "Write a page that runs a model in the browser."),
    "solve": LazyCommand("alice.cli.solve:solve", "Decrypt a cryptogram."),
    "train": LazyCommand("alice.cli.train:train", "Train a model, or resume a training."),
    "sweep": LazyCommand("alice.cli.sweep:sweep", "Train several models that differ in one thing."),
    "evaluate": LazyCommand("alice.cli.evaluate:evaluate", "Measure error rates on unseen texts."),
    "run": LazyCommand("alice.cli.run:run", "Run an analysis and write its report, or run all of them."),
    "grade": LazyCommand("alice.cli.grade:grade", "Test analyses on models whose mechanism is known."),
    "reproduce": LazyCommand("alice.cli.reproduce:reproduce", "Test the paper's claims; redo its tables and figures."),
    "report": LazyCommand("alice.cli.report:report", "Write the page of a stored report again."),
    "verify": LazyCommand("alice.cli.verify:verify", "Run a report again and say whether it holds."),
    "view": LazyCommand("alice.cli.view:view", "Show the gallery of all reports in the browser."),
    "plugins": LazyCommand("alice.cli.plugins:plugins", "List the plugins, or start a new one."),
    "ckpt": LazyCommand("alice.cli.ckpt:ckpt", "List, describe, export and import checkpoints."),
    "bench": LazyCommand("alice.cli.bench:bench", "Measure speed and memory as ratios."),
    "data": LazyCommand("alice.cli.data:data", "Clean a corpus, or look at one."),
}

START = f"""\
See, layer by layer, how a Transformer solves substitution ciphers.

Start with one of these:
  {PROGRAM} demo
      everything once, in a few minutes
  {PROGRAM} solve "RJ HRIF, YF QDAF SEF BFVS KFTRVRNJV YF TDJ"
      decrypt a cryptogram
  {PROGRAM} run early-exit --ckpt base
      write a report: at which layer are the letters known?

Read more:
  {PROGRAM} --help           all commands
  {PROGRAM} run --help       all analyses
  {PROGRAM} COMMAND --help   a command and its options
  docs/ in the project          a tutorial, and a page for every analysis"""


class LazyGroup(NearestGroup):
    """A group with a table of commands that are imported when they are called."""

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
        """Write the list of commands without importing any."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.help) for name, command in self.table.items()])


class RootGroup(LazyGroup):
    """The outermost group: an error that the user can fix is one line on stderr, with a traceback only for `--debug`.

    That includes every path that the system refuses, whichever command was given it.
    """

    def main(self, *args: Any, **kwargs: Any) -> Any:
        """Run the program; a full disk behind its output is one line, too."""
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
                # Drop what is still buffered, which would fail again when Python exits.
                os.dup2(os.open(os.devnull, os.O_WRONLY), sys.__stdout__.fileno())
            sys.exit(f"{PROGRAM}: error: no space left for the output; free some space or redirect it elsewhere")

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command that was called."""
        try:
            return super().invoke(ctx)
        except (AliceError, MemoryError, OSError, RuntimeError) as error:
            sentence = _sentence(error)
            if sentence is None or ctx.params.get("debug"):
                raise
            click.echo(f"{PROGRAM}: error: {printable(sentence)}", err=True)
            ctx.exit(1)
        except KeyboardInterrupt as error:
            if ctx.params.get("debug"):
                raise
            with no_interrupts(also_at_exit=True):
                traceback.clear_frames(error.__traceback__)  # closes generators, such as that of a progress bar
                after_echo = "\n" if sys.stderr.isatty() else ""  # a terminal has just printed ^C on this line
                click.echo(f"{after_echo}{PROGRAM}: interrupted", err=True)
            ctx.exit(INTERRUPTED)


def _is_torch_out_of_memory(error: Exception) -> bool:
    signs = ("allocate memory", "out of memory", "not enough memory")
    return isinstance(error, RuntimeError) and any(sign in str(error) for sign in signs)


def _sentence(error: Exception) -> str | None:
    """Return what to tell the user about an error, or None if it is a bug of ours."""
    if isinstance(error, AliceError):
        return " ".join(error.for_command_line().split())
    if isinstance(error, OSError) and error.filename is not None:
        return f"cannot use the path {os.fsdecode(error.filename)!r:.300}: {error.strerror}; give another"
    if isinstance(error, MemoryError) or _is_torch_out_of_memory(error):
        return "there is not enough memory; use a smaller model, fewer or shorter texts, or smaller batches"
    if isinstance(error, RuntimeError) and "home directory" in str(error):  # from `Path.expanduser`
        return "a path begins with ~ and a name that is not a user of this machine; write ./~name for a file"
    return None


@click.group(
    cls=RootGroup,
    table=COMMANDS,
    invoke_without_command=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)
@click.version_option(package_name="alice-interp", prog_name=PROGRAM)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
@click.pass_context
def main(ctx: click.Context, debug: bool) -> None:
    """See, layer by layer, how a Transformer solves substitution ciphers."""
    if ctx.invoked_subcommand is None:
        click.echo(START)
