"""Where a model computes: the accelerator if there is one, unless the caller names a device."""

import torch


def default_device() -> torch.device:
    """Return the CUDA device if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")
