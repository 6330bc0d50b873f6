"""Runs an analysis again and compares what it finds with a stored report."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from alice.plugins.analysis import Analysis, can_be_divided, timings_of
from alice.plugins.context import RunContext
from alice.plugins.provenance import describe
from alice.plugins.runner import compute, unread
from alice.reports import Result
from alice.reports.encoding import pack_arrays, tensors_hash
from alice.reports.verify.compare import Comparison, compare
from alice.reports.verify.page_check import other_versions
from alice.reports.verify.subject import Subject
from alice.timing import cores, using_threads
from alice.verifying.inputs import Inputs

KINDS_OF_TEXTS = {"texts": "texts", "training_texts": "training texts"}
TEXTS = ("split", "texts", "sha256", "training_texts", "training_sha256")
"""What a provenance says about the texts that a model read, apart from where they lie."""


def run_again(subject: Subject, inputs: Inputs) -> tuple[Result, Comparison]:
    """Run the analysis of a report again, with as many threads as then, and compare."""
    about, ctx = subject.report.provenance, unread(inputs.ctx)
    with _threads_of(about):
        after = compute(inputs.analysis, _as_then(inputs.analysis, ctx, about))
    found = compare(
        subject.report.result,
        after,
        timings=timings_of(type(inputs.analysis)),
        arrays=subject.stored,
        design=not other_versions(subject.report),
    )
    if not subject.stored:
        found.notes += _compare_hashes(subject, after, found)
    if not timings_of(type(inputs.analysis)):  # an analysis with a time limit may read more or fewer texts each time
        found.different += _other_texts(about, describe(inputs.analysis, ctx, inputs.plugin)["data"])
    return after, found


def _other_texts(about: Mapping[str, Any], read: list[Mapping[str, Any]]) -> Iterator[str]:
    """Say where a report names other texts than those that the analysis read."""
    stated = about.get("data")
    entries = [one for one in stated if isinstance(one, Mapping)] if isinstance(stated, list) else []
    before, now = ({one.get("model"): one for one in data} for data in (entries, read))
    for model in dict.fromkeys([*before, *now]):
        one, other = (data.get(model, {}) for data in (before, now))
        if any(one.get(key) != other.get(key) for key in TEXTS):
            yield f"texts of {model!s:.60}: the report names {_counted(one)}, and the analysis reads {_counted(other)}"


def _counted(entry: Mapping[str, Any]) -> str:
    counts = [f"{entry[key]!s:.20} {kind}" for key, kind in KINDS_OF_TEXTS.items() if key in entry]
    return " and ".join(counts) or "none"


def _as_then(analysis: Analysis, ctx: RunContext, about: Mapping[str, Any]) -> RunContext:
    """Return the context with one worker if there were workers: any number of them gives the same result."""
    return ctx.divided(1) if _machine(about).get("workers") is not None and can_be_divided(type(analysis)) else ctx


@contextmanager
def _threads_of(about: Mapping[str, Any]) -> Iterator[None]:
    """Use as many threads as a report was made with, if this machine has as many cores."""
    threads = _machine(about).get("threads")
    if isinstance(threads, int) and not isinstance(threads, bool) and 1 <= threads <= cores():
        with using_threads(threads):
            yield
    else:
        yield


def _machine(about: Mapping[str, Any]) -> Mapping[str, Any]:
    machine = about.get("machine")
    return machine if isinstance(machine, Mapping) else {}


def _compare_hashes(subject: Subject, after: Result, found: Comparison) -> Iterator[str]:
    """Compare arrays and artefacts of which a page has only hashes; another hash may be due to the last digit."""
    kinds = {name: f"{array.dtype} {array.shape}" for name, array in after.arrays.items()}
    stored = subject.embedded
    if kinds != dict(stored.arrays) or after.artefacts.keys() != stored.artefacts.keys():
        if not any(pattern.startswith("arrays") for pattern in found.left_out):
            found.different.append("arrays: their names, types or shapes differ")
        return
    hashes = {name: tensors_hash(tensors) for name, tensors in after.artefacts.items()}
    same = hashlib.sha256(pack_arrays(after.arrays)).hexdigest() == stored.arrays_sha256 and hashes == stored.artefacts
    if same:
        found.compared["arrays"] += len(after.arrays)
        found.compared["artefacts"] += len(after.artefacts)
        found.exact = not found.different and not found.moved
    elif kinds or hashes:
        yield "a page alone has only hashes of arrays and artefacts; they differ, as one digit of rounding makes them"
