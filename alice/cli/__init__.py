"""The command line: `alice-interp COMMAND`. Nothing heavy is imported before a command needs it."""

import click

from alice.cli.lazy import PROGRAM, LazyCommand, RootGroup

COMMANDS = {
    "train": LazyCommand("alice.cli.train:train", "Train a model, or go on with a training."),
    "data": LazyCommand("alice.cli.data:data", "Clean a corpus, or look at one."),
}


@click.group(cls=RootGroup, table=COMMANDS, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="alice-interp", prog_name=PROGRAM)
@click.option("--debug", is_flag=True, help="Show the traceback of an error.")
def main(debug: bool) -> None:
    """See, layer by layer, how a Transformer solves substitution ciphers."""
