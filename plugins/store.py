"""Activations on disk: one safetensors shard for each batch and hook, computed when first wanted, then memory-mapped.

A shard has its name only when it is whole, so a process may die at any moment and another goes on from there. The
folder of a store is named by a hash of the checkpoint, the texts and keys, and the versions that compute. Each hook has
a folder in it, so that whoever asks for other hooks of the same texts computes only those that nobody asked for before.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
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

from alice.checkpoint.folder import write_tensors
from alice.errors import AliceError
from alice.files import atomic_write
from alice.model.activations import Activations, run_batch
from alice.plugins import store_room
from alice.plugins.models import hooks_on
from alice.text.batches import Batch

if TYPE_CHECKING:
    from alice.plugins.models import NamedModel
    from alice.plugins.sample import Sample, SampleBatches

FORMAT = 2
ABOUT = "about.json"
"""The file in which a store says what it is of."""
_ELSEWISE = (
    ("hook_attn_scores", "hook_pattern"),
    ("hook_scale", "hook_normalized"),
    ("hook_result",),
    ("hook_log_perm",),
)
"""Hooks that make the model compute in another way while somebody listens, which shows in the last digits."""
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
    """Where the folders of the hooks are."""

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
            "versions": {name: version(name) for name in ("alice-interp", "torch", "transformer-lens")},
        }
        key = sha256(json.dumps(about, sort_keys=True).encode()).hexdigest()[:32]
        stored = cls(named, source, batches, store_room.root() / key)
        what = f"{len(source.names)} hooks over {len(texts.encoded)} texts"
        store_room.make_room({stored.folder / name: size for name, size in stored.bytes_needed().items()}, what=what)
        if not (stored.folder / ABOUT).exists():
            with atomic_write(stored.folder / ABOUT) as file:
                json.dump(about, file, indent=2)
        return stored

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Batch, ActivationCache]]:
        return (self[number] for number in range(len(self)))

    def __getitem__(self, number: int) -> tuple[Batch, ActivationCache]:
        batch = self.batches[number]
        self._refuse_hooks()
        names = self.source.names
        found = {name: self._read(name, number, batch) for name in names}
        missing = [name for name in names if found[name] is None]
        if missing:
            self._write(missing, number, batch)
            # From disk the first time too, to be always the same kind of tensor.
            found |= {name: self._read(name, number, batch) for name in missing}
        device = batch.cipher_ids.device
        whole = {name: tensor.to(device) for name, tensor in found.items() if tensor is not None}
        if len(whole) < len(names):
            lost = next(name for name in names if name not in whole)
            raise AliceError(f"{self._shard(lost, number)} was written but cannot be read; check the disk")
        return batch, ActivationCache(whole, self.source.model)

    def _refuse_hooks(self) -> None:
        """Refuse a model with hooks: what it computes now is not what the store of its checkpoint holds."""
        if hooks := hooks_on(self.source.model):
            raise AliceError(
                f"{self.named.name} has a hook on {hooks[0]}, so its activations cannot be stored; "
                "take the hook off, or use ctx.activations"
            )

    def _write(self, names: list[str], number: int, batch: Batch) -> None:
        if not self.named.is_unchanged():
            raise AliceError(
                f"the weights of {self.named.name} were changed after it was opened, so its activations cannot be "
                "stored; open the changed model with RunContext.open, or use ctx.activations"
            )
        for kind, together in _passes(names):
            with self.source.model.hooks([(_ends_with(kind), _listen)] if kind else []):
                _, _, cache = run_batch(self.source.model, batch, together)
            for name in together:
                shard = self._shard(name, number)
                store_room.make_folder(shard.parent)  # somebody may have cleaned up in the meantime
                write_tensors(shard, {name: cache[name]})

    def bytes_needed(self) -> dict[str, int]:
        """Return how many bytes all shards of each hook will have, but for their headers.

        What a hook gives for one text is a polynomial of second degree in the length (attention patterns are squares),
        and so are three short texts enough to know it. What a store has noted already needs no pass.
        """
        known = {name: store_room.noted(self.folder / name) for name in self.source.names}
        unknown = [name for name, size in known.items() if size is None]
        if unknown:
            lengths = [1, 2, 3]
            sizes = [self._bytes_of_text(unknown, length) for length in lengths]
            shapes = [tuple(batch.cipher_ids.shape) for batch in self.batches]
            for name in unknown:
                polynomial = np.polyfit(lengths, [size[name] for size in sizes], 2)
                known[name] = round(sum(texts * float(np.polyval(polynomial, longest)) for texts, longest in shapes))
        return {name: size for name, size in known.items() if size is not None}

    def _bytes_of_text(self, names: list[str], length: int) -> dict[str, int]:
        model = self.source.model
        ids = torch.full((1, length), int(model.alphabet.letter_ids[0]))
        nothing = torch.zeros(1, 0, dtype=torch.int64)
        _, _, cache = run_batch(model, Batch(ids, ids, nothing, nothing), names)
        return {name: cache[name].numel() * cache[name].element_size() for name in names}

    def _shard(self, name: str, number: int) -> Path:
        return self.folder / name / f"{number:06}.safetensors"

    def _read(self, name: str, number: int, batch: Batch) -> Tensor | None:
        """Map a shard into memory, or return nothing if it must be computed (again)."""
        try:
            with safe_open(self._shard(name, number), framework="pt") as shard:
                tensor: Tensor = shard.get_tensor(name)
        except _BROKEN:
            return None
        return tensor if len(tensor) == len(batch) else None


def _kind_of_numbers(named: NamedModel) -> str:
    """Return the type of the weights and the kind of device, which both show in the last digits."""
    weight = next(named.model.parameters())
    return f"{weight.dtype} on {weight.device.type}"


def _passes(names: list[str]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Part the hooks into passes, so that what a hook gives never depends on which others were asked for with it.

    A pass for hooks that change how the model computes listens to all of their kind, in every block.
    """
    kinds = {name: next((kind for kind in _ELSEWISE if name.endswith(kind)), ()) for name in names}
    for kind in dict.fromkeys(kinds.values()):
        yield kind, [name for name in names if kinds[name] == kind]


def _ends_with(kind: tuple[str, ...]) -> Callable[[str], bool]:
    return lambda name: name.endswith(kind)


def _listen(value: Tensor, hook: object) -> None:
    """Change nothing: being there is enough."""
