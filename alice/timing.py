"""Timing: a stopwatch, the number of threads, and the number of cores."""

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import wraps
from typing import ParamSpec, Self, TypeVar

import torch

P = ParamSpec("P")
T = TypeVar("T")

now = time.perf_counter
"""The clock, in seconds."""
processor_now = time.process_time
"""CPU seconds of this process, over all cores."""


class Stopwatch:
    """Sums the time spent inside `with watch:` and in the functions that it watches.

    `seconds` is wall-clock time, `processor` the CPU time of this process.
    """

    def __init__(self) -> None:
        self.seconds = self.processor = 0.0
        self._begun = self._processor_begun = 0.0

    def __enter__(self) -> Self:
        self._begun, self._processor_begun = now(), processor_now()
        return self

    def __exit__(self, *_: object) -> None:
        self.seconds += now() - self._begun
        self.processor += processor_now() - self._processor_begun

    def watching(self, function: Callable[P, T]) -> Callable[P, T]:
        """Return a timed version of a function."""

        @wraps(function)
        def watched(*args: P.args, **kwargs: P.kwargs) -> T:
            if torch.cuda.is_available():  # do not time work that was queued before
                torch.cuda.synchronize()
            with self:
                return function(*args, **kwargs)

        return watched


def cores() -> int:
    """Return the number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Let torch use `count` threads within a `with` block."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
