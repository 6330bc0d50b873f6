"""The program `alice-interp`, the same as `python -m alice.cli`: Ctrl-C is one line from the first moment on."""

import signal
import sys
from io import TextIOWrapper
from pathlib import Path

from alice.cli.signals import interrupt, leave


def run() -> None:
    """Load the command line and hand over to it; until then nothing is begun, and Ctrl-C leaves at once."""
    heeded = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # not so in a shell's background jobs
    if heeded:
        signal.signal(signal.SIGINT, leave)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a character that a terminal does not know is written as its number
            stream.reconfigure(errors="backslashreplace")
    from alice.cli.lazy import PROGRAM
    from alice.cli.root import main

    try:
        Path.cwd()
    except FileNotFoundError:
        sys.exit(f"{PROGRAM}: error: the folder you are in was removed; go to another one")

    if heeded:
        signal.signal(signal.SIGINT, interrupt)
    main(prog_name=PROGRAM)


if __name__ == "__main__":
    run()
