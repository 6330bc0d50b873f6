"""`alice-interp run NAME`: runs an analysis of any plugin; its options come from its dataclass fields.

`demo` and `reproduce` run several analyses one after another with the functions at the end.
"""

import traceback
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from alice import front_door
from alice.cli import options as shared
from alice.cli.explore import write_explorers
from alice.cli.options import dataclass_options, given
from alice.cli.progress import track
from alice.cluster import asks_for_workers, check_engine
from alice.errors import AliceError, printable
from alice.files import user_path
from alice.front_door import build_analysis, check_inputs
from alice.plugins.analysis import ALL, Analysis, can_be_divided, help_of, is_for_all, summary_of
from alice.plugins.manager import Plugin, Plugins, build
from alice.text.corpus import POSSIBLE_SOURCES

if TYPE_CHECKING:
    from alice.plugins import RunContext
    from alice.reports import Report

ENGINE = ("engine", "workers", "scheduler")
"""The options that name the workers."""
MakeCommand = Callable[[type[Analysis], Plugin, Plugins], click.Command]
"""Makes the command of an analysis."""
MakeAll = Callable[[Plugins], click.Command]
"""Makes the command `all`."""
open_context = partial(front_door.open_context, tracker=track)
"""Loads models and opens texts, with a progress bar."""


def run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options that every analysis has."""
    standalone = click.option("--standalone", is_flag=True, help="Put the drawing script into the page, to send it.")
    explore = click.option(
        "--explore", is_flag=True, help="Write the explorer pages of the models, too, and link there."
    )
    engine = shared.engine_options(
        "Processes of one thread that share the texts, on the CPU.  [default: one process with all threads]"
    )
    for decorate in (
        shared.plugin_option,
        explore,
        standalone,
        shared.out_option,
        engine,
        shared.device_option,
        shared.seed_option,
        shared.split_option,
        shared.data_option,
        shared.ckpt_option,
    ):
        command = decorate(command)
    return command


class AnalysisGroup(click.Group):
    """A group whose commands are the analyses of all plugins, and `all`."""

    files: tuple[Path, ...] = ()

    def __init__(self, *args: Any, make: "MakeCommand", make_all: "MakeAll", **kwargs: Any) -> None:
        """Take the functions that make the command of an analysis and the command `all`."""
        super().__init__(*args, **kwargs)
        self.make, self.make_all = make, make_all

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Look for `--plugin` in all arguments first: the analysis may come from that file."""
        self.__dict__.pop("plugins", None)
        # A shell that completes a line must not run a file that the user has not asked to run yet.
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
        plugins = self.plugins
        if cmd_name == ALL:
            return self.make_all(plugins)
        try:
            cls, plugin = plugins.find(cmd_name)
        except AliceError as error:
            if ctx.resilient_parsing:
                return None
            ctx.fail(str(error))
        return self.make(cls, plugin, plugins)


def announce(files: Iterable[Path]) -> None:
    """Say which files are run because the user names them."""
    for file in files:
        click.echo(f"loading plugin {printable(str(file))} (this runs its code)", err=True)


def load_plugins(files: Iterable[Path]) -> Plugins:
    """Load all plugins; raise if one of the given files does not load, and print which others did not."""
    plugins = build(files=files)
    for plugin in plugins.broken:
        if plugin.origin == "file":
            raise AliceError(f"plugin {plugin.where} did not load: {plugin.error}")
        click.echo(printable(f"plugin {plugin.name} ({plugin.where}) did not load: {plugin.error}"), err=True)
    return plugins


def _plugin_files(args: Sequence[str]) -> Iterable[Path]:
    for place, argument in enumerate(args):
        if argument == "--":
            return
        if argument == "--plugin" and place + 1 < len(args):
            yield user_path(args[place + 1])
        elif argument.startswith("--plugin="):
            yield user_path(argument.partition("=")[2])


def _analysis_command(cls: type[Analysis], plugin: Plugin, plugins: Plugins) -> click.Command:
    @run_options
    @dataclass_options(cls)
    def call(ckpt: tuple[str, ...], out: Path, standalone: bool, explore: bool, **options: Any) -> None:
        inputs = {name: options.pop(name) for name in ("data", "split", "seed", "device")}
        engine = {name: options.pop(name) for name in ENGINE}
        options.pop("plugin")
        analysis = build_analysis(cls, given(options))
        check_inputs(analysis, ckpt, divided=asks_for_workers(**engine))

        from alice.plugins.context.cluster import divided  # after the cheap checks: torch takes seconds to import
        from alice.plugins.runner import run_analysis

        ctx = open_context(ckpt, plugins, **inputs)
        if explore:
            write_explorers(ctx, out)
        with divided(ctx, **engine) as divided_ctx:
            say_done(run_analysis(analysis, divided_ctx, out=out, plugin=plugin, standalone=standalone))

    epilog = f"From the plugin {plugin.name} ({plugin.where})." if plugin.origin != "built-in" else None
    return click.command(str(cls.name), help=help_of(cls), short_help=summary_of(cls), epilog=epilog)(call)


