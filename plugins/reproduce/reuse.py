"""Finds the result of an analysis that was run before with the same inputs, so that a reproduction can go on."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

from alice.errors import AliceError
from alice.plugins import provenance
from alice.plugins.analysis import Analysis
from alice.plugins.context import RunContext
from alice.plugins.manager import Plugin
from alice.plugins.sample import Sample
from alice.reports.archive import RESULT, Report, read_report
from alice.reports.html import REPORT

SETTLED = ("analysis", "options", "seed", "checkpoint", "plugin", "versions")
"""What must be the same; the texts, and those that a solver learned from, are compared by their hashes."""


def find_run(runs: Path, analysis: Analysis, ctx: RunContext, plugin: Plugin) -> Report | None:
    """Return the newest run in a folder that this analysis would only repeat, if there is one."""
    if ctx.named_model is None or _reads_files(analysis):  # what lies in files may have changed
        return None
    wanted = provenance.describe(analysis, ctx, plugin)
    for folder in sorted(runs.glob(f"{analysis.name}-*"), reverse=True):
        if (folder / RESULT).is_file() and (folder / REPORT).is_file() and (run := _read(folder)) is not None:
            about = run.provenance
            if all(about.get(name) == wanted[name] for name in SETTLED) and _same_texts(about.get("data"), ctx):
                return run
    return None


def _reads_files(analysis: Analysis) -> bool:
    values = [getattr(analysis, field.name) for field in fields(cast(Any, analysis))]
    return any(isinstance(value, Path) for value in values)


def _read(folder: Path) -> Report | None:
    try:
        return read_report(folder)
    except AliceError:  # a damaged result is as good as none
        return None


def _same_texts(data: Any, ctx: RunContext) -> bool:
    """Say whether each model would read the texts that it read then."""
    return isinstance(data, Mapping) and all(
        one.texts is not None and _reads(one.texts, data if "sha256" in data else data.get(one.checkpoint))
        for one in ctx.each
    )


def _reads(texts: Sample, then: Any) -> bool:
    if not isinstance(then, Mapping) or not isinstance(count := then.get("texts"), int) or count < 1:
        return False
    same_source = (then.get("source"), then.get("split")) == (texts.pool.source, texts.split)
    return same_source and texts.anew().first(count).fingerprint == then.get("sha256") and _learns(texts, then)


def _learns(texts: Sample, then: Mapping[str, Any]) -> bool:
    """Say whether the texts that something learned from then are still the first of the training side."""
    if "training sha256" not in then:
        return True
    if not isinstance(count := then.get("training texts"), int) or count < 1:
        return False
    return replace(texts, pool=texts.pool.training, count=count).fingerprint == then["training sha256"]
