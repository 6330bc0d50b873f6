"""Starts programs and interrupts them, for tests."""

import os
import signal
import subprocess
import sys
from pathlib import Path


def interrupt(place: Path, arguments: list[str], ready: str) -> tuple[int, str]:
    """Start a program, send SIGINT once it prints `ready`, and return its exit code and what it prints after that."""
    environment = os.environ | {"OMP_NUM_THREADS": "1"}
    with subprocess.Popen(
        [sys.executable, *arguments], cwd=place, env=environment, text=True, stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    ) as process:  # fmt: skip
        for line in process.stderr or ():
            if ready in line:
                break
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=300)
    return process.returncode, errors
