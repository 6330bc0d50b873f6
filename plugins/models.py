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
        """SHA-256 over the configuration and every weight in fp32, so it is the same in whichever file they came."""
        digest = sha256(json.dumps(self.model.config.to_dict(), sort_keys=True).encode())
        for name, tensor in sorted(self.model.state_dict().items()):
            digest.update(f"{name} {tuple(tensor.shape)}".encode())
            digest.update(tensor.detach().cpu().float().contiguous().numpy().data)
        return digest.hexdigest()


def name_of(checkpoint: str | Path | Alice) -> str:
    """Return what to call a checkpoint: the name itself, or the last part of a path."""
    if isinstance(checkpoint, Alice):
        return checkpoint.config.variant
    return Path(checkpoint).expanduser().resolve().name if Path(checkpoint).is_dir() else str(checkpoint)
