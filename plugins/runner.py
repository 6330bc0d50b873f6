"""Runs one analysis: checks the models before and after, records provenance, and stores the report."""

import json
import signal
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import torch

from alice.errors import AliceError, one_line
from alice.files import draft_folder
from alice.plugins import provenance
from alice.plugins.analysis import Analysis, check_can_be_divided, checkpoints_of
from alice.plugins.context import RunContext
from alice.plugins.context.models import no_new_global_hooks, remove_hooks
from alice.plugins.manager import Plugin
from alice.reports import Report, Result
from alice.timing import using_threads

_BY_SIGNAL = {128 + number for number in (signal.SIGHUP, signal.SIGINT, signal.SIGTERM)}
"""Exit codes that come from a signal, which must end the program."""


class AnalysisFailedError(AliceError):
    """A bug in an analysis, described in one line; the exception's cause has the traceback."""

    def __init__(self, analysis: Analysis, error: BaseException) -> None:
        hint = "`alice-interp --debug run ...` shows where"
        super().__init__(f"the analysis {analysis.name} failed ({one_line(error)})", hint=hint)


def run_analysis(
    analysis: Analysis,
    ctx: RunContext,
    *,
    out: Path | str = "runs",
    plugin: Plugin | None = None,
    standalone: bool = False,
) -> Report:
    """Run an analysis and store its report in a new folder of `out`.

    Args:
        analysis: the analysis with its options.
        ctx: the models and texts.
        out: folder of all reports.
        plugin: the plugin that provides the analysis, for provenance.
        standalone: whether the page includes its drawing script, so that it works as a single file.

    """
    from alice.reports.publish import check_place  # it imports plotly

    with as_one_line(analysis):
        _check_writable(check_place(out, standalone=standalone))  # now, not after hours of computing
        return analyse(analysis, ctx, plugin=plugin).save(out, standalone=standalone)


def analyse(analysis: Analysis, ctx: RunContext, *, plugin: Plugin | None = None) -> Report:
    """Run an analysis and return its report without storing it."""
    ctx = unread(ctx)
    with as_one_line(analysis):
        json.dumps(provenance.describe(analysis, ctx, plugin))  # fail now if the options cannot be written
        started = perf_counter()
        result = compute(analysis, ctx)
        about = provenance.describe(analysis, ctx, plugin) | provenance.describe_place(
            perf_counter() - started, workers=ctx.workers
        )
    return Report(result, about)


def compute(analysis: Analysis, ctx: RunContext) -> Result:
    """Run an analysis with torch's generator set from the seed; a bug in it becomes a one-line error."""
    if len(ctx.each) > 1 and checkpoints_of(type(analysis)) != "several":
        raise AliceError(f"{analysis.name} reads one checkpoint, not {len(ctx.each)}; run it for each of them")
    if ctx.is_divided:
        check_can_be_divided(analysis)
    # With workers everything has one thread: more may change the last digits, which must not depend on their number.
    threads = using_threads(1) if ctx.workers is not None else nullcontext()
    with as_one_line(analysis), _guarded_models(analysis, ctx), torch.random.fork_rng(devices=[]), threads:
        torch.manual_seed(ctx.seed)
        result = analysis.run(ctx)
    if not isinstance(result, Result):
        raise AliceError(f"the analysis {analysis.name} returned {type(result).__name__}; it must return a Result")
    return result


@contextmanager
def as_one_line(analysis: Analysis) -> Iterator[None]:
    """Report any exception, including SystemExit, as a one-line error; signals still exit."""
    try:
        yield
    except (AliceError, KeyboardInterrupt):
        raise
    except SystemExit as error:
        if error.code in _BY_SIGNAL:
            raise
        raise AnalysisFailedError(analysis, error) from error
    except BaseException as error:
        raise AnalysisFailedError(analysis, error) from error


@contextmanager
def _guarded_models(analysis: Analysis, ctx: RunContext) -> Iterator[None]:
    """Remove hooks and gradients that an analysis leaves behind, reset mode and switches, and raise if it changed more.

    A changed model is loaded again for the next analysis; one that did not come from a checkpoint is refused there.
    """
    models = [one.named_model for one in ctx.each if one.named_model is not None]
    for named in models:
        if not named.is_unchanged():
            named.reload()
    try:
        with no_new_global_hooks():
            yield
    finally:
        for named in models:
            remove_hooks(named.model)
            named.model.zero_grad(set_to_none=True)
            named.model.eval().reset_switches()
    if changed := [named.name for named in models if not named.is_unchanged()]:
        raise AliceError(
            f"the analysis {analysis.name} changed the weights or modules of {changed[0]}; "
            "it must change a copy.deepcopy instead"
        )


def _check_writable(out: Path) -> None:
    """Refuse a folder that cannot be written to, by trying; remove what that created."""
    new = [path for path in (out, *out.parents) if not path.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        with draft_folder(out / "trial") as trial:
            trial.rmdir()
    except OSError as error:
        raise AliceError(f"no report can be written to {out} ({error.strerror}); choose another folder") from error
    finally:
        for path in new:
            with suppress(OSError):
                path.rmdir()


def unread(ctx: RunContext) -> RunContext:
    """Return the context with nothing read yet, so that provenance covers what this analysis reads."""
    texts = ctx.texts.unread() if ctx.texts is not None else None
    return replace(ctx, texts=texts, others=tuple(unread(other) for other in ctx.others))
