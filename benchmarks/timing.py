"""Timing side by side: the contestants take turns, so that what else the machine does hits all of them alike."""

import ctypes
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from alice.bench.ratio import Ratio
from alice.timing import using_threads

Times = dict[str, list[float]]


@contextmanager
def one_core() -> Iterator[None]:
    """Compute with one thread, and have the C library keep freed memory instead of faulting it in again.

    Otherwise the order in which tensors are freed decides how many page faults a contestant pays for, which can be a
    tenth of a large batch's time and has nothing to do with what is compared. Without glibc only the threads are set.
    """
    library = ctypes.CDLL(None)
    if hasattr(library, "mallopt"):
        trim, mmap, plenty = -1, -3, 2**30
        library.mallopt(trim, plenty)
        library.mallopt(mmap, plenty)
    with using_threads(1):
        yield


def take_turns(contestants: Mapping[str, Callable[..., object]], *, rounds: int) -> Times:
    """Return seconds of every contestant for every round, after one round to warm up."""
    times: Times = {name: [] for name in contestants}
    for turn in range(rounds + 1):
        for name, work in contestants.items():
            begun = time.perf_counter()
            work()
            if turn:
                times[name].append(time.perf_counter() - begun)
    return times


def compared(case: str, times: Times, above: str, below: str, *, factor: float = 1.0, note: str = "") -> Ratio:
    """Return one contestant's time over another's: the median over the rounds and its quartiles, times a factor."""
    ratios = factor * np.array(times[above]) / np.array(times[below])
    low, middle, high = (float(value) for value in np.quantile(ratios, [0.25, 0.5, 0.75]))
    return Ratio(case, middle, low, high, note)
