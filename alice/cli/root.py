"""The commands of `alice-interp`. Nothing heavy is imported before a command needs it."""

import click

from alice.cli.lazy import PROGRAM, LazyCommand, RootGroup

COMMANDS = {
    "demo": LazyCommand("alice.cli.demo:demo", "See everything once: cryptograms solved, analyses run."),
    "solve": LazyCommand("alice.cli.solve:solve", "Decrypt a cryptogram."),
    "train": LazyCommand("alice.cli.train:train", "Train a model, or go on with a training."),
    "sweep": LazyCommand("alice.cli.sweep:sweep", "Train several models that differ in one thing."),
    "evaluate": LazyCommand("alice.cli.evaluate:evaluate", "Measure error rates on unseen texts."),
    "run": LazyCommand("alice.cli.run:run", "Run an analysis and write its report, or all of them."),
    "reproduce": LazyCommand("alice.cli.reproduce:reproduce", "Test the paper's claims; redo its tables and figures."),
    "report": LazyCommand("alice.cli.report:report", "Write the page of a stored result again."),
    "view": LazyCommand("alice.cli.view:view", "Show the gallery of all reports in the browser."),
    "plugins": LazyCommand("alice.cli.plugins:plugins", "List the plugins, or begin a new one."),
    "ckpt": LazyCommand("alice.cli.ckpt:ckpt", "List, describe, export and import checkpoints."),
    "bench": LazyCommand("alice.cli.bench:bench", "Measure speed and memory as ratios."),
    "data": LazyCommand("alice.cli.data:data", "Clean a corpus, or look at one."),
}

START = f"""\
See, layer by layer, how a Transformer solves substitution ciphers.

Start with one of these:
  {PROGRAM} demo
      everything once, in some minutes
  {PROGRAM} solve "RJ HRIF, YF QDAF SEF BFVS KFTRVRNJV YF TDJ"
      decrypt a cryptogram
  {PROGRAM} run early-exit --ckpt base
      write a report: at which layer are the letters known?

Read more:
  {PROGRAM} --help           all commands
  {PROGRAM} run --help       all analyses
  {PROGRAM} COMMAND --help   a command and its options
  docs/ in the project          a tutorial, and a page for every analysis"""


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
