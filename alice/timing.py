"""Timing of work: a stopwatch, a number of threads for a while, and how many cores there are."""

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
"""The clock that everything is timed by, in seconds."""
processor_now = time.process_time
"""The seconds that cores have worked for this process."""


class Stopwatch:
    """Adds up the seconds spent inside `with watch:` and in the functions that it watches.

    `seconds` are those of the clock, `processor` those that the cores of the machine gave to this process meanwhile.
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
        """Return a function that does the same on this watch."""

        @wraps(function)
        def watched(*args: P.args, **kwargs: P.kwargs) -> T:
            if torch.cuda.is_available():  # work that is still under way there is not this function's
                torch.cuda.synchronize()
            with self:
                return function(*args, **kwargs)

        return watched


def cores() -> int:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


@contextmanager
def using_threads(count: int) -> Iterator[None]:
    """Have torch compute with so many threads for a while, whatever happens meanwhile."""
    before = torch.get_num_threads()
    torch.set_num_threads(count)
    try:
        yield
    finally:
        torch.set_num_threads(before)
