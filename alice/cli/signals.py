"""Ctrl-C and SIGTERM: one line instead of a traceback, and a request that a long loop can answer between rounds."""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SLOW = ("torch", "transformer_lens", "accelerate")
"""Packages that take seconds to import. Torch aborts if an exception passes through its C++ code meanwhile."""


def interrupt(number: int, frame: FrameType | None = None) -> None:
    """Raise the exception that ends the program, or exit at once while a slow package is being imported."""
    if any(getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False) for name in _SLOW):
        leave(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def leave(number: int, frame: FrameType | None = None) -> None:
    """Exit at once, with one line."""
    os.write(2, b"\n" * os.isatty(2) + b"alice-interp: interrupted\n")  # a terminal has just printed ^C on this line
    os._exit(128 + number)


class StopRequest:
    """Tells a loop that a signal asked it to stop; the loop calls it after each round.

    The first call says that the loop is running. Before that, while a training reads its corpus and compiles its first
    step, there is nothing to save, and a signal interrupts at once. So does a second signal.
    """

    def __init__(self) -> None:
        self.signal = 0
        self._running = False

    def __call__(self) -> bool:
        """Say whether to stop."""
        self._running = True
        return self.signal != 0

    def begin(self) -> None:
        """Reset before the next loop: until it calls, signals interrupt at once."""
        self._running = False

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.signal or not self._running:
            interrupt(number, frame)
        self.signal = number


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Turn SIGINT and SIGTERM into a stop request for the loop in this block."""
    request = StopRequest()
    before = {number: signal.signal(number, request._handle) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def no_interrupts(*, also_at_exit: bool = False) -> Iterator[None]:
    """Ignore SIGINT during a block of a few lines that must complete.

    With `also_at_exit`, a SIGINT while Python shuts down, which takes a while once torch is loaded, ends the program
    silently.
    """
    if threading.current_thread() is not threading.main_thread():  # Python delivers signals to the main thread only
        yield
        return
    if also_at_exit:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_DFL)
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
