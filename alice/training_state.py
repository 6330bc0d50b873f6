"""All that a run needs to go on, in one file that is replaced as a whole."""

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Self

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor

from alice.checkpoint import write_tensors
from alice.errors import AliceError

STATE = "training-state.safetensors"


@dataclass
class Counters:
    """How far a run has come."""

    step: int = 0
    """Steps done."""
    tokens: int = 0
    """Characters seen, padding not counted."""
    seconds: float = 0.0
    """Time spent, over all parts of the run."""
    loss_sum: float = 0.0
    """Loss of this process since the last line of the log, summed over characters."""
    loss_tokens: int = 0
    """Characters since the last line of the log."""


@dataclass(frozen=True)
class TrainingState:
    """Counters and named tensors, grouped by a prefix: `weights/`, `optimizer/`, `ema/`, `rng/`."""

    counters: Counters
    tensors: dict[str, Tensor]

    def group(self, prefix: str) -> dict[str, Tensor]:
        """Return the tensors of one group under their own names."""
        start = f"{prefix}/"
        return {name.removeprefix(start): tensor for name, tensor in self.tensors.items() if name.startswith(start)}

    def write(self, folder: Path) -> None:
        """Replace the state of the run folder; a crash in the middle leaves the older one."""
        write_tensors(folder / STATE, self.tensors, {"counters": json.dumps(asdict(self.counters))})

    @classmethod
    def read(cls, folder: Path) -> Self:
        """Read the state of a run folder."""
        try:
            with safe_open(folder / STATE, framework="pt") as file:
                counters = Counters(**json.loads(file.metadata()["counters"]))
                return cls(counters, {name: file.get_tensor(name) for name in file.keys()})  # noqa: SIM118
        except FileNotFoundError as error:
            raise AliceError(f"{folder} has no {STATE}; there is nothing to resume: start without --resume") from error
        except (SafetensorError, OSError, ValueError, KeyError, TypeError) as error:
            raise AliceError(f"{folder / STATE} cannot be read ({error}); start a new run from its weights") from error


def rng_tensors() -> dict[str, Tensor]:
    """Return the state of torch's dice, for every device in use."""
    states = {"cpu": torch.get_rng_state()}
    if torch.cuda.is_available():
        states |= {f"cuda{i}": state for i, state in enumerate(torch.cuda.get_rng_state_all())}
    return states


def restore_rng(states: dict[str, Tensor]) -> None:
    """Put torch's dice back."""
    torch.set_rng_state(states["cpu"])
    cuda = [state for name, state in sorted(states.items()) if name.startswith("cuda")]
    if cuda and torch.cuda.device_count() == len(cuda):
        torch.cuda.set_rng_state_all(cuda)
