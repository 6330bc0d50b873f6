"""Runs one analysis: times it, stamps where its result comes from, stores it and has its report written."""

import json
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from time import perf_counter

import torch
from torch import Tensor

from alice.errors import AliceError
from alice.files import draft_folder
from alice.plugins import provenance
from alice.plugins.analysis import Analysis, checkpoints_of
from alice.plugins.context import RunContext
from alice.plugins.manager import Plugin
from alice.plugins.models import NamedModel
from alice.reports import Report, Result


class AnalysisFailedError(AliceError):
    """A bug in an analysis, told in one line; its cause has the traceback."""

    def __init__(self, analysis: Analysis, error: BaseException) -> None:
        told = " ".join(f"{type(error).__name__}: {error}".split())
        super().__init__(f"the analysis {analysis.name} failed ({told}); `alice-interp --debug run ...` shows where")


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
        plugin: who provides the analysis, for provenance.
        standalone: whether the page holds its drawing script, so that it can be sent around alone.

    """
    with _told_in_one_line(analysis):
        _check_writable(Path(out))  # now, not after hours of computing
        return analyse(analysis, ctx, plugin=plugin).save(out, standalone=standalone)


def analyse(analysis: Analysis, ctx: RunContext, *, plugin: Plugin | None = None) -> Report:
    """Run an analysis and return its report, which is stored nowhere yet."""
    ctx = _untouched(ctx)
    with _told_in_one_line(analysis):
        json.dumps(provenance.describe(analysis, ctx, plugin))  # refuse now what could not be written afterwards
        started = perf_counter()
        result = compute(analysis, ctx)
        about = provenance.describe(analysis, ctx, plugin) | provenance.describe_place(perf_counter() - started)
    return Report(result, about)


def compute(analysis: Analysis, ctx: RunContext) -> Result:
    """Run an analysis alone, with torch's generator set from the seed; a bug in it becomes one line."""
    if len(ctx.each) > 1 and checkpoints_of(type(analysis)) != "several":
        raise AliceError(f"{analysis.name} reads one checkpoint, not {len(ctx.each)}; run it for each of them")
    with _told_in_one_line(analysis), _clean_models(analysis, ctx), torch.random.fork_rng(devices=[]):
        torch.manual_seed(ctx.seed)
        result = analysis.run(ctx)
    if not isinstance(result, Result):
        raise AliceError(f"the analysis {analysis.name} returned {type(result).__name__}; it must return a Result")
    return result


@contextmanager
def _told_in_one_line(analysis: Analysis) -> Iterator[None]:
    """Turn a bug into one line; an analysis that leaves the program would take the others with it."""
    try:
        yield
    except AliceError:
        raise
    except (Exception, SystemExit) as error:
        raise AnalysisFailedError(analysis, error) from error


@contextmanager
def _clean_models(analysis: Analysis, ctx: RunContext) -> Iterator[None]:
    """Leave the models as they were found, so that no hook, mode or weight of one analysis misleads the next."""
    models = [one.named_model for one in ctx.each if one.named_model is not None]
    kept = [{name: tensor.detach().clone() for name, tensor in _tensors(named)} for named in models]
    _ = [named.fingerprint for named in models]  # now, while the weights are those of the checkpoint
    changed: list[str] = []
    try:
        yield
    finally:
        for named, weights in zip(models, kept, strict=True):
            named.model.reset_hooks()
            named.model.eval()
            if not named.is_unchanged():
                named.model.to(next(iter(weights.values())).dtype)
                for name, tensor in _tensors(named):
                    tensor.data = weights[name]
                changed.append(named.name)
    if changed:
        raise AliceError(
            f"the analysis {analysis.name} changed the weights of {changed[0]}; change those of a copy.deepcopy of it"
        )


def _tensors(named: NamedModel) -> list[tuple[str, Tensor]]:
    """Return all that the model computes with, also what is in no checkpoint because it follows from the others."""
    return [*named.model.named_parameters(), *named.model.named_buffers()]


def _check_writable(out: Path) -> None:
    """Refuse a folder that cannot be made or written to, by trying; what was made for that goes again."""
    new = [path for path in (out, *out.parents) if not path.exists()]
    try:
        out.mkdir(parents=True, exist_ok=True)
        with draft_folder(out / "trial") as trial:
            trial.rmdir()
    except OSError as error:
        raise AliceError(f"no run can be written to {out} ({error.strerror}); choose another folder") from error
    finally:
        for path in new:
            with suppress(OSError):
                path.rmdir()


def _untouched(ctx: RunContext) -> RunContext:
    """Return the context with nothing read yet, so that provenance tells what this analysis has read."""
    texts = ctx.texts.anew() if ctx.texts is not None else None
    return replace(ctx, texts=texts, others=tuple(_untouched(other) for other in ctx.others))
