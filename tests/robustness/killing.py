"""Starts jobs in processes of their own and kills them.

A fork server imports everything once, so that starting a job takes a fraction of a second.
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
"""Whether to run the long form of these tests."""
KILLS = 50 if LONG else 3
SECONDS_TO_START = 300
WRITES = {"open", "os.rename", "os.remove", "os.rmdir", "os.mkdir"}
"""Audit events of Python that change a disk; `open` also reads."""

_FORKING = get_context("forkserver")
_FORKING.set_forkserver_preload(["robustness.jobs"])


def start(job: Callable[..., None], *args: Any) -> BaseProcess:
    """Start a job in its own process and return when it has begun."""
    begun = _FORKING.Event()
    process = _FORKING.Process(target=_begin, args=(begun, job, *args))
    process.start()
    assert begun.wait(SECONDS_TO_START), "the job did not begin"
    return process


def finish(job: Callable[..., None], *args: Any) -> float:
    """Run a job to its end in its own process and return the seconds it took."""
    process = start(job, *args)
    begun = time.monotonic()
    process.join()
    assert process.exitcode == 0, f"{job.__name__} failed"
    return time.monotonic() - begun


def kill_within(seconds: float, rng: np.random.Generator, job: Callable[..., None], *args: Any) -> bool:
    """Start a job and kill it at a random moment; return whether it was still running."""
    process = start(job, *args)
    process.join(rng.uniform(0, seconds))
    process.kill()
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), f"{job.__name__} failed"
    return process.exitcode != 0


def kill_at(write: int, place: Path, job: Callable[..., None]) -> bool:
    """Start a job that is killed just before its nth write below a folder; return whether it got that far."""
    process = start(die_at, write, place, job)
    process.join()
    assert process.exitcode in (0, -signal.SIGKILL), f"{job.__name__} failed"
    return process.exitcode != 0


def die_at(write: int, place: Path, job: Callable[..., None]) -> None:
    """Run a job and kill this process just before its nth write below a folder."""
    seen = 0

    def count(event: str, args: tuple[Any, ...]) -> None:
        nonlocal seen
        if event not in WRITES or not str(args[0]).startswith(str(place)) or (event == "open" and args[1] == "r"):
            return
        seen += 1
        if seen == write:
            os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(count)
    job(place)


def _begin(begun: Any, job: Callable[..., None], *args: Any) -> None:
    begun.set()
    job(*args)


def temporary_files(place: Path) -> list[Path]:
    """Return everything with a temporary name below a folder."""
    return [path for path in place.rglob("*") if path.name.endswith(".alice-interp-draft")]
