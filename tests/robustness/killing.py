"""Starts work in a process of its own, and kills it there.

All of it is imported once, into a process that does nothing but fork: so a start takes a fraction of a second.
"""

import os
import signal
import sys
import time
from collections.abc import Callable
from multiprocessing import get_context
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import numpy as np

LONG = os.environ.get("ALICE_LONG") == "1"
"""Whether these tests are run in their long form."""
KILLS = 50 if LONG else 6
SECONDS_TO_START = 300
WRITES = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir"}
"""Steps of Python's audit that change a disk, `open` among them also to read."""

_FORKING = get_context("forkserver")
_FORKING.set_forkserver_preload(["robustness.jobs"])


def start(work: Callable[..., None], *args: Any) -> BaseProcess:
    """Start some work in a process of its own, and return once it has begun."""
    begun = _FORKING.Event()
    process = _FORKING.Process(target=_begin, args=(begun, work, *args))
    process.start()
    assert begun.wait(SECONDS_TO_START), "the work did not begin"
    return process


def finish(work: Callable[..., None], *args: Any) -> float:
    """Let some work run to its end and return the seconds it took."""
    process = start(work, *args)
    begun = time.monotonic()
    process.join()
    assert process.exitcode == 0, f"{work.__name__} failed"
    return time.monotonic() - begun


def kill_within(seconds: float, rng: np.random.Generator, work: Callable[..., None], *args: Any) -> bool:
    """Start some work and kill it at a random moment; say whether it was still at work."""
    process = start(work, *args)
    process.join(rng.uniform(0, seconds))
    process.kill()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), f"{work.__name__} failed"
    return process.exitcode != 0


def kill_at(step: int, place: Path, work: Callable[..., None]) -> bool:
    """Start some work that is killed at a certain step of its writing below a folder; say whether it came so far."""
    process = start(die_at, step, place, work)
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), f"{work.__name__} failed"
    return process.exitcode != 0


def die_at(step: int, place: Path, work: Callable[..., None]) -> None:
    """Do some work, and die when it is about to change the disk below a folder for the nth time."""
    seen = 0

    def count(event: str, args: tuple[Any, ...]) -> None:
        nonlocal seen
        if event not in WRITES or not str(args[0]).startswith(str(place)) or (event == "open" and args[1] == "r"):
            return
        seen += 1
        if seen == step:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    work(place)


def _begin(begun: Any, work: Callable[..., None], *args: Any) -> None:
    begun.set()
    work(*args)


def drafts_in(place: Path) -> list[Path]:
    """Return everything with a temporary name, however deep."""
    return [path for path in place.rglob("*") if path.name.endswith(".tmp")]
