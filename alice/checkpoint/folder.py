"""Checkpoint folders, `config.json` and `model.safetensors`: found by name, read strictly, written atomically."""

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
from alice.files import HUB_SECONDS, atomic_write, make_folder, read_json, regular_file, user_path
from alice.model import ModelConfig

CONFIG, WEIGHTS = "config.json", "model.safetensors"
CARD, TRAINING, METRICS = "card.md", "training.json", "metrics.jsonl"
"""Files that a checkpoint folder may have as well: its card, how it was trained, and the log of the training."""
FORMAT = 1
DTYPES = (torch.float32, torch.float16, torch.bfloat16, torch.float64)
LONGEST_REASON, LONGEST_NAME = 200, 60
TENSORS_PER_BLOCK = 6
HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]*/[\w.-]+")


def bundled() -> dict[str, Path]:
    """Return the folders of the bundled models by name."""
    root = Path(str(files("alice"))) / "bundled"
    return {path.parent.name: path.parent for path in sorted(root.glob(f"*/{CONFIG}"))}


def resolve(name: str | Path) -> Path:
    """Return the folder of a checkpoint, given a bundled model, a folder or a hub id."""
    folder = user_path(name)
    if str(name) in (models := bundled()):
        return models[str(name)]
    if folder.is_dir():
        return folder
    if folder.exists():
        raise AliceError(f"{folder} is a file; a checkpoint is a folder with {CONFIG} and {WEIGHTS}")
    if _may_be_hub_id(name):
        return _fetch(str(name))
    known = ", ".join(models) or "none"
    raise AliceError(
        f"there is no checkpoint {str(name)!r}"
        + (nearest(str(name), models) or f"; give a bundled model ({known}), a folder or a hub id")
    )


def _may_be_hub_id(name: str | Path) -> bool:
    """Return whether a name has the form `owner/model` and does not look like a path: no folder `owner` exists here."""
    return isinstance(name, str) and HUB_ID.fullmatch(name) is not None and not Path(name).parent.exists()


def _fetch(hub_id: str) -> Path:
    """Download a checkpoint from the hub; take it from the local cache if the hub does not answer."""
    try:
        return _download(hub_id)
    except Exception as error:  # the hub's own errors and those of its HTTP library, which changed between releases
        reason = type(error).__name__
    try:
        return _download(hub_id, only_cached=True)
    except Exception as error:
        raise AliceError(
            f"{hub_id} is not a folder and could not be downloaded from the hub ({reason}); "
            "check the name and the network"
        ) from error


def _download(hub_id: str, *, only_cached: bool = False) -> Path:
    """Download the files of a checkpoint, all of the same commit, and return their folder.

    Every request has a time limit, unlike those of `snapshot_download`: a file is asked for once before
    `hf_hub_download`, which would repeat a request without an answer for minutes.
    """
    import huggingface_hub as hub  # slow to import and seldom needed
    from huggingface_hub.errors import EntryNotFoundError

    folder = Path()
    for name in (CONFIG, WEIGHTS, CARD, METRICS):
        commit = None if only_cached else folder.name or None
        try:
            if not only_cached:
                hub.get_hf_file_metadata(hub.hf_hub_url(hub_id, name, revision=commit), timeout=HUB_SECONDS)
            file = hub.hf_hub_download(
                hub_id, name, revision=commit, etag_timeout=HUB_SECONDS, local_files_only=only_cached
            )
        except EntryNotFoundError:
            if name in (CONFIG, WEIGHTS):
                raise
        else:
            folder = Path(file).parent
    return folder


def read(folder: Path) -> tuple[ModelConfig, dict[str, Tensor]]:
    """Read a checkpoint folder; raise AliceError if it is incomplete or damaged."""
    return read_config(folder), read_tensors(folder / WEIGHTS)


def read_config(folder: Path) -> ModelConfig:
    """Read the configuration of a checkpoint folder."""
    file = folder / CONFIG
    values = _read_object(file)
    found = values.pop("format", None)
    if found != FORMAT:
        raise AliceError(f"{file} has format {found!r:.60}, not {FORMAT}; this version cannot read it")
    return ModelConfig.from_dict(values, where=str(file))


def _read_object(file: Path) -> dict[str, Any]:
    try:
        values = read_json(file)
    except FileNotFoundError as error:
        raise AliceError(f"{file.parent} has no {file.name}; a checkpoint folder needs it") from error
    except (OSError, ValueError) as error:
        raise AliceError(f"{file} cannot be read ({_reason(error)}); download the checkpoint again") from error
    if not isinstance(values, dict):
        raise AliceError(f"{file} is not a JSON object; download the checkpoint again")
    return values


def shown(name: str) -> str:
    """Return a name from a file as one short line for a message, with control characters escaped."""
    return repr(name)[1:-1][:LONGEST_NAME]


