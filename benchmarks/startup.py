"""How long a user waits for the help: against an interpreter that does nothing."""

import subprocess
import sys
from collections.abc import Iterator

from alice.bench.ratio import Ratio
from alice.bench.timing import compared, take_turns
from alice.errors import AliceError

HELP = ["-m", "alice.cli", "--help"]
LOADED = "import sys; from alice.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\nprint(*sys.modules)"


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare two programs, started by turns."""
    contestants = {"help": lambda: _run(HELP), "nothing": lambda: _run(["-c", "pass"])}
    times = take_turns(contestants, rounds=5 if quick else 20)
    if "torch" in _run(["-c", LOADED]).split():
        raise AliceError("alice-interp --help imports torch; find out which module does, before any time is measured")
    yield compared("alice-interp --help", times, "help", "nothing", note="torch not imported")


def _run(arguments: list[str]) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout
