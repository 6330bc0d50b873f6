"""Runs analyses for several commands: builds them, opens models and texts, and says where the reports are."""

import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from alice.cli.progress import track
from alice.errors import AliceError
from alice.plugins.analysis import Analysis, summary_of
from alice.plugins.manager import Plugins

if TYPE_CHECKING:
    from alice.plugins import RunContext
    from alice.reports.archive import Report


@dataclass(frozen=True)
class Job:
    """An analysis to run."""

    name: str
    """What it is called."""
    ctx: "RunContext"
    """The models and texts."""
    options: Mapping[str, Any] = field(default_factory=dict)
    """Its fields; one that is not given keeps its default."""


def build_analysis(cls: type[Analysis], options: Mapping[str, Any]) -> Analysis:
    """Build the analysis; what its own checks refuse is one line."""
    try:
        return cls(**options)
    except AliceError:
        raise
    except Exception as error:
        raise AliceError(f"{cls.name} refuses its options: {error}") from error


def open_context(
    ckpt: Sequence[str], plugins: Plugins, *, data: str, split: Any = "test", seed: int = 0
) -> "RunContext":
    """Load the models and find the texts."""
    from alice.plugins import RunContext

    if not ckpt:
        return RunContext(seed=seed, tracker=track)
    return RunContext.open(
        *ckpt,
        data=data,
        split=split,
        seed=seed,
        tracker=track,
        corpora=plugins.corpora,
        solvers=plugins.solvers,
    )


def run_each(jobs: Sequence[Job], plugins: Plugins, *, out: Path, standalone: bool = False) -> list[str]:
    """Run analyses one after another; return a sentence about each that failed, which stops no other."""
    outcomes = [
        (job, run_one(job, plugins, out=out, place=place, standalone=standalone)) for job, place in places(jobs)
    ]
    return [f"{job.name} ({outcome})" for job, outcome in outcomes if isinstance(outcome, AliceError)]


def places(jobs: Sequence[Job]) -> Iterator[tuple[Job, str]]:
    """Yield each job with its number, to be shown."""
    for number, job in enumerate(jobs, start=1):
        yield job, click.style(f"[{number}/{len(jobs)}]", dim=True)


def run_one(
    job: Job, plugins: Plugins, *, out: Path, place: str, standalone: bool = False, reuse: bool = False
) -> "Report | AliceError":
    """Run an analysis and return its result, or why it failed; `reuse` takes one that the same inputs gave before."""
    from alice.plugins.reproduce.reuse import find_run
    from alice.plugins.runner import run_analysis

    try:
        cls, plugin = plugins.find(job.name)
        click.echo(f"{place} {_title(job)}: {summary_of(cls)}", err=True)
        analysis = build_analysis(cls, job.options)
        stored = find_run(out, analysis, job.ctx, plugin) if reuse else None
        if stored is not None:
            click.echo("as it was run before on the same inputs", err=True)
        else:
            stored = run_analysis(analysis, job.ctx, out=out, plugin=plugin, standalone=standalone)
    except AliceError as error:
        click.echo(f"{job.name} failed: {error}", err=True)
        _show_traceback(error)
        return error
    say_done(stored)
    return stored


def complain(failed: Sequence[str], jobs: Sequence[Job], out: Path) -> None:
    """Make an error of the analyses that failed, if there are any."""
    if failed:
        rest = f"the other reports are in {out}" if len(failed) < len(jobs) else "there is no report"
        raise AliceError(f"{len(failed)} of {len(jobs)} analyses failed: {'; '.join(failed)}; {rest}")


def say_done(stored: "Report") -> None:
    """Print the most important number of a result, and where its report is."""
    headline = stored.result.headline_metric()
    if headline is not None:
        click.echo(f"{headline.label}: {headline}")
    click.echo(str(stored.stored_in / "report.html"))


def _title(job: Job) -> str:
    models = [one.checkpoint for one in job.ctx.each if one.named_model is not None]
    return click.style(job.name, bold=True) + (f" ({', '.join(models)})" if models else "")


def _show_traceback(error: AliceError) -> None:
    """Print where an error comes from, if `alice-interp --debug` was asked for."""
    if click.get_current_context().find_root().params.get("debug"):
        click.echo("".join(traceback.format_exception(error)), err=True)
