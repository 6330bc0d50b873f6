"""Measures in a separate process whether bf16 or fp32 is faster on this machine.

The type of CPU does not tell: bf16 can be many times faster than fp32 or thirty times slower, and on a virtual machine
that hides its matrix units the first bf16 product kills the process with an illegal instruction.
"""

import json
import subprocess
import sys
from dataclasses import dataclass

from alice.model import ModelConfig

ENOUGH_FASTER = 1.3
"""Speed-up from which bf16 is worth its rounding."""

_TRIAL = """
import json, sys, time, torch
kind, device, rows, inner, columns = sys.argv[1], sys.argv[2], *map(int, sys.argv[3:6])
dtype = {"fp32": torch.float32, "bf16": torch.bfloat16}[kind]
a, b = torch.randn(rows, inner, device=device).to(dtype), torch.randn(inner, columns, device=device).to(dtype)
wait = (lambda: None) if device == "cpu" else getattr(torch, device.partition(":")[0]).synchronize
best = float("inf")
for _ in range(5):
    start = time.perf_counter(); a @ b; wait(); best = min(best, time.perf_counter() - start)
print(json.dumps(2 * rows * inner * columns / best / 1e9))
"""


@dataclass(frozen=True)
class Choice:
    """The precision to train in, and the reason as a sentence."""

    precision: str
    reason: str


def choose(config: ModelConfig, device: str, tokens: int) -> Choice:
    """Multiply matrices of the model's shapes in fp32 and bf16 and choose the faster one."""
    rates = {kind: _rate(kind, device, tokens, config) for kind in ("fp32", "bf16")}
    fp32, bf16 = rates["fp32"], rates["bf16"]
    if bf16 is None or fp32 is None:
        return Choice("fp32", "bf16 matrix products do not run on this machine")
    measured = f"bf16 runs at {bf16:.0f} GFLOP/s and fp32 at {fp32:.0f}"
    if bf16 >= ENOUGH_FASTER * fp32:
        return Choice("bf16", f"{measured} on this machine")
    return Choice("fp32", f"{measured} on this machine, and bf16 must be {ENOUGH_FASTER} times faster to be chosen")


def _rate(kind: str, device: str, tokens: int, config: ModelConfig) -> float | None:
    """Return the GFLOP/s of one product, or None if the process crashed or hung."""
    shape = [str(tokens), str(config.d_model), str(2 * config.d_mlp)]
    command = [sys.executable, "-c", _TRIAL, kind, device, *shape]
    try:
        trial = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)  # noqa: S603
        return float(json.loads(trial.stdout))
    except (subprocess.SubprocessError, ValueError):
        return None
