"""Grades analyses: runs them on planted models and compares what they find with the truth.

An analysis takes part if it has a method `findings(result)`; see `alice.plugins.findings`.
"""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import Any

from alice.errors import AliceError
from alice.fields import to_plain
from alice.planted import NAMES, Planted, build
from alice.plugins import provenance
from alice.plugins.analysis import Analysis, can_be_graded, checkpoints_of
from alice.plugins.context import RunContext, Tracker, silent
from alice.plugins.context.models import PLANTED
from alice.plugins.grade.measure import Graded, grade_one, standings
from alice.plugins.grade.report import report
from alice.plugins.manager import Plugins
from alice.reports import Report
from alice.text import QUOTES

TRIALS = 3


def grade(
    analyses: Sequence[Analysis],
    plugins: Plugins,
    *,
    planted: Sequence[str] = (),
    trials: int = TRIALS,
    data: str | Path | Iterable[str] = QUOTES,
    tracker: Tracker = silent,
) -> Report:
    """Grade analyses on planted models and return the league table as a report.

    Args:
        analyses: the analyses with their options; those without findings are only named.
        plugins: where corpora and solvers come from.
        planted: names of planted models; all if empty.
        trials: how often each analysis runs on each model, each time with another seed.
        data: the texts.
        tracker: shows progress.

    """
    models = [build(name) for name in planted or NAMES]
    chosen, ungraded = _chosen(analyses)
    opened: list[RunContext] = []

    def open_context(one: Planted, seed: int) -> RunContext:
        model = build(one.name).model  # a fresh one each time, whatever an analysis did to the last
        ctx = RunContext.open(model, data=data, seed=seed, corpora=plugins.corpora, solvers=plugins.solvers)
        if ctx.named_model is not None:
            ctx.named_model.name = f"{PLANTED}{one.name}"
        opened.append(ctx)
        return ctx

    started = perf_counter()
    jobs = [(analysis, one) for analysis in chosen for one in models]
    graded: list[Graded] = []
    failed: list[AliceError] = []
    for analysis, one in tracker(jobs, "Grading"):
        try:
            graded += grade_one(analysis, one, open_context, trials)
        except AliceError as error:  # the others go on
            failed.append(error)
    if failed and len(failed) == len(jobs):
        raise failed[0]
    if not standings(graded):
        names = ", ".join(analysis.name for analysis in chosen)
        raise AliceError(f"{names} claims nothing that can be compared with a planted model; see docs/grade.md")
    about = {
        "analysis": "grade",
        "options": {
            "analyses": {analysis.name: to_plain(analysis) for analysis in chosen},
            "planted": [one.name for one in models],
            "trials": trials,
        },
        **_described(chosen[0], opened),
        **provenance.describe_place(perf_counter() - started),
    }
    return Report(report(graded, ungraded, [str(error) for error in failed]), about)


def _chosen(analyses: Sequence[Analysis]) -> tuple[list[Analysis], list[str]]:
    """Return the analyses that can be graded, and the names of the others."""
    able = [one for one in analyses if can_be_graded(type(one)) and checkpoints_of(type(one)) != "none"]
    others = [one.name for one in analyses if one not in able]
    if not able:
        raise AliceError(
            f"nothing can be graded: {', '.join(others)} cannot say what a result claims; "
            "docs/grade.md describes the method findings(result)"
        )
    return able, others


def _described(analysis: Analysis, opened: Sequence[RunContext]) -> dict[str, Any]:
    """Return the provenance of the models, texts and versions."""
    each = [provenance.describe(analysis, replace(ctx, others=()), None) for ctx in opened]
    return {
        "checkpoints": _distinct(entry for one in each for entry in one["checkpoints"]),
        "data": _distinct(entry for one in each for entry in one["data"]),
        "versions": each[0]["versions"],
    }


def _distinct(entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
    return list({str(sorted(entry.items())): entry for entry in entries}.values())
