"""Runs every analysis of `run all` over many texts, in a process whose memory is measured from outside."""

import os
import re
import time
from collections.abc import Iterator
from dataclasses import fields
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import torch

from alice.plugins import RunContext
from alice.plugins.analysis import is_for_all
from alice.plugins.conformance import TRAINING_TEXTS, tiny_model, tiny_texts
from alice.plugins.manager import build
from alice.plugins.runner import run_analysis

LEFT_OUT = {"speed", "disagreement"}
"""They solve their texts one at a time, many times over; more texts only take more time."""
QUICK: dict[str, dict[str, Any]] = {
    "probe": {"repeats": 1, "kind": "linear", "target": ("vowel",)},
    "ngram": {"epochs": 1, "hidden": 16},
    "errors-by-length": {"solver_texts": 2},
    "relabelling": {"relabellings": 2},
    "ablation": {"pairs": 0, "permutations": 10},
    "patching": {"map_samples": 2},
    "lens": {"training_texts": 8, "directions": 3, "causal_samples": 2},
    "features": {"training": 24, "fitting": 8, "seeds": 1, "shown": 2, "expansion": 2},
}
"""Options that save time and are independent of the number of texts."""
SECONDS_BETWEEN_LOOKS = 0.05


def read_all(place: Path, count: int) -> None:
    """Run every analysis over `count` texts and log how many texts each has read."""
    torch.set_num_threads(1)
    os.environ["ALICE_INTERP_CACHE"] = str(place / "cache")
    data = [*tiny_texts(count), *tiny_texts(TRAINING_TEXTS, seed=1)]
    ctx = RunContext.open(tiny_model("base"), data=data, split="all", samples=count)
    for name, cls in build().analyses.items():
        if is_for_all(cls) and name not in LEFT_OUT:
            limit = {"samples": count} if "samples" in {field.name for field in fields(cls)} else {}
            started = time.monotonic()
            report = run_analysis(cls(**limit, **QUICK.get(name, {})), ctx, out=place / "runs")
            line = f"{name}: {report.provenance['data'][0]['texts']} texts, {time.monotonic() - started:.0f} s\n"
            with (place / "read.txt").open("a") as file:
                file.write(line)


def watch(process: BaseProcess) -> Iterator[int]:
    """Yield the private memory of a process in bytes, repeatedly until it ends.

    Memory-mapped files, such as those of the activation store, do not count: the system can reclaim them.
    """
    while process.is_alive():
        try:
            status = Path(f"/proc/{process.pid}/status").read_text()
        except (FileNotFoundError, ProcessLookupError):
            return
        if found := re.search(r"RssAnon:\s+(\d+) kB", status):
            yield 1024 * int(found[1])
        time.sleep(SECONDS_BETWEEN_LOOKS)
