"""Activations on disk: one safetensors file for each batch and hook, computed on first use, then memory-mapped.

All stores are in `activations/` of the folder that `ALICE_INTERP_CACHE` names, by default `~/.cache/alice-interp`. A
store is a folder named by a hash of the checkpoint, the texts with their keys, and the versions that compute. It has a
subfolder for each hook, so that other hooks of the same texts are added to the same store. Together the stores take at
most `ALICE_INTERP_CACHE_LIMIT` bytes (8G by default); the hooks used least recently are evicted.

The store must never return anything but what the clean model computes. A private copy of the model, which no analysis
sees, computes it, and a request is refused while the model is hooked or changed. Each file carries a checksum, and two
batches of what an earlier request stored, one of them random, are recomputed before the rest is used.
Anything missing, damaged or different is computed again, so the folder may be deleted at any time. Only folders with
our marker are removed, only files that we write, and links are never followed.
"""

from __future__ import annotations

import json
import os
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from importlib.metadata import version
from pathlib import Path
from secrets import randbelow
from typing import TYPE_CHECKING
from zlib import crc32

import torch
from safetensors import SafetensorError, safe_open
from torch import Tensor
from transformer_lens import ActivationCache

from alice.cache import FOLDER_VARIABLE, cache_folder, make_private
from alice.checkpoint.folder import write_tensors
from alice.errors import AliceError
from alice.files import atomic_write, read_json, remove_drafts
from alice.model import Activations, run_batch
from alice.plugins.context.models import hooks_on
from alice.text import Batch

if TYPE_CHECKING:
    from alice.plugins.context.models import NamedModel
    from alice.plugins.context.sample import Sample, SampleBatches

FORMAT, VERSION = "alice-interp activations", 3
ABOUT = "about.json"
"""The marker of a store, which also says what it was computed from."""
LIMIT_VARIABLE = "ALICE_INTERP_CACHE_LIMIT"
DEFAULT_LIMIT = "8G"
KEPT_FREE = 256 * 2**20
"""Bytes of the disk that a store never takes."""
RTOL, ATOL = 1e-2, 1e-3
"""Tolerance between a stored batch and a recomputed one; another number of threads changes the last digits."""
_CHECKSUM = "crc32"
_SHARD = re.compile(r"\d{6}\.safetensors")
_UNITS = {"": 1, "K": 2**10, "M": 2**20, "G": 2**30, "T": 2**40}
_SEPARATE = (
    ("hook_attn_scores", "hook_pattern"),
    ("hook_scale", "hook_normalized"),
    ("hook_result",),
    ("hook_log_perm",),
)
"""Hooks that make the model compute in another order while they are listened to, which changes the last digits."""
_UNREADABLE = (SafetensorError, OSError, KeyError, ValueError)
"""What reading a shard raises if it was removed, damaged or written by something else."""


