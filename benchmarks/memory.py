"""Peak memory of an analysis over many texts against that over few, each in a process of its own.

The model is of the preset `mini` and has random weights.
"""

import resource
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from alice.bench.ratio import Ratio

TIMES = 10


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare early exit over ten times as many texts."""
    from alice.plugins.conformance import tiny_texts

    few = 500 if quick else 2000
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "texts.txt"
        file.write_text("\n".join(tiny_texts(TIMES * few)) + "\n")
        low, high = (_in_new_process(file, count) for count in (few, TIMES * few))
    note = f"{high / 1024:.0f} MB / {low / 1024:.0f} MB"
    yield Ratio.exactly(f"early-exit, {TIMES * few:,} / {few:,} texts", high / low, note)


def _in_new_process(file: Path, count: int) -> int:
    """Return the peak in KB over so many texts."""
    command = [sys.executable, "-m", __name__, str(file), str(count)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout.split()[-1])


def _peak(file: str, count: int) -> int:
    """Run the analysis here and return the peak of this process in KB."""
    import torch

    from alice.model import Alice
    from alice.plugins import RunContext
    from alice.plugins.builtin.early_exit import EarlyExit
    from alice.plugins.runner import run_analysis
    from alice.timing import using_threads
    from alice.training.presets import model_config

    torch.manual_seed(0)
    ctx = RunContext.open(Alice(model_config("mini")), data=file, split="all")
    with tempfile.TemporaryDirectory() as out, using_threads(1):
        run = run_analysis(EarlyExit(samples=count), ctx, out=out)
    read = run.result.metrics["texts"]
    if read != count:
        raise RuntimeError(f"{read} texts were read instead of {count}")
    return peak_of_this_process()


def peak_of_this_process() -> int:
    """Return the most memory that this process held so far, in KB.

    What `getrusage` says on Linux begins with the memory of whoever started the process, so it is not asked there.
    """
    status = Path("/proc/self/status")
    if status.exists():
        return int(next(line for line in status.read_text().splitlines() if line.startswith("VmHWM:")).split()[1])
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    print(_peak(sys.argv[1], int(sys.argv[2])))
