"""The models of a context: loading them, telling them apart, and detecting hooks and changes.

An analysis may do anything to the model that it is given. Three things keep that from reaching others: `hooks_on` finds
what intercepts a forward pass, `is_unchanged` compares weights, modules and their attributes with those at the start,
and stored activations are computed by a private copy.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from copy import deepcopy
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any

import torch
from torch import nn
from torch.overrides import _get_current_function_mode_stack
from torch.utils._device import DeviceContext
from torch.utils._python_dispatch import _get_current_dispatch_mode

from alice import planted as planted_models
from alice.checkpoint.folder import shown
from alice.errors import AliceError
from alice.model import AffineLens, Alice, Lens, PlainExit, choose_device, heads, hooks, hypernet, layers
from alice.model import model as model_module
from alice.reports.encoding import SUFFIX, find_artefact, read_tensors
from alice.reports.names import distinct_names, model_key

_HOOK_TABLES = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
"""Where a torch module keeps its hooks, those of TransformerLens among them."""
_PASSING = {*vars(nn.Module()), "context_level", "is_caching", "fwd_hooks", "bwd_hooks", "ctx", "forward"}
"""Attributes of modules that are compared otherwise, or that every use may change and `remove_hooks` restores."""
_CALLED = {"forward", "__call__", "_call_impl", "__getattr__"}
"""Methods of torch's modules that take part in a forward pass; torch itself replaces others, such as `__init__`."""
_METHODS: list[tuple[type, str, Any]] = [
    (value, name, method)
    for source in (nn, hooks, heads, hypernet, layers, model_module)
    for value in vars(source).values()
    if isinstance(value, type) and issubclass(value, nn.Module)
    for name, method in vars(value).items()
    if value.__module__.startswith("alice.") or name in _CALLED
]
"""The methods of ours and of torch that compute a forward pass, to notice when one is replaced."""


PLANTED = "planted:"
"""What the name of a planted model begins with."""


