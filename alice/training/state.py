"""Everything a training needs to resume, in one file that is replaced atomically."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Self

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from alice.checkpoint import write_weights
from alice.checkpoint.folder import shown
from alice.errors import AliceError, one_line
from alice.files import parse_json, regular_file
from alice.training.recipe import LARGEST_NUMBER

STATE = "training-state.safetensors"
LARGEST_COUNT = 10**18
"""Bound of every counter except the operations, far beyond any training."""


@dataclass
class Counters:
    """How far a training has come."""

    step: int = 0
    """Steps done."""
    tokens: int = 0
    """Characters seen, excluding padding."""
    seconds: float = 0.0
    """Time spent, over all parts of the training."""
    core_seconds: float = 0.0
    """Time spent multiplied by the CPU cores or accelerators in use."""
    flops: float = 0.0
    """Operations of the matrix products, forward and backward; older trainings did not count them from the start."""
    loss_sum: float = 0.0
    """Loss since the last line of the log, summed over characters."""
    loss_tokens: int = 0
    """Characters since the last line of the log."""

    def check(self) -> Self:
        """Return the counters; raise if one that was read from a file is impossible."""
        for field in fields(self):
            value, wanted = getattr(self, field.name), (int, float) if isinstance(field.default, float) else int
            largest = LARGEST_NUMBER if field.name == "flops" else LARGEST_COUNT
            if isinstance(value, bool) or not isinstance(value, wanted) or not 0 <= value <= largest:
                raise ValueError(f"{field.name} is {value!r:.60}")
        return self


@dataclass(frozen=True)
class TrainingState:
    """Counters and named tensors, grouped by a prefix: `weights/`, `optimizer/`, `ema/`, `rng/`."""

    counters: Counters
    tensors: dict[str, Tensor]

    def group(self, prefix: str) -> dict[str, Tensor]:
        """Return the tensors of one group, without the prefix in their names."""
        start = f"{prefix}/"
        return {name.removeprefix(start): tensor for name, tensor in self.tensors.items() if name.startswith(start)}

    def write(self, folder: Path) -> None:
        """Replace the state in a training folder atomically, unless a value is not finite."""
        write_weights(folder / STATE, self.tensors, {"counters": json.dumps(asdict(self.counters))})

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the state from a training folder."""
        with _opened(folder) as file:
            state = cls(_counters(file), {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
            for name, tensor in state.tensors.items():
                if not tensor.isfinite().all():
                    raise ValueError(f"{shown(name)} has values that are not finite")
        return state


def read_counters(folder: Path) -> Counters:
    """Read only the counters of the state in a training folder."""
    with _opened(folder) as file:
        return _counters(file)


@contextmanager
def _opened(folder: Path) -> Iterator[Any]:
    """Open the state of a training folder; raise AliceError if it cannot be read."""
    try:
        with safe_open(regular_file(folder / STATE), framework="pt") as file:
            yield file
    except FileNotFoundError as error:
        raise AliceError(f"{folder} has no {STATE}, so it cannot be resumed; start without --resume") from error
    except (SafetensorError, OSError, ValueError, KeyError, TypeError, NotImplementedError) as error:
        raise AliceError(
            f"{folder / STATE} cannot be read ({one_line(error):.200}); start a new training from the weights, "
            f"with --init {folder}"
        ) from error


def _counters(file: Any) -> Counters:
    return Counters(**parse_json(file.metadata()["counters"])).check()


def rng_tensors(device: torch.device) -> dict[str, Tensor]:
    """Return the RNG state of this process: of the CPU, and of its CUDA device if it uses one."""
    states = {"cpu": torch.get_rng_state()}
    if device.type == "cuda":
        states["cuda"] = torch.cuda.get_rng_state(device)
    return states


def restore_rng(states: dict[str, Tensor], device: torch.device) -> None:
    """Restore the RNG state of this process."""
    torch.set_rng_state(states["cpu"])
    if device.type == "cuda" and "cuda" in states:
        torch.cuda.set_rng_state(states["cuda"], device)
