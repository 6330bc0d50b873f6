"""Whether a model can be trained in the free memory, estimated before anything is allocated."""

import os
import resource
from pathlib import Path

import torch

from alice.errors import AliceError
from alice.model import ModelConfig

BYTES = 16
"""Per weight, in single precision: the weight, its gradient and the two moments of AdamW."""
AVERAGE_BYTES = 4
"""Per weight, for the moving average."""


def check_memory(model: ModelConfig, device: torch.device, *, averaged: bool) -> None:
    """Raise if weights, gradients and optimizer state alone need more memory than there is."""
    weights = model.block_weights + 2 * model.d_vocab * model.d_model
    needed, free = weights * (BYTES + AVERAGE_BYTES * averaged), free_memory(device)
    if needed > free:
        raise AliceError(
            f"training {weights:,} weights needs at least {needed / 1e9:,.1f} GB of memory, and {free / 1e9:,.1f} GB "
            "are free; choose a smaller preset or another machine"
        )


def free_memory(device: torch.device) -> int:
    """Return how many bytes this process can still allocate on a device."""
    if device.type == "cuda":
        return int(torch.cuda.mem_get_info(device)[0])
    limits = [_unused_by_all()]
    allowed = resource.getrlimit(resource.RLIMIT_AS)[0]
    if allowed != resource.RLIM_INFINITY:
        limits.append(max(0, allowed - _address_space()))
    return min(limits)


def _unused_by_all() -> int:
    """Return the memory that no process uses; on systems that do not report it, all memory."""
    try:
        lines = Path("/proc/meminfo").read_text(encoding="ascii").splitlines()
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("MemAvailable:"))
    except (OSError, ValueError, StopIteration):
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _address_space() -> int:
    """Return the size of this process's address space, which a limit on it counts."""
    try:
        return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return 0
