"""Timing side by side: the contestants take turns, so that what else the machine does hits all of them alike."""

import ctypes
import statistics
import time
from collections.abc import Callable


def keep_memory() -> None:
    """Have the C library keep freed memory instead of giving it back and faulting it in again.

    Otherwise the order in which tensors are freed decides how many page faults a contestant pays for, which can be a
    tenth of a large batch's time and has nothing to do with what is compared. Without glibc this does nothing.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        trim, mmap, plenty = -1, -3, 2**30
        library.mallopt(trim, plenty)
        library.mallopt(mmap, plenty)


def take_turns(contestants: dict[str, Callable[[], object]], *, rounds: int = 30) -> dict[str, list[float]]:
    """Return seconds of every contestant for every round, after one round to warm up."""
    times: dict[str, list[float]] = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, work in contestants.items():
            begun = time.perf_counter()
            work()
            if turn:
                times[name].append(time.perf_counter() - begun)
    return times


def ratio(times: dict[str, list[float]], above: str, below: str) -> float:
    """Return the median over the rounds of one contestant's time over another's."""
    return statistics.median(a / b for a, b in zip(times[above], times[below], strict=True))