def _all_command(plugins: Plugins) -> click.Command:
    @click.command(ALL, short_help="Every analysis that reads one checkpoint.")
    @run_options
    def call(ckpt: tuple[str, ...], out: Path, standalone: bool, explore: bool, **inputs: Any) -> None:
        """Run every analysis that reads one checkpoint, with its default options; if one fails, the others go on."""
        if len(ckpt) != 1:
            raise AliceError(f"run all takes one checkpoint, not {len(ckpt)}; give --ckpt once")
        inputs.pop("plugin")
        engine = {name: inputs.pop(name) for name in ENGINE}
        check_engine(**engine)
        ctx = open_context(ckpt, plugins, **inputs)
        if explore:
            write_explorers(ctx, out)
        chosen = [name for name, cls in plugins.analyses.items() if is_for_all(cls)]
        if left_out := [name for name in plugins.analyses if name not in chosen]:
            click.echo(f"left out, because they need more than a checkpoint: {', '.join(left_out)}", err=True)
        from alice.plugins.context.cluster import divided

        with divided(ctx, **engine) as divided_ctx:
            jobs = [Job(name, divided_ctx if can_be_divided(plugins.analyses[name]) else ctx) for name in chosen]
            if alone := [job.name for job in jobs if divided_ctx.workers is not None and job.ctx is ctx]:
                click.echo(f"in one process, because their texts cannot be divided: {', '.join(alone)}", err=True)
            raise_failures(run_each(jobs, plugins, out=out, standalone=standalone), jobs, out)

    return call


@click.group(
    cls=AnalysisGroup,
    make=_analysis_command,
    make_all=_all_command,
    epilog=f"--data takes the corpora of plugins, too, or {POSSIBLE_SOURCES}.",
)
@shared.plugin_option
def run(plugin: tuple[Path, ...]) -> None:
    """Run an analysis and write its report, or run all of them."""


@dataclass(frozen=True)
class Job:
    """An analysis to run."""

    name: str
    """Its name."""
    ctx: "RunContext"
    """The models and texts."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Its options; those not given keep their defaults."""


def run_each(jobs: Sequence[Job], plugins: Plugins, *, out: Path, standalone: bool = False) -> list[str]:
    """Run analyses one after another, also when one fails; return a sentence about each failure."""
    outcomes = [
        (job, run_one(job, plugins, out=out, place=place, standalone=standalone)) for job, place in places(jobs)
    ]
    return [f"{job.name} ({outcome})" for job, outcome in outcomes if isinstance(outcome, AliceError)]


def places(jobs: Sequence[Job]) -> Iterator[tuple[Job, str]]:
    """Yield each job with its number to show."""
    for number, job in enumerate(jobs, start=1):
        yield job, click.style(f"[{number}/{len(jobs)}]", dim=True)


def run_one(
    job: Job, plugins: Plugins, *, out: Path, place: str, standalone: bool = False, reuse: bool = False
) -> "Report | AliceError":
    """Run an analysis and return its report, or why it failed.

    With `reuse`, a report in `out` that has the same inputs is returned instead.
    """
    from alice.plugins.runner import run_analysis

    try:
        cls, plugin = plugins.find(job.name)
        click.echo(f"{place} {_title(job)}: {summary_of(cls)}", err=True)
        analysis = build_analysis(cls, job.options)
        stored = _find_earlier(out, analysis, job.ctx, plugin) if reuse else None
        if stored is not None:
            click.echo("reusing an earlier report on the same inputs", err=True)
        else:
            stored = run_analysis(analysis, job.ctx, out=out, plugin=plugin, standalone=standalone)
    except AliceError as error:
        click.echo(printable(f"{job.name} failed: {error.for_command_line()}"), err=True)
        if click.get_current_context().find_root().params.get("debug"):
            click.echo("".join(traceback.format_exception(error)), err=True)
        return error
    say_done(stored)
    return stored


def _find_earlier(out: Path, analysis: Analysis, ctx: "RunContext", plugin: Plugin) -> "Report | None":
    from alice.plugins.reuse import find_report

    return find_report(out, analysis, ctx, plugin)


def raise_failures(failed: Sequence[str], jobs: Sequence[Job], out: Path) -> None:
    """Raise one error for all analyses that failed, if any did."""
    if failed:
        rest = f"the other reports are in {out}" if len(failed) < len(jobs) else "there is no report"
        raise AliceError(f"{len(failed)} of {len(jobs)} analyses failed: {'; '.join(failed)}; {rest}")


def say_done(stored: "Report") -> None:
    """Print the headline of a result, for each model if there are several, and where its page is."""
    headline = stored.result.headline_metric()
    if headline is not None:
        alike = [metric for metric in stored.metrics if metric.name == headline.name]
        shown = [f"{metric.model} {metric}" for metric in alike] if len(alike) > 1 else [str(headline)]
        click.echo(f"{headline.label}: {', '.join(shown)}")
    click.echo(str(stored.stored_in / "report.html"))


def _title(job: Job) -> str:
    models = [one.checkpoint for one in job.ctx.each if one.named_model is not None]
    return click.style(job.name, bold=True) + (f" ({', '.join(models)})" if models else "")
