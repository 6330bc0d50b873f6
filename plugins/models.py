"""A model with the name it was asked for by, and a hash that says which one it is."""

import json
from dataclasses import dataclass
from functools import cached_property
from hashlib import sha256
from pathlib import Path

from alice.model import Alice


@dataclass(frozen=True, eq=False)
class NamedModel:
    """A model in a run."""

    name: str
    """The checkpoint as reports call it."""
    model: Alice
    """The model, on its device, in eval mode."""

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 over the configuration and every weight as they were when it was first asked for."""
        return _hash(self.model)

    def is_unchanged(self) -> bool:
        """Say whether the weights are still those of the fingerprint; they are read anew, since `.data` hides edits."""
        return _hash(self.model) == self.fingerprint


def hooks_on(model: Alice) -> list[str]:
    """Return the names of the hook points that somebody has put a hook on."""
    return [name for name, point in model.hook_dict.items() if point.fwd_hooks or point.bwd_hooks]


def name_of(checkpoint: str | Path | Alice) -> str:
    """Return what to call a checkpoint: the name itself, or the last part of a path."""
    if isinstance(checkpoint, Alice):
        return checkpoint.config.variant
    return Path(checkpoint).expanduser().resolve().name if Path(checkpoint).is_dir() else str(checkpoint)


def _hash(model: Alice) -> str:
    """Hash the weights in fp32, so that it is the same in whichever file they came."""
    digest = sha256(json.dumps(model.config.to_dict(), sort_keys=True).encode())
    for name, tensor in sorted(model.state_dict().items()):
        digest.update(f"{name} {tuple(tensor.shape)}".encode())
        digest.update(tensor.detach().cpu().float().contiguous().numpy().data)
    return digest.hexdigest()
