"""Finds an earlier report with the same inputs, so that a reproduction can continue where it stopped."""

from collections.abc import Mapping
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

from alice.errors import AliceError
from alice.plugins import provenance
from alice.plugins.analysis import Analysis
from alice.plugins.context import RunContext
from alice.plugins.context.sample import Sample
from alice.plugins.manager import Plugin
from alice.reports import Report
from alice.reports.archive import RESULT, read_report
from alice.reports.html import REPORT

SETTLED = ("analysis", "options", "seed", "checkpoints", "plugin", "versions")
"""What must be equal; the texts, and those that a solver learned from, are compared by their hashes."""


def find_report(folder: Path, analysis: Analysis, ctx: RunContext, plugin: Plugin) -> Report | None:
    """Return the newest report with the same inputs, or None."""
    if ctx.named_model is None or _reads_files(analysis):  # the contents of files may have changed
        return None
    wanted = provenance.describe(analysis, ctx, plugin)
    for place in sorted(folder.glob(f"{analysis.name}-*"), reverse=True):
        if (place / RESULT).is_file() and (place / REPORT).is_file() and (report := _read(place)) is not None:
            about = report.provenance
            settled = all(_without_place(about.get(name)) == _without_place(wanted[name]) for name in SETTLED)
            if settled and _same_texts(about.get("data"), ctx):
                return report
    return None


def _without_place(entry: Any) -> Any:
    """Return an entry of the provenance without where a checkpoint lies: its hash says which one it is."""
    if not isinstance(entry, list):
        return entry
    return [{**one, "place": None} if isinstance(one, Mapping) else one for one in entry]


def _reads_files(analysis: Analysis) -> bool:
    values = [getattr(analysis, field.name) for field in fields(cast(Any, analysis))]
    return any(isinstance(value, Path) for value in values)


def _read(folder: Path) -> Report | None:
    try:
        return read_report(folder)
    except AliceError:  # a damaged report is made again
        return None


def _same_texts(data: Any, ctx: RunContext) -> bool:
    """Return whether each model would read the same texts as before."""
    entries = [one for one in data if isinstance(one, Mapping)] if isinstance(data, list) else []
    before = {one.get("model"): one for one in entries}
    return all(one.texts is not None and _reads(one.texts, before.get(one.checkpoint)) for one in ctx.each)


def _reads(texts: Sample, before: Any) -> bool:
    if not isinstance(before, Mapping):
        return False
    same_source = (before.get("source"), before.get("split")) == (texts.pool.source, texts.split)
    return same_source and reads_alike(texts, before)


def reads_alike(texts: Sample, before: Mapping[str, Any]) -> bool:
    """Return whether a sample begins with the texts that an entry of the provenance describes, wherever they lie."""
    count = before.get("texts")
    if not isinstance(count, int) or count < 1:
        return False
    return texts.unread().first(count).fingerprint == before.get("sha256") and _learns(texts, before)


def _learns(texts: Sample, before: Mapping[str, Any]) -> bool:
    """Return whether the texts that something learned from are still the first of the training split."""
    if "training_sha256" not in before:
        return True
    if not isinstance(count := before.get("training_texts"), int) or count < 1:
        return False
    return replace(texts, pool=texts.pool.training, count=count).fingerprint == before["training_sha256"]
