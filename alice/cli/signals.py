"""Turns Ctrl-C and a polite kill into one line, or into a question that a long loop can ask."""

import atexit
import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_SLOW = ("torch", "transformer_lens", "accelerate")
"""Packages that take seconds to import. Torch's C++ code ends with an abort if an exception comes through it."""


def interrupt(number: int, frame: FrameType | None = None) -> None:
    """Raise what ends the program in good order, or end it on the spot while nothing is begun."""
    if any(getattr(getattr(sys.modules.get(name), "__spec__", None), "_initializing", False) for name in _SLOW):
        leave(number)
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise SystemExit(128 + number)


def leave(number: int, frame: FrameType | None = None) -> None:
    """End the program on the spot, with one line."""
    os.write(2, b"\n" * os.isatty(2) + b"alice-interp: interrupted\n")  # a terminal has just written ^C on this line
    os._exit(128 + number)


class StopRequest:
    """Remembers the signal that asked a loop to stop, once the loop goes round.

    A loop asks before its first round and after each. Until it has asked twice it may not ask again for long: a
    training reads its corpus first and compiles in its first step. There is nothing to save yet, so that a signal then
    interrupts at once.
    """

    def __init__(self) -> None:
        self.signal = 0
        self._questions = 0

    def __call__(self) -> bool:
        """Say whether to stop."""
        self._questions += 1
        return self.signal != 0

    def begin(self) -> None:
        """Expect another loop."""
        self._questions = 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal or self._questions < 2:
            interrupt(number, frame)
        self.signal = number


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Note SIGINT and SIGTERM for a loop to hear while the context lasts; a second one interrupts at once."""
    request = StopRequest()
    before = {number: signal.signal(number, request._note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield request
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


@contextmanager
def no_interrupts(*, also_at_exit: bool = False) -> Iterator[None]:
    """Pass over SIGINT while the context lasts, for the few lines that must not be disturbed.

    With `also_at_exit` one that comes while the program ends, which takes a while once torch is loaded, makes it end on
    the spot and without a word.
    """
    if threading.current_thread() is not threading.main_thread():  # only that one is ever interrupted
        yield
        return
    if also_at_exit:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_DFL)
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
