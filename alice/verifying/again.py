"""Runs an analysis again and compares what it finds with a stored report."""

import hashlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from alice.plugins.analysis import can_be_divided, timings_of
from alice.plugins.context import RunContext
from alice.plugins.runner import compute
from alice.reports import Result
from alice.reports.encoding import pack_arrays, tensors_hash
from alice.reports.verify.compare import Comparison, compare
from alice.reports.verify.subject import Subject
from alice.timing import cores, using_threads
from alice.verifying.inputs import Inputs


def run_again(subject: Subject, inputs: Inputs) -> tuple[Result, Comparison]:
    """Run the analysis of a report again, with as many threads as then, and compare."""
    with _threads_of(subject.report.provenance):
        after = compute(inputs.analysis, _as_then(inputs, subject.report.provenance))
    found = compare(subject.report.result, after, timings=timings_of(type(inputs.analysis)), arrays=subject.stored)
    if not subject.stored:
        found.notes += _compare_hashes(subject, after, found)
    return after, found


def _as_then(inputs: Inputs, about: Mapping[str, Any]) -> RunContext:
    """Return the context with one worker if there were workers: any number of them gives the same result."""
    divided = _machine(about).get("workers") is not None and can_be_divided(type(inputs.analysis))
    return inputs.ctx.divided(1) if divided else inputs.ctx


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
