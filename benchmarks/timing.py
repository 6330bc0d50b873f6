"""Timing side by side: the contestants take turns, so that what else the machine does hits all of them alike."""

import statistics
import time
from collections.abc import Callable


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
