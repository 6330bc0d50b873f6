"""The program `alice-interp`, also `python -m alice.cli`: Ctrl-C gives one line from the start."""

import atexit
import os
import signal
import sys
import threading
from io import TextIOWrapper
from pathlib import Path

from alice.cli.signals import interrupt, leave

GRACE = 5.0
"""Seconds that the threads of a plugin may continue after the command has finished."""


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
        threading.Thread(target=_exit_after_grace, args=(code,), daemon=True).start()


def _exit_after_grace(code: object) -> None:
    """Exit if other threads keep the program alive; Python waits for all threads that are not daemons."""
    threading.Event().wait(GRACE)
    known = (threading.main_thread(), threading.current_thread())
    if others := [thread for thread in threading.enumerate() if not thread.daemon and thread not in known]:
        print(f"alice-interp: finished, stopping the thread {others[0].name}", file=sys.stderr, flush=True)
        atexit._run_exitfuncs()
        os._exit(code if isinstance(code, int) else int(code is not None))


if __name__ == "__main__":
    run()
