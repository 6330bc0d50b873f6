"""Peak memory of an analysis over many texts relative to few, each in its own process.

The model has the size of the preset `mini` and random weights.
"""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a process that is measured imports only what it uses
    from alice.bench.measuring import Ratio

TIMES = 10


def measure(*, quick: bool) -> "Iterator[Ratio]":
    """Compare early exit over ten times as many texts."""
    from alice.bench.measuring import Ratio
    from alice.plugins.conformance import tiny_texts

    few = 500 if quick else 2000
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.txt"
        file.write_text("\n".join(tiny_texts(TIMES * few)) + "\n")
        low, high = (_in_new_process(file, count) for count in (few, TIMES * few))
    note = f"{high / 1024:.0f} MB / {low / 1024:.0f} MB"
    yield Ratio.exactly(f"early-exit, {TIMES * few:,} / {few:,} texts", high / low, note)


def _in_new_process(file: Path, count: int) -> int:
    """Return the peak memory over `count` texts, in KB."""
    command = [sys.executable, "-m", __name__, str(file), str(count)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def _peak(file: str, count: int) -> int:
    """Run the analysis in this process and return its peak memory in KB."""
    import torch

    from alice.model import Alice
    from alice.plugins import RunContext
    from alice.plugins.builtin.early_exit import EarlyExit
    from alice.plugins.runner import run_analysis
    from alice.timing import using_threads
    from alice.training import model_config

    torch.manual_seed(0)
    ctx = RunContext.open(Alice(model_config("mini")), data=file, split="all")
    with tempfile.TemporaryDirectory() as out, using_threads(1):
        report = run_analysis(EarlyExit(samples=count), ctx, out=out)
    read = report.metric("texts").value
    if read != count:
        raise RuntimeError(f"{read} texts were read instead of {count}")
    return peak_of_this_process()


def peak_of_this_process() -> int:
    """Return the peak memory of this process so far, in KB.

    On Linux, `getrusage` starts from the memory of the parent process, so `/proc` is read instead.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:")).split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    print(_peak(sys.argv[1], int(sys.argv[2])))