def _reason(error: Exception) -> str:
    """Return the message of an error as one short line; a library may quote the whole file."""
    return one_line(error)[:LONGEST_REASON]


def read_tensors(file: Path) -> dict[str, Tensor]:
    """Read all tensors of a safetensors file; they must be floating-point and finite."""
    try:
        tensors = load_file(regular_file(file))
    except FileNotFoundError as error:
        raise AliceError(f"{file.parent} has no {file.name}; a checkpoint folder needs it") from error
    except (SafetensorError, OSError, ValueError, KeyError) as error:  # KeyError: a dtype that torch does not have
        raise AliceError(
            f"{file} is empty, truncated or not a safetensors file ({_reason(error)}); download the checkpoint again"
        ) from error
    check_values(tensors, where=str(file))
    return tensors


def check_values(tensors: Mapping[str, Tensor], *, where: str) -> None:
    """Raise unless all tensors are floating-point and finite."""
    for name, tensor in tensors.items():
        if tensor.dtype not in DTYPES:
            raise AliceError(
                f"{where}: {shown(name)} has dtype {tensor.dtype}, not a floating-point one; download the file again"
            )
        if not tensor.float().isfinite().all():
            raise AliceError(f"{where}: {shown(name)} has values that are not finite; use an earlier checkpoint")


def check_size(weights: Mapping[str, Tensor], config: ModelConfig, *, where: str) -> None:
    """Raise if a config needs far more weights than there are, before a model of that size is allocated."""
    there = sum(tensor.numel() for tensor in weights.values())
    if config.block_weights > there:
        raise AliceError(
            f"{where}: weights do not fit the config: its blocks alone need {config.block_weights:,} of them, "
            f"and there are {there:,}; use the config they were saved with"
        )
    if TENSORS_PER_BLOCK * config.n_blocks > len(weights):
        raise AliceError(
            f"{where}: weights do not fit the config: its {config.n_blocks} blocks need {TENSORS_PER_BLOCK} tensors "
            f"each, and there are {len(weights)}; use the config they were saved with"
        )


def check_fit(weights: Mapping[str, Tensor], wanted: Mapping[str, Tensor], *, where: str) -> None:
    """Raise if weights are missing, unknown or of another shape than the model needs."""
    missing, extra = sorted(wanted.keys() - weights.keys()), sorted(weights.keys() - wanted.keys())
    if missing or extra:
        parts = [
            f"{len(names)} {what} (first: {shown(names[0])})"
            for names, what in ((missing, "missing"), (extra, "unknown"))
            if names
        ]
        raise AliceError(
            f"{where}: weights do not fit the config: {', '.join(parts)}; use the config they were saved with"
        )
    for name, tensor in wanted.items():
        if weights[name].shape != tensor.shape:
            raise AliceError(
                f"{where}: {name} has shape {tuple(weights[name].shape)}, but the config needs {tuple(tensor.shape)}"
            )


def write(
    folder: Path, config: ModelConfig, weights: Mapping[str, Tensor], *, dtype: torch.dtype = torch.float32
) -> None:
    """Write a checkpoint folder, each of its two files atomically; nothing is written if a weight is not finite."""
    make_folder(folder)
    write_weights(folder / WEIGHTS, {name: in_dtype(name, tensor, dtype) for name, tensor in weights.items()})
    write_json(folder / CONFIG, {"format": FORMAT, **config.to_dict()})


def write_json(path: Path, values: Mapping[str, Any]) -> None:
    """Write a JSON file atomically."""
    with atomic_write(path) as file:
        json.dump(dict(values), file, indent=2)
        file.write("\n")


def in_dtype(name: str, tensor: Tensor, dtype: torch.dtype) -> Tensor:
    """Return a weight in another precision; raise if it is too large for it."""
    largest = torch.finfo(dtype).max
    if tensor.numel() and tensor.isfinite().all() and (size := float(tensor.abs().max())) > largest:
        raise AliceError(
            f"{shown(name)} has a weight of {size:.3g}, and {str(dtype).removeprefix('torch.')} ends at {largest:.5g}; "
            "use the checkpoint in single precision, or train again with a lower learning rate"
        )
    return tensor.to(dtype)


def write_weights(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write weights or a training state atomically; raise before anything is written if a value is not finite."""
    for name, tensor in tensors.items():
        if not tensor.isfinite().all():
            raise AliceError(
                f"{path} was not written, because {shown(name)} has values that are not finite; "
                "what was saved before is intact: resume from it, or train again with a lower learning rate"
            )
    write_tensors(path, tensors, metadata)


def write_tensors(path: Path, tensors: Mapping[str, Tensor], metadata: Mapping[str, str] | None = None) -> None:
    """Write a safetensors file atomically."""
    plain = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
    with atomic_write(path, "wb") as file:
        file.write(save(plain, metadata=dict(metadata) if metadata else None))