class StoredActivations:
    """Pairs `(batch, cache)` like `Activations`, with the same attributes, kept in a folder."""

    def __init__(self, named: NamedModel, texts: Sample, *, source: Activations, batches: SampleBatches) -> None:
        """Open the store of a model and its texts; `source` has the hooks and computes what is not stored yet."""
        self.named, self.source, self.batches = named, source, batches
        self.model, self.names, self.grad = source.model, source.names, False
        self._about = {
            "format": FORMAT,
            "version": VERSION,
            "checkpoint": named.fingerprint,
            "computed": number_type(named),
            "data": texts.fingerprint,
            "versions": {name: version(name) for name in ("alice-interp", "torch", "transformer-lens")},
        }
        key = sha256(json.dumps(self._about, sort_keys=True).encode()).hexdigest()[:32]
        self._names = {"checkpoint_name": named.name, "corpus": texts.description}  # for people; not part of the hash
        root = cache_folder("activations")
        self.folder = root / key
        own = {self.folder / name for name in source.names}
        self._space = Space(root, own, f"{len(texts.encoded)} texts at {len(source.names)} hook points")
        self._known: set[Path] = set()  # shards that this object has written or verified
        self._trusted: set[str] = set()  # hooks of which a recomputed batch agreed with the stored one
        for folder in own.intersection(_folders_in(self.folder)):
            remove_drafts(folder)
            with suppress(FileNotFoundError):  # it is being deleted
                os.utime(folder)

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[tuple[Batch, ActivationCache]]:
        check = cache(self.named.check_unchanged)  # hashing takes a second for a large model: once before, once after
        for number in range(len(self)):
            yield self._pair(number, check)
        if check.cache_info().currsize:
            self.named.check_unchanged()

    def __getitem__(self, number: int) -> tuple[Batch, ActivationCache]:
        return self._pair(number, self.named.check_unchanged)

    def _pair(self, number: int, check: Callable[[], None]) -> tuple[Batch, ActivationCache]:
        """Return a batch with its activations; `check` is called before any are computed."""
        batch, names = self.batches[number], self.source.names
        self._refuse_hooks()
        found = {name: tensor for name in names if (tensor := self._read(name, number, batch)) is not None}
        shards = {name: self._shard(name, number) for name in names}
        if untested := [name for name in found if name not in self._trusted and shards[name] not in self._known]:
            check()
            for name in self._discard_wrong(untested, number):
                del found[name]
        if missing := [name for name in names if name not in found]:
            check()
            for name, tensor in self._compute(missing, batch).items():
                found[name] = tensor
                self._write(shards[name], name, tensor)
        self._known.update(shard for shard in shards.values() if shard.exists())
        device = batch.cipher_ids.device
        return batch, ActivationCache({name: found[name].to(device) for name in names}, self.named.model)

    def _refuse_hooks(self) -> None:
        """Refuse a hooked model: what it computes now does not belong to its checkpoint."""
        if hooked := hooks_on(self.named.model):
            raise AliceError(
                f"{self.named.name} has a hook on {hooked[0]}, so its activations cannot be stored; "
                "remove the hook, or use ctx.activations"
            )

    def _discard_wrong(self, names: list[str], number: int) -> list[str]:
        """Recompute a batch and a random one; remove and return the hooks of which a stored batch is different."""
        wrong: set[str] = set()
        for tried in {number, randbelow(len(self))}:
            batch = self.batches[tried]
            stored = {name: tensor for name in names if (tensor := self._read(name, tried, batch)) is not None}
            computed = self._compute(list(stored), batch) if stored else {}
            wrong |= {name for name, tensor in computed.items() if not _agree(stored[name], tensor)}
        self._trusted.update(set(names) - wrong)
        for name in wrong:
            remove_hook(self.folder / name)
        return sorted(wrong)

    def _compute(self, names: list[str], batch: Batch) -> dict[str, Tensor]:
        """Run the clean model for some hooks; return ordinary tensors on the CPU, as reading from disk does."""
        model = self.named.pristine
        found: dict[str, Tensor] = {}
        with torch.autocast(model.cfg.device.type, enabled=False):
            for kind, together in _passes(names):
                alike = [(name, _listen) for name in model.hook_dict if kind and name.endswith(kind)]
                with model.hooks(alike):
                    _, _, cache = run_batch(model, batch, together)
                found |= {name: cache[name].cpu().clone(memory_format=torch.contiguous_format) for name in together}
        return found

    def _shard(self, name: str, number: int) -> Path:
        return self.folder / name / f"{number:06}.safetensors"

    def _read(self, name: str, number: int, batch: Batch) -> Tensor | None:
        """Map a shard into memory; return None if it must be computed (again)."""
        path = self._shard(name, number)
        try:
            with safe_open(path, framework="pt") as shard:
                tensor: Tensor = shard.get_tensor(name)
                checksum = (shard.metadata() or {}).get(_CHECKSUM)
            intact = path in self._known or checksum == _checksum(name, tensor)
        except _UNREADABLE:
            return None
        return tensor if intact and len(tensor) == len(batch) else None

    def _write(self, shard: Path, name: str, tensor: Tensor) -> None:
        """Write a shard; if the store is deleted at the same time, leave it unwritten."""
        self._space.reserve(tensor.nbytes)
        with suppress(FileNotFoundError):
            for folder in (self.folder.parent, self.folder, shard.parent):
                make_private(folder)
        try:
            if not (self.folder / ABOUT).exists():
                with atomic_write(self.folder / ABOUT) as file:
                    json.dump(self._about | self._names, file, indent=2)
            write_tensors(shard, {name: tensor}, {_CHECKSUM: _checksum(name, tensor)})
        except (FileNotFoundError, AliceError):
            if shard.parent.exists():
                raise


class Space:
    """Makes room for the hooks of one request, within the limit of all stores."""

    def __init__(self, root: Path, own: set[Path], request: str) -> None:
        """Watch the stores below `root` for a request, whose own folders are never evicted."""
        self._root, self._own, self._request = root, own, request
        self._total: int | None = None

    def reserve(self, size: int) -> None:
        """Reserve space, evicting the least recently used hooks; raise if the limit or the disk is exceeded."""
        allowed = limit()
        if self._total is None or self._total + size > allowed or self._free() < size:
            self._total = self._make_room(size, allowed)
        self._total += size

    def _make_room(self, size: int, allowed: int) -> int:
        """Evict until `size` bytes fit, and return how many bytes are stored then."""
        hooks = sorted(stored_hooks(self._root), key=lambda hook: hook.used)
        total = sum(hook.size for hook in hooks)
        if sum(hook.size for hook in hooks if hook.folder in self._own) + size > allowed:
            raise AliceError(
                f"the activations of {self._request} need more than the limit of {_readable(allowed)}; "
                f"ask for fewer texts or hooks, or raise {LIMIT_VARIABLE}"
            )
        for hook in hooks:
            if total + size <= allowed and self._free() >= size:
                break
            if hook.folder not in self._own:
                remove_hook(hook.folder)
                total -= hook.size
        if self._free() < size:
            raise AliceError(
                f"the disk of {self._root} has no space for the activations of {self._request}: "
                f"{_readable(KEPT_FREE)} must stay free, and {_readable(_free_on(self._root))} are left; "
                f"free some space, or set {FOLDER_VARIABLE} to a folder on another disk"
            )
        return total

    def _free(self) -> int:
        return _free_on(self._root) - KEPT_FREE


