"""Writes docs/cli.md from the help of the commands: `python docs/generate_cli.py`."""

import os
from collections.abc import Iterator
from pathlib import Path

import click

PAGE = Path(__file__).with_name("cli.md")
WIDTH = 100
INTRODUCTION = """\
# Command line

Generated from the help of the commands by `python docs/generate_cli.py`; a test fails when it is out of date.
"""


def generate() -> str:
    """Return the page: the help of every command, including the built-in analyses."""
    os.environ["ALICE_INTERP_LOAD_PLUGINS"] = ""  # installed plugins are not part of the page
    from alice.cli import main

    sections = (f"\n## `{name}`\n\n```\n{text}\n```\n" for name, text in helps(main, "alice-interp", None))
    return INTRODUCTION + "".join(sections)


def helps(command: click.Command, name: str, parent: click.Context | None) -> Iterator[tuple[str, str]]:
    """Yield the name and the help of a command and of all its subcommands."""
    context = click.Context(
        command,
        info_name=name,
        parent=parent,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    yield context.command_path, command.get_help(context)
    if isinstance(command, click.Group):
        for child_name in command.list_commands(context):
            child = command.get_command(context, child_name)
            if child is not None:
                yield from helps(child, child_name, context)


if __name__ == "__main__":
    PAGE.write_text(generate(), encoding="utf-8")
