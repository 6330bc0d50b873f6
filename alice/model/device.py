"""Where a model computes: the accelerator if there is one, unless the caller names a device."""

import torch

from alice.errors import AliceError


def default_device() -> torch.device:
    """Return the CUDA device if there is one, else the CPU."""
    return torch.device("cuda" if torch.cuda.is_available() else "cpu")


def choose_device(device: torch.device | str | None = None) -> torch.device:
    """Return a device that can be used: the given one, or the default if None; raise if torch cannot allocate on it."""
    if device is None:
        return default_device()
    try:
        chosen = torch.device(device)
        torch.empty(1, device=chosen).item()  # fails on `meta`, too, which holds no numbers
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        reason = str(error).partition(". ")[0].partition("\n")[0][:120]
        raise AliceError(
            f"cannot compute on the device {str(device)!r} ({reason}); give another, such as cpu"
        ) from error
    return chosen