class NamedModel:
    """A model with the name that reports use and the hash of its weights."""

    def __init__(self, name: str, model: Alice, checkpoint: str | Path | None = None) -> None:
        """Put a model into eval mode and name it.

        Args:
            name: what reports call it.
            model: the model, on its device.
            checkpoint: where it was loaded from, if it was, to load it again.

        """
        self.name, self.model, self.checkpoint = name, model.eval(), checkpoint
        self._device, self._structure = model.cfg.device, _structure_of(model)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the configuration and all weights in fp32, taken on first access."""
        _ = self._state
        return _hash(self.model.config.to_dict(), self.model.state_dict().items(), exact=False)

    @cached_property
    def _state(self) -> str:
        return _state_of(self.model)

    def is_unchanged(self) -> bool:
        """Say whether parameters, buffers, modules and their attributes are still those of the fingerprint.

        Tensors are hashed each time, because edits through `.data` leave no other trace.
        """
        _ = self.fingerprint
        return _same_structure(_structure_of(self.model), self._structure) and _state_of(self.model) == self._state

    @cached_property
    def pristine(self) -> Alice:
        """A private copy of the clean model, made on first access; what happens to `model` later does not reach it."""
        self.check_unchanged()
        copy = deepcopy(self.model)
        remove_hooks(copy)
        return copy.eval()

    def check_unchanged(self) -> None:
        """Raise if the model is not the one that was opened."""
        if not self.is_unchanged():
            raise AliceError(
                f"the weights or modules of {self.name} were changed after it was opened, so its activations cannot be "
                "stored; open the changed model with RunContext.open, or use ctx.activations"
            )

    def reload(self) -> None:
        """Replace a changed model by a fresh one from its checkpoint; raise if that is impossible."""
        if self.checkpoint is not None:
            model = open_model(self.checkpoint, self._device)
            if _state_of(model) == self._state:
                self.model, self._structure = model, _structure_of(model)
                return
        raise AliceError(
            f"the weights or modules of {self.name} were changed; open the model again with RunContext.open"
        )


def load_models(
    checkpoints: Iterable[str | Path | Alice], device: torch.device | str | None = None
) -> list[NamedModel]:
    """Load checkpoints onto a device, by default the accelerator if there is one, and give each a distinct name."""
    models = [_load(checkpoint, device) for checkpoint in checkpoints]
    for named, name in zip(models, distinct_names(named.name for named in models), strict=True):
        named.name = name
    return models


def open_model(checkpoint: str | Path, device: torch.device | str | None = None) -> Alice:
    """Load a checkpoint, or build the planted model `planted:NAME`."""
    if str(checkpoint).startswith(PLANTED):
        planted = planted_models.build(str(checkpoint).removeprefix(PLANTED))
        return planted.model.to(choose_device(device))
    return Alice.from_pretrained(checkpoint, device=device)


def hooks_on(model: Alice) -> list[str]:
    """Return the names of the modules whose computation is hooked or replaced, through TransformerLens or torch."""
    everywhere = ["every module"] if any(_global_tables()) or _is_patched() else []
    return everywhere + [name or "the model itself" for name, module in model.named_modules() if _is_hooked(module)]


def remove_hooks(model: Alice) -> None:
    """Remove every hook from a model, however it was attached."""
    model.reset_hooks(including_permanent=True)
    for module in model.modules():
        for table in _HOOK_TABLES:
            getattr(module, table).clear()
        vars(module).pop("forward", None)


@contextmanager
def no_new_global_hooks() -> Iterator[None]:
    """Remove the hooks for all torch modules that a block leaves behind."""
    before = [set(table) for table in _global_tables()]
    try:
        yield
    finally:
        for table, known in zip(_global_tables(), before, strict=True):
            for key in set(table) - known:
                del table[key]


def _global_tables() -> list[dict[int, Any]]:
    return [getattr(nn.modules.module, f"_global{table}") for table in _HOOK_TABLES]


def _is_hooked(module: nn.Module) -> bool:
    return any(getattr(module, table) for table in _HOOK_TABLES) or "forward" in vars(module)


def _is_patched() -> bool:
    """Return whether a torch mode intercepts operations, or a method of a class was replaced."""
    modes = [mode for mode in _get_current_function_mode_stack() if not isinstance(mode, DeviceContext)]
    if modes or _get_current_dispatch_mode() is not None:
        return True
    return any(vars(cls).get(name) is not method for cls, name, method in _METHODS)


def _structure_of(model: Alice) -> dict[str, dict[str, Any]]:
    """Return class, submodules and attributes of every module, apart from tensors and hooks."""
    return {
        name: {"class": type(module), **module._modules}
        | {key: value for key, value in vars(module).items() if key not in _PASSING}
        for name, module in model.named_modules(remove_duplicate=False)
    }


def _same_structure(one: dict[str, dict[str, Any]], other: dict[str, dict[str, Any]]) -> bool:
    """Compare modules and other objects by identity, numbers and texts by value."""
    if one.keys() != other.keys() or any(one[name].keys() != other[name].keys() for name in one):
        return False
    pairs = ((value, other[name][key]) for name, about in one.items() for key, value in about.items())
    return all(a is b or (isinstance(a, int | float | str | tuple) and a == b) for a, b in pairs)


def _load(checkpoint: str | Path | Alice, device: torch.device | str | None) -> NamedModel:
    if isinstance(checkpoint, Alice):
        return NamedModel(checkpoint.config.variant, checkpoint)
    folder = Path(checkpoint).expanduser()
    name = folder.resolve().name if folder.is_dir() else str(checkpoint)
    return NamedModel(name, open_model(checkpoint, device), checkpoint)


def _state_of(model: Alice) -> str:
    """Hash all tensors bit by bit, also buffers that are in no checkpoint."""
    return _hash({}, [*model.named_parameters(), *model.named_buffers()], exact=True)


def _hash(about: dict[str, Any], tensors: Iterable[tuple[str, torch.Tensor]], *, exact: bool) -> str:
    """Hash tensors by name, bit by bit or by their values in fp32, which are the same in whichever file they came."""
    digest = sha256(json.dumps(about, sort_keys=True).encode())
    for name, tensor in sorted(tensors, key=lambda pair: pair[0]):
        digest.update(f"{name} {tuple(tensor.shape)}{f' {tensor.dtype}' if exact else ''}".encode())
        plain = tensor.detach().cpu()
        plain = plain.contiguous().flatten().view(torch.uint8) if exact else plain.float().contiguous()
        digest.update(plain.numpy().data)
    return digest.hexdigest()


TRANSLATORS = "translators"
"""Name of the artefact of an affine lens."""


def open_lens(named: NamedModel, path: str | Path | None) -> Lens:
    """Return the lens of a model: its plain exit, or the affine lens that a report folder or an artefact holds.

    A report over several models has an artefact for each, `translators@base`; the only one of a report is taken
    whatever the model is called now. A lens that was made for another model is refused.
    """
    if path is None:
        return PlainExit(named.model)
    file = _lens_file(Path(path), model_key(TRANSLATORS, named.name))
    tensors, provenance = read_tensors(file)
    made_for = _made_for(provenance)
    if made_for and named.fingerprint not in made_for:
        names = ", ".join(shown(name) for name in list(made_for.values())[:3])
        raise AliceError(f"the lens in {file} was made for {names}, not for {named.name}")
    try:
        return AffineLens(named.model, {name: torch.from_numpy(array.copy()) for name, array in tensors.items()})
    except AliceError as error:
        raise AliceError(f"{file}: {error}") from error


def lens_checkpoint(path: str | Path) -> str:
    """Return the name of the checkpoint that the lens of a report folder or an artefact was made for."""
    file = _lens_file(Path(path))
    names = list(_made_for(read_tensors(file)[1]).values())
    if len(names) != 1:
        raise AliceError(f"{file} does not say which model it was made for; give the model, too")
    return names[0]


def _lens_file(path: Path, *names: str) -> Path:
    """Return the file of a lens: `path` itself, one of the names in the folder, or the only lens that it has."""
    stored = sorted(path.glob(f"{TRANSLATORS}*{SUFFIX}")) if path.is_dir() else []
    if len(stored) == 1:
        return stored[0]
    return find_artefact(path, *names, TRANSLATORS)


def _made_for(provenance: Mapping[str, Any]) -> dict[str, str]:
    """Return the models of a provenance, names by hash; what is damaged is left out."""
    models = provenance.get("checkpoints")
    entries = [one for one in models if isinstance(one, Mapping)] if isinstance(models, list | tuple) else []
    return {str(one.get("sha256")): str(one.get("name")) for one in entries}
