"""Peak memory of an analysis over many texts against that over few: `python benchmarks/memory.py`.

Each is measured in a process of its own, with a model of the preset `mini` that has random weights. Memory must not
grow with the number of texts: the ratio is to be at most 1.2.
"""

import argparse
import resource
import subprocess
import sys
import tempfile
from pathlib import Path

FEW, MANY, TARGET = 2_000, 20_000, 1.2


def main() -> None:
    """Measure both and print the ratio; fail if it is beyond the target."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--measure", type=int, metavar="TEXTS", help="run over so many texts and print the peak in KB")
    parser.add_argument("--texts", type=Path, help="file with the texts")
    arguments = parser.parse_args()
    if arguments.measure:
        print(measure(arguments.texts, arguments.measure))
        return
    with tempfile.TemporaryDirectory() as folder:
        file = write_texts(Path(folder) / "texts.txt", MANY)
        few, many = (in_new_process(file, count) for count in (FEW, MANY))
    ratio = many / few
    print(f"early-exit, peak memory: {FEW:,} texts {few / 1024:.0f} MB, {MANY:,} texts {many / 1024:.0f} MB")
    print(f"ratio {ratio:.3f} (target: at most {TARGET})")
    sys.exit(ratio > TARGET)


def write_texts(file: Path, count: int) -> Path:
    """Write different texts of common words, one per line."""
    from alice.plugins.conformance import tiny_texts

    file.write_text("\n".join(tiny_texts(count)) + "\n")
    return file


def in_new_process(file: Path, count: int) -> int:
    """Return the peak in KB over so many texts."""
    command = [sys.executable, __file__, "--measure", str(count), "--texts", str(file)]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def measure(file: Path, count: int) -> int:
    """Run the analysis here and return the peak of this process in KB."""
    import torch

    torch.set_num_threads(1)
    from alice.model import Alice
    from alice.plugins import RunContext
    from alice.plugins.builtin.early_exit import EarlyExit
    from alice.plugins.runner import run_analysis
    from alice.presets import model_config

    torch.manual_seed(0)
    ctx = RunContext.open(Alice(model_config("mini")), data=str(file), split="all")
    with tempfile.TemporaryDirectory() as out:
        run = run_analysis(EarlyExit(samples=count), ctx, out=out)
    assert run.result.metrics["texts"] == count
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


if __name__ == "__main__":
    main()
