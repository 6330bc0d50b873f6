"""Activations on disk: one safetensors shard a batch, computed when first wanted, memory-mapped afterwards.

A shard has its name only when it is whole, so a process may die at any moment and another goes on from there. The
folder of a store is named by a hash of the checkpoint, the texts and keys, the hooks, and the versions that compute.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor
from transformer_lens import ActivationCache

from alice.activations import Activations, run_batch
from alice.batch import Batch
from alice.checkpoint import write_tensors
from alice.errors import AliceError
from alice.files import atomic_write
from alice.plugins import store_room
from alice.plugins.models import hooks_on

if TYPE_CHECKING:
    from alice.plugins.models import NamedModel
    from alice.plugins.sample import Sample, SampleBatches

FORMAT = 1
_BROKEN = (SafetensorError, OSError, KeyError)
"""What reading a shard raises that was removed, cut off or is not ours."""


@dataclass(frozen=True, eq=False)
class StoredActivations:
    """Pairs `(batch, cache)` like `Activations`, kept in a folder; `stored[i]` is the pair of batch i."""

    named: NamedModel
    """The model that the store is of."""
    source: Activations
    """Computes what is not stored yet."""
    batches: SampleBatches
    """The batches, by number."""
    folder: Path
    """Where the shards are."""

    @classmethod
    def open(
        cls, named: NamedModel, texts: Sample, *, source: Activations, batches: SampleBatches
    ) -> StoredActivations:
        """Open the store of these activations, making room for it; refuse if it would be too large."""
        about = {
            "format": FORMAT,
            "checkpoint": named.fingerprint,
            "computed": _kind_of_numbers(named),
            "data": texts.fingerprint,
            "hooks": source.names,
            "versions": {name: version(name) for name in ("alice-interp", "torch", "transformer-lens")},
        }
        key = sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]
        stored = cls(named, source, batches, store_room.root() / key)
        what = f"{len(source.names)} hooks over {len(texts.encoded)} texts"
        needed = stored.bytes_needed()
        store_room.make_room(stored.folder, needed=needed, what=what)
        if not (stored.folder / store_room.ABOUT).exists():
            with atomic_write(stored.folder / store_room.ABOUT) as file:
                json.dump(about | {store_room.NEEDED: needed}, file, indent=2)
        return stored

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Batch, ActivationCache]]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> tuple[Batch, ActivationCache]:
        batch = self.batches[number]
        self._refuse_hooks()
        cache = self._read(number, batch)
        if cache is None:
            self._write(number, batch)
            cache = self._read(number, batch)  # from disk the first time too, to be always the same kind of tensor
        if cache is None:
            raise AliceError(f"{self._shard(number)} was written but cannot be read; check the disk")
        return batch, cache

    def _refuse_hooks(self) -> None:
        """Refuse a model with hooks: what it computes now is not what the store of its checkpoint holds."""
        if hooks := hooks_on(self.source.model):
            raise AliceError(
                f"{self.named.name} has a hook on {hooks[0]}, so its activations cannot be stored; "
                "take the hook off, or use ctx.activations"
            )

    def _write(self, number: int, batch: Batch) -> None:
        if not self.named.is_unchanged():
            raise AliceError(
                f"the weights of {self.named.name} were changed after it was opened, so its activations cannot be "
                "stored; open the changed model with RunContext.open, or use ctx.activations"
            )
        _, _, cache = run_batch(self.source.model, batch, self.source.names)
        store_room.make_folder(self.folder)  # somebody may have cleaned up in the meantime
        write_tensors(self._shard(number), _apart(cache, self.source.names))

    def bytes_needed(self) -> int:
        """Return how many bytes all shards together will have, but for their headers.

        What a hook gives for one text is a polynomial of second degree in the length (attention patterns are squares),
        and so are three short texts enough to know it.
        """
        lengths = np.array([1, 2, 3])
        polynomial = np.polyfit(lengths, [self._bytes_of_text(length) for length in lengths.tolist()], 2)
        shapes = [tuple(batch.cipher_ids.shape) for batch in self.batches]
        return round(sum(texts * float(np.polyval(polynomial, longest)) for texts, longest in shapes))

    def _bytes_of_text(self, length: int) -> int:
        model, names = self.source.model, self.source.names
        ids = torch.full((1, length), int(model.alphabet.letter_ids[0]))
        nothing = torch.zeros(1, 0, dtype=torch.int64)
        _, _, cache = run_batch(model, Batch(ids, ids, nothing, nothing), names)
        return sum(cache[name].numel() * cache[name].element_size() for name in names)

    def _shard(self, number: int) -> Path:
        return self.folder / f"{number:06}.safetensors"

    def _read(self, number: int, batch: Batch) -> ActivationCache | None:
        """Map a shard into memory, or return nothing if it must be computed (again)."""
        try:
            with safe_open(self._shard(number), framework="pt") as shard:
                tensors = {name: shard.get_tensor(name) for name in self.source.names}
        except _BROKEN:
            return None
        if any(len(tensor) != len(batch) for tensor in tensors.values()):
            return None
        device = batch.cipher_ids.device
        return ActivationCache({name: tensor.to(device) for name, tensor in tensors.items()}, self.source.model)


def _kind_of_numbers(named: NamedModel) -> str:
    """Return the type of the weights and the kind of device, which both show in the last digits."""
    weight = next(named.model.parameters())
    return f"{weight.dtype} on {weight.device.type}"


def _apart(cache: ActivationCache, names: list[str]) -> dict[str, Tensor]:
    """Return the activations without two that share memory, as one block's end and the next one's beginning do."""
    apart: dict[str, Tensor] = {}
    places: set[int] = set()
    for name in names:
        place = cache[name].untyped_storage().data_ptr()
        apart[name] = cache[name].clone() if place in places else cache[name]
        places.add(place)
    return apart
