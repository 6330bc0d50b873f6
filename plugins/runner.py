"""Runs one analysis: times it, stamps where its result comes from, stores it and has its report written."""

import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime
from itertools import count
from pathlib import Path
from shutil import rmtree
from time import perf_counter, time

import torch

from alice.errors import AliceError
from alice.plugins import provenance
from alice.plugins.analysis import Analysis, checkpoints_of
from alice.plugins.context import RunContext
from alice.plugins.manager import Plugin
from alice.reports import Result
from alice.reports.archive import StoredRun
from alice.reports.html import write_report
from alice.reports.publish import publish

HOURS_OF_A_DRAFT = 24
"""A run that is being written is younger than this; an older draft was left by a process that died."""
LONGEST_NAME = 100


class AnalysisFailedError(AliceError):
    """A bug in an analysis, told in one line; the traceback comes with `--debug`."""


def run_analysis(
    analysis: Analysis,
    ctx: RunContext,
    *,
    out: Path | str = "runs",
    plugin: Plugin | None = None,
    standalone: bool = False,
) -> StoredRun:
    """Run an analysis and return its result as it now lies in a new folder of `out`.

    Args:
        analysis: the analysis with its options.
        ctx: the models and texts.
        out: folder of all runs.
        plugin: who provides the analysis, for provenance.
        standalone: whether the report holds its drawing script, so that it can be sent around alone.

    """
    ctx, out = _untouched(ctx), Path(out)
    _check_writable(out)  # now, not after hours of computing
    for one in ctx.each:  # now, in case the analysis changes weights
        _ = one.named_model and one.named_model.fingerprint
    started = perf_counter()
    result = compute(analysis, ctx)
    about = provenance.describe(analysis, ctx, plugin) | provenance.describe_place(perf_counter() - started)
    _remove_drafts(out)
    run = publish(_new_folder(out, analysis, ctx), result, about)
    if standalone:
        write_report(run, standalone=True)
    return run


def compute(analysis: Analysis, ctx: RunContext) -> Result:
    """Run an analysis alone, with torch's generator set from the seed; a bug in it becomes one line."""
    if len(ctx.each) > 1 and checkpoints_of(type(analysis)) != "several":
        raise AliceError(f"{analysis.name} reads one checkpoint, not {len(ctx.each)}; run it for each of them")
    try:
        with _clean_models(ctx), torch.random.fork_rng(devices=[]):
            torch.manual_seed(ctx.seed)
            result = analysis.run(ctx)
    except AliceError:
        raise
    except (Exception, SystemExit) as error:  # an analysis that leaves the program would take the others with it
        told = " ".join(f"{type(error).__name__}: {error}".split())
        raise AnalysisFailedError(f"the analysis {analysis.name} failed ({told}); --debug shows where") from error
    if not isinstance(result, Result):
        raise AliceError(f"the analysis {analysis.name} returned {type(result).__name__}; it must return a Result")
    return result


@contextmanager
def _clean_models(ctx: RunContext) -> Iterator[None]:
    """Leave the models as they were found, so that the next analysis is not misled by hooks or by training mode."""
    models = [one.named_model.model for one in ctx.each if one.named_model is not None]
    try:
        yield
    finally:
        for model in models:
            model.reset_hooks()
            model.eval()


def _check_writable(out: Path) -> None:
    """Refuse a folder that cannot be made or written to."""
    there = next(path for path in (out.absolute(), *out.absolute().parents) if path.exists())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        raise AliceError(
            f"no run can be written to {out}: {there} is not a folder that can be written to; choose another"
        )


def _untouched(ctx: RunContext) -> RunContext:
    """Return the context with nothing read yet, so that provenance tells what this analysis has read."""
    texts = ctx.texts.anew() if ctx.texts is not None else None
    return replace(ctx, texts=texts, others=tuple(_untouched(other) for other in ctx.others))


def _new_folder(out: Path, analysis: Analysis, ctx: RunContext) -> Path:
    """Return a folder that is not there yet: analysis, checkpoints and the time to the second, numbered if need be."""
    models = [_safe(one.checkpoint) for one in ctx.each if one.named_model is not None]
    name = "-".join([analysis.name, *(["+".join(models)] if models else [])])[:LONGEST_NAME]
    folder = out / f"{name}-{datetime.now(UTC):%Y%m%d-%H%M%S}"
    return next(path for path in _numbered(folder) if not path.exists())


def _numbered(folder: Path) -> Iterator[Path]:
    yield folder
    yield from (folder.with_name(f"{folder.name}-{number}") for number in count(2))


def _safe(name: str) -> str:
    return re.sub(r"[^A-Za-z0-9.]+", "_", name).strip("._") or "model"


def _remove_drafts(out: Path) -> None:
    for draft in out.glob(".*.tmp"):
        try:
            if draft.is_dir() and draft.stat().st_mtime < time() - HOURS_OF_A_DRAFT * 3600:
                rmtree(draft, ignore_errors=True)
        except FileNotFoundError:
            continue
