"""The program `alice-interp`, also `python -m alice.cli`: Ctrl-C gives one line from the start."""

import signal
import sys
from io import TextIOWrapper
from pathlib import Path

from alice.cli.signals import interrupt, leave


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
    main(prog_name=PROGRAM)


if __name__ == "__main__":
    run()
