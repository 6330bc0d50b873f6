"""The time that `alice-interp --help` takes, compared with an interpreter that does nothing."""

import subprocess
import sys
from collections.abc import Iterator

from alice.bench.measuring import Ratio, compare, take_turns
from alice.errors import AliceError

HELP = ["-m", "alice.cli", "--help"]
LOADED = "import sys; from alice.cli import main\ntry: main(['--help'])\nexcept SystemExit: pass\nprint(*sys.modules)"


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Start both programs in turns."""
    contestants = {"help": lambda: _run(HELP), "nothing": lambda: _run(["-c", "pass"])}
    times = take_turns(contestants, rounds=5 if quick else 20)
    if "torch" in _run(["-c", LOADED]).split():
        raise AliceError(
            "alice-interp --help imports torch; find the module that does and import torch inside a function"
        )
    yield compare("alice-interp --help", times, "help", "nothing", note="torch not imported")


def _run(arguments: list[str]) -> str:
    return subprocess.run([sys.executable, *arguments], check=True, capture_output=True, text=True).stdout