@dataclass(frozen=True)
class StoredHook:
    """What is stored of one hook."""

    folder: Path
    """Its folder in a store."""
    size: int
    """Bytes of its files."""
    used: float
    """When it was last opened or written to, in seconds since the epoch."""


def stored_hooks(root: Path) -> Iterator[StoredHook]:
    """Yield the hooks of all stores; folders that are not stores are left out."""
    for store in filter(_is_store, _folders_in(root)):
        for folder in _folders_in(store):
            with suppress(FileNotFoundError):  # another process evicts at the same time
                size = sum(entry.stat().st_size for entry in _shards_in(folder))
                yield StoredHook(folder, size, folder.stat().st_mtime)


def remove_hook(folder: Path) -> None:
    """Remove a hook from its store, and the store with its last hook; other files stay."""
    if not _is_store(folder.parent) or folder.is_symlink():
        return
    with suppress(OSError):  # another process removes it too, or there is something else in it
        remove_drafts(folder)
        for entry in _shards_in(folder):
            Path(entry.path).unlink(missing_ok=True)
        folder.rmdir()
        if [path.name for path in folder.parent.iterdir()] == [ABOUT]:
            (folder.parent / ABOUT).unlink()
            folder.parent.rmdir()


def limit(environ: Mapping[str, str] = os.environ) -> int:
    """Return how many bytes all stores together may take."""
    text = environ.get(LIMIT_VARIABLE, "").strip() or DEFAULT_LIMIT
    found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)B?", text, re.IGNORECASE)
    if not found:
        raise AliceError(f"{LIMIT_VARIABLE}={text!r} is not a size; write a number such as 500M or 8G")
    return int(float(found[1]) * _UNITS[found[2].upper()])


def _is_store(folder: Path) -> bool:
    """Say whether a folder carries our marker in the format that we write."""
    marker = folder / ABOUT
    try:
        if folder.is_symlink() or marker.is_symlink() or not marker.is_file():
            return False
        about = read_json(marker)
    except (OSError, ValueError):
        return False
    return isinstance(about, dict) and (about.get("format"), about.get("version")) == (FORMAT, VERSION)


def _folders_in(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as entries:
            return [Path(entry.path) for entry in entries if entry.is_dir(follow_symlinks=False)]
    except OSError:  # it is being deleted
        return []


def _shards_in(folder: Path) -> list[os.DirEntry[str]]:
    """Return the shards in a folder."""
    try:
        with os.scandir(folder) as entries:
            return [entry for entry in entries if _SHARD.fullmatch(entry.name) and entry.is_file(follow_symlinks=False)]
    except OSError:  # it is being deleted
        return []


def _free_on(folder: Path) -> int:
    try:
        return shutil.disk_usage(folder).free
    except FileNotFoundError:  # deleted just now; its parent is on the same disk
        return shutil.disk_usage(folder.parent).free


def number_type(named: NamedModel) -> str:
    """Return the type of the weights and of the device, which both affect the last digits."""
    weight = next(named.model.parameters())
    return f"{weight.dtype} on {weight.device.type}"


def _agree(stored: Tensor, computed: Tensor) -> bool:
    same_kind = stored.shape == computed.shape and stored.dtype == computed.dtype
    return same_kind and torch.allclose(stored.float(), computed.float(), rtol=RTOL, atol=ATOL, equal_nan=True)


def _checksum(name: str, tensor: Tensor) -> str:
    about = f"{name} {tensor.dtype} {tuple(tensor.shape)}"
    return f"{crc32(tensor.contiguous().flatten().view(torch.uint8).numpy().data, crc32(about.encode())):08x}"


def _passes(names: list[str]) -> Iterator[tuple[tuple[str, ...], list[str]]]:
    """Group hooks into forward passes, so that the values of a hook never depend on which others are requested.

    A pass for hooks that change how the model computes listens to all hooks of that kind, in every block.
    """
    kinds = {name: next((kind for kind in _SEPARATE if name.endswith(kind)), ()) for name in names}
    for kind in dict.fromkeys(kinds.values()):
        yield kind, [name for name in names if kinds[name] == kind]


def _listen(value: Tensor, hook: object) -> None:
    """Change nothing: a hook that is attached is enough."""


def _readable(count: int) -> str:
    unit = next((unit for unit in ("T", "G", "M", "K") if count >= _UNITS[unit]), "")
    return f"{count / _UNITS[unit]:.1f} {unit}B" if unit else f"{count} bytes"
