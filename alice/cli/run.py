"""`alice-interp run NAME`: runs an analysis of any plugin; its options come from its dataclass fields."""

from collections.abc import Callable, Iterable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import click

from alice.cli.options import AtLeast, NearestChoice, dataclass_options, given
from alice.cli.running import Job, build_analysis, complain, open_context, run_each, say_done
from alice.errors import AliceError
from alice.plugins.analysis import ALL, Analysis, check_needs, checkpoints_of, help_of, is_for_all, summary_of
from alice.plugins.manager import Plugin, Plugins, build
from alice.text.corpus import POSSIBLE_SOURCES, QUOTES

SPLITS = ("test", "train", "all")
PLUGIN_HELP = "Load a plugin from a Python file, which runs the code in it."


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every analysis has."""
    for decorate in (
        click.option("--plugin", type=click.Path(path_type=Path), multiple=True, help=PLUGIN_HELP),
        click.option("--standalone", is_flag=True, help="Put the drawing script into the report, to send it around."),
        click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("runs"),
                     show_default=True, help="Folder of all runs."),
        click.option("--seed", type=AtLeast(0), default=0, show_default=True, help="Seed of the keys."),
        click.option("--split", type=NearestChoice(SPLITS), default="test", show_default=True,
                     help="Side of the corpus to read."),
        click.option("--data", default=QUOTES, show_default=True, help="Corpus to read: one by name, or a file."),
        click.option("--ckpt", multiple=True, help="Bundled model, checkpoint folder or hub id."),
    ):  # fmt: skip
        command = decorate(command)
    return command


class AnalysisGroup(click.Group):
    """A group whose commands are the analyses of all plugins that are found."""

    files: tuple[Path, ...] = ()

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look for `--plugin` in all arguments first: the analysis may come from that file."""
        self.__dict__.pop("plugins", None)
        # A shell that completes a line must not run a file that nobody has asked to run yet.
        self.files = () if ctx.resilient_parsing else tuple(_plugin_files(args))
        announce(self.files)
        return super().parse_args(ctx, args)

    @cached_property
    def plugins(self) -> Plugins:
        """The plugins of this call."""
        return load_plugins(self.files)

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all analyses."""
        return [*self.plugins.analyses, ALL]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Make the command of an analysis; an unknown name is an error that suggests the nearest."""
        if cmd_name == ALL:
            return _all_command(self.plugins)
        try:
            cls, plugin = self.plugins.find(cmd_name)
        except AliceError as error:
            if ctx.resilient_parsing:
                return None
            ctx.fail(str(error))
        return _analysis_command(cls, plugin, self.plugins)


def announce(files: Iterable[Path]) -> None:
    """Say which files are run because the user names them."""
    for file in files:
        click.echo(f"running the code in {file}, as --plugin asks", err=True)


def load_plugins(files: Iterable[Path]) -> Plugins:
    """Load the plugins, these files among them, and say which did not load."""
    plugins = build(files=files)
    for plugin in plugins.broken:
        click.echo(f"plugin {plugin.name} ({plugin.where}) did not load: {plugin.error}", err=True)
    return plugins


def _plugin_files(args: Sequence[str]) -> Iterable[Path]:
    for place, argument in enumerate(args):
        if argument == "--":
            return
        if argument == "--plugin" and place + 1 < len(args):
            yield Path(args[place + 1])
        elif argument.startswith("--plugin="):
            yield Path(argument.partition("=")[2])


@click.group(cls=AnalysisGroup, epilog=f"--data takes the corpora of plugins, too, or {POSSIBLE_SOURCES}.")
@click.option("--plugin", type=click.Path(path_type=Path), multiple=True, help=PLUGIN_HELP)
def run(plugin: tuple[Path, ...]) -> None:
    """Run an analysis and write its report, or all of them."""


def _analysis_command(cls: type[Analysis], plugin: Plugin, plugins: Plugins) -> click.Command:
    @run_options
    @dataclass_options(cls)
    def call(ckpt: tuple[str, ...], out: Path, standalone: bool, **options: Any) -> None:
        context = {name: options.pop(name) for name in ("data", "split", "seed")}
        options.pop("plugin")
        analysis = build_analysis(cls, given(options))  # before any model is loaded
        _check_checkpoints(cls, ckpt)
        check_needs(analysis)

        from alice.plugins.runner import run_analysis

        ctx = open_context(ckpt, plugins, **context)
        say_done(run_analysis(analysis, ctx, out=out, plugin=plugin, standalone=standalone))

    epilog = f"From the plugin {plugin.name} ({plugin.where})." if plugin.origin != "built-in" else None
    return click.command(str(cls.name), help=help_of(cls), short_help=summary_of(cls), epilog=epilog)(call)


def _all_command(plugins: Plugins) -> click.Command:
    @click.command(ALL, short_help="Every analysis that reads one checkpoint.")
    @run_options
    def call(ckpt: tuple[str, ...], out: Path, standalone: bool, **options: Any) -> None:
        """Run every analysis that reads one checkpoint, with its default options; a failing one stops no other."""
        if len(ckpt) != 1:
            raise AliceError(f"run all takes one checkpoint, not {len(ckpt)}; give --ckpt once")
        options.pop("plugin")
        ctx = open_context(ckpt, plugins, **options)
        chosen = [name for name, cls in plugins.analyses.items() if is_for_all(cls)]
        if left_out := [name for name in plugins.analyses if name not in chosen]:
            click.echo(f"left out, since they need other things than a checkpoint: {', '.join(left_out)}", err=True)
        jobs = [Job(name, ctx) for name in chosen]
        complain(run_each(jobs, plugins, out=out, standalone=standalone), jobs, out)

    return call


def _check_checkpoints(cls: type[Analysis], ckpt: tuple[str, ...]) -> None:
    wanted = checkpoints_of(cls)
    if wanted == "none" and ckpt:
        raise AliceError(f"{cls.name} reads no checkpoint; leave --ckpt out")
    if wanted != "none" and not ckpt:
        raise AliceError(f"{cls.name} needs a model; give --ckpt with a bundled model, a folder or a hub id")
    if wanted == "one" and len(ckpt) > 1:
        raise AliceError(f"{cls.name} reads one checkpoint, not {len(ckpt)}; give --ckpt once")
