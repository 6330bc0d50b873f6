"""Turns Ctrl-C and a polite kill into a question that a long loop can ask."""

import atexit
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class StopRequest:
    """Remembers the signal that asked to stop."""

    def __init__(self) -> None:
        self.signal = 0

    def __call__(self) -> bool:
        """Say whether to stop."""
        return self.signal != 0

    def _note(self, number: int, frame: FrameType | None) -> None:
        if self.signal:  # asked twice: the user does not want to wait
            raise KeyboardInterrupt
        self.signal = number


@contextmanager
def stop_on_signals() -> Iterator[StopRequest]:
    """Note SIGINT and SIGTERM instead of dying of them while the context lasts; a second one interrupts at once."""
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

    With `also_at_exit` the end of the program is not disturbed either, which takes a while once torch is loaded.
    """
    if threading.current_thread() is not threading.main_thread():  # only that one is ever interrupted
        yield
        return
    if also_at_exit:
        atexit.register(signal.signal, signal.SIGINT, signal.SIG_IGN)
    before = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
