"""Checkpoint folders: `config.json` and `model.safetensors`, found by name, read strictly, written whole."""

import json
import re
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from alice.errors import AliceError, nearest, one_line
from alice.files import atomic_write, make_folder
from alice.model.config import ModelConfig

CONFIG, WEIGHTS = "config.json", "model.safetensors"
FORMAT = 1
NUMBERS = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
LONGEST_REASON, LONGEST_NAME = 200, 60
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def bundled() -> dict[str, Path]:
    """Return the models that come with the package, by name."""
    root = Path(str(files("alice"))) / "bundled"
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{CONFIG}"))}


def resolve(name: str | Path) -> Path:
    """Return the folder that a name stands for: a bundled model, a folder, or a model fetched from the hub."""
    folder = Path(name).expanduser()
    if str(name) in (models := bundled()):
        return models[str(name)]
    if folder.is_dir():
        return folder
    if folder.exists():
        raise AliceError(f"{folder} is a file; a checkpoint is a folder with {CONFIG} and {WEIGHTS}")
    if HUB_ID.fullmatch(str(name)):
        return _fetch(str(name))
    known = ", ".join(models) or "none"
    raise AliceError(
        f"there is no checkpoint {str(name)!r}{nearest(str(name), models)}; "
        f"bundled are {known}, or give a folder or a hub id"
    )


def _fetch(hub_id: str) -> Path:
    """Download a checkpoint from the hub, or find it in the hub's cache."""
    from huggingface_hub import snapshot_download  # slow to import, and few need it
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        return Path(snapshot_download(hub_id, allow_patterns=[CONFIG, WEIGHTS, "card.md", "metrics.jsonl"]))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError) as error:
        raise AliceError(
            f"{hub_id} is neither a folder here nor a model that the hub gives ({type(error).__name__}); "
            "check the name and the network"
        ) from error


def read(folder: Path) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Read a checkpoint folder; whatever is wrong with it is one sentence."""
    return read_config(folder), read_tensors(folder / WEIGHTS)


def read_config(folder: Path) -> ModelConfig:
    """Read the configuration of a checkpoint folder."""
    file = folder / CONFIG
    values = _read_json(file)
    found = values.pop("format", None)
    if found != FORMAT:
        raise AliceError(f"{file} has format {found!r}, not {FORMAT}; it is not a checkpoint that this version reads")
    return ModelConfig.from_dict(values, where=str(file))


def _read_json(file: Path) -> dict[str, Any]:
    try:
        values = json.loads(file.read_text(encoding="utf-8"), object_pairs_hook=_object)
    except FileNotFoundError as error:
        raise AliceError(f"{file.parent} has no {file.name}; a checkpoint folder needs it") from error
    except (OSError, ValueError, RecursionError) as error:
        raise AliceError(f"{file} cannot be read ({_reason(error)}); get the checkpoint again") from error
    if not isinstance(values, dict):
        raise AliceError(f"{file} holds no JSON object; get the checkpoint again")
    return values


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Refuse a key that stands twice, of which Python would take the last one without a word."""
    values = dict(pairs)
    if len(values) < len(pairs):
        raise ValueError("a key is there twice")
    return values


def _shown(name: str) -> str:
    """Return a name from a file as it can stand in a sentence: in one line, shortened."""
    return repr(name)[1:-1][:LONGEST_NAME]


def _reason(error: Exception) -> str:
    """Return what a library complains of, shortened: it may quote the file."""
    return one_line(error)[:LONGEST_REASON]


def read_tensors(file: Path) -> dict[str, Tensor]:
    """Read all tensors of a safetensors file, which must hold ordinary numbers only."""
    try:
        tensors = load_file(file)
    except FileNotFoundError as error:
        raise AliceError(f"{file.parent} has no {file.name}; a checkpoint folder needs it") from error
    except (SafetensorError, OSError, ValueError, KeyError) as error:  # a type that torch lacks is a KeyError
        raise AliceError(
            f"{file} is empty, cut off or no safetensors file ({_reason(error)}); get the checkpoint again"
        ) from error
    for name, tensor in tensors.items():
        if tensor.dtype not in NUMBERS:
            raise AliceError(f"{file}: {_shown(name)} is of type {tensor.dtype}, which no weights are; get it again")
        if not tensor.float().isfinite().all():
            raise AliceError(f"{file}: {_shown(name)} has numbers that are not finite; take an earlier checkpoint")
    return tensors


def check_size(weights: Mapping[str, Tensor], config: ModelConfig, *, where: str) -> None:
    """Refuse a config that wants far more weights than there are, before a model of that size asks for memory."""
    there = sum(tensor.numel() for tensor in weights.values())
    if config.block_weights > there:
        raise AliceError(
            f"{where}: weights do not fit the config: it wants {config.block_weights:,} of them in its blocks alone, "
            f"and there are {there:,}; use the config they were saved with"
        )


def check_fit(weights: Mapping[str, Tensor], wanted: Mapping[str, Tensor], *, where: str) -> None:
    """Refuse weights that lack a name, have one too many, or have another shape than the model wants."""
    missing, extra = sorted(wanted.keys() - weights.keys()), sorted(weights.keys() - wanted.keys())
    if missing or extra:
        parts = [
            f"{len(names)} {what} (first: {_shown(names[0])})"
            for names, what in ((missing, "missing"), (extra, "unknown"))
            if names
        ]
        raise AliceError(
            f"{where}: weights do not fit the config: {', '.join(parts)}; use the config they were saved with"
        )
    for name, tensor in wanted.items():
        if weights[name].shape != tensor.shape:
            raise AliceError(
                f"{where}: {name} has shape {tuple(weights[name].shape)}, the config wants {tuple(tensor.shape)}"
            )


def write(
    folder: Path, config: ModelConfig, weights: Mapping[str, Tensor], *, dtype: torch.dtype = torch.float32
) -> None:
    """Write a checkpoint folder, each of its two files whole or not at all."""
    make_folder(folder)
    write_tensors(folder / WEIGHTS, {name: tensor.to(dtype) for name, tensor in weights.items()})
    with atomic_write(folder / CONFIG) as file:
        json.dump({"format": FORMAT, **config.to_dict()}, file, indent=2)
        file.write("\n")


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write tensors to a safetensors file, whole or not at all."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_write(path, "wb") as file:
        file.write(save(plain, metadata=dict(metadata) if metadata else None))
