"""The program `alice-interp`, also `python -m alice.cli`: Ctrl-C gives one line from the start."""

import atexit
import os
import signal
import sys
import threading
from contextlib import suppress
from io import TextIOWrapper
from pathlib import Path
from typing import Any

from alice.cli.signals import interrupt, leave
from alice.files import remove_temporary

GRACE = 5.0
"""Seconds that what a plugin left behind may continue after the command has finished."""


def run() -> None:
    """Import the command line and start it; until it is imported, Ctrl-C exits at once."""
    handled = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # a shell's background jobs ignore it
    if handled:
        signal.signal(signal.SIGINT, leave)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # write characters that the terminal cannot encode as escapes
            stream.reconfigure(errors="backslashreplace")
    from alice.cli.root import PROGRAM, main

    try:
        Path.cwd()
    except OSError as error:
        sys.exit(f"{PROGRAM}: error: the current folder cannot be used ({error.strerror}); change to another one")

    if handled:
        signal.signal(signal.SIGINT, interrupt)
    code: object = 1
    try:
        main(prog_name=PROGRAM)
    except SystemExit as error:
        code = error.code
        raise
    finally:
        threading.Thread(target=_exit_after_grace, args=(code, _exit_begins()), daemon=True).start()


def _exit_begins() -> threading.Event:
    """Return an event that is set when Python has waited for all threads and calls the exit functions."""
    begun = threading.Event()
    atexit.register(begun.set)  # the last to be registered is called first
    return begun


def _exit_after_grace(code: object, exit_begun: threading.Event) -> None:
    """End a program that threads, exit functions or child processes of a plugin keep alive; Python waits for them."""
    threading.Event().wait(GRACE)
    others = [thread for thread in threading.enumerate() if thread is not threading.main_thread()]
    threads = [thread.name for thread in others if not thread.daemon]
    children = _children()
    what = "exit functions"
    if threads and not exit_begun.is_set():
        what = f"the thread {threads[0]}"
    elif children:
        what = f"the process {children[0].name}"
    print(f"alice-interp: finished, stopping {what}", file=sys.stderr)
    for child in children:
        child.terminate()
    if not exit_begun.is_set():
        functions = threading.Thread(target=atexit._run_exitfuncs, daemon=True)
        functions.start()
        functions.join(GRACE)
    elif children:
        threading.Event().wait(GRACE)  # the exit functions, which waited for them, go on and the program ends
    remove_temporary()
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):  # it is full, closed or absent
            stream.flush()
    os._exit(code if isinstance(code, int) else int(code is not None))


def _children() -> list[Any]:
    """Return the child processes that `multiprocessing` started, without importing it."""
    loaded = sys.modules.get("multiprocessing")
    return [] if loaded is None else loaded.active_children()


if __name__ == "__main__":
    run()
