"""A checkpoint as one header and half-precision bytes, which the engine of the explorer page loads."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from alice.checkpoint.folder import check_size, in_dtype, read, resolve, shown
from alice.errors import AliceError, printable
from alice.model import ModelConfig
from alice.text import Alphabet


@dataclass(frozen=True)
class Packed:
    """A model for the explorer page."""

    header: dict[str, Any]
    """Name, configuration, ids of A to Z, and the offset (in numbers) and shape of each tensor in the weights."""
    weights: bytes
    """All tensors in half precision, little-endian, one after the other."""


def pack(checkpoint: str | Path) -> Packed:
    """Read a checkpoint and round it to half precision; raise if its weights do not fit its configuration."""
    folder = resolve(checkpoint)
    config, weights = read(folder)
    check_size(weights, config, where=str(folder))
    return pack_weights(folder.absolute().name, config, weights, where=str(folder))


def pack_weights(name: str, config: ModelConfig, weights: Mapping[str, Tensor], *, where: str) -> Packed:
    """Round the weights of a model to half precision; errors name `where`."""
    _check_shapes(weights, tensor_shapes(config), where=where)
    tensors, parts, offset = {}, [], 0
    for tensor, shape in tensor_shapes(config).items():
        half = in_dtype(tensor, weights[tensor].detach().cpu(), torch.float16).contiguous()
        tensors[tensor] = [offset, list(shape)]
        parts.append(half.numpy().astype("<f2").tobytes())
        offset += half.numel()
    header = {
        "name": printable(name),
        "config": config.to_dict(),
        "letter_ids": Alphabet(config.symbols).letter_ids.tolist(),
        "tensors": tensors,
    }
    return Packed(header, b"".join(parts))


def tensor_shapes(config: ModelConfig) -> dict[str, tuple[int, ...]]:
    """Return the shape of every weight of a model, without building the model, which is slow to import."""
    width, size = config.d_model, config.d_vocab
    dynamic, bijective = config.variant == "dynamic", config.variant == "bijective"
    shapes: dict[str, tuple[int, ...]] = {"hypernet.embed.weight" if dynamic else "embed.weight": (size, width)}
    if dynamic:
        shapes["hypernet.query"] = (size, width)
        for block in range(config.hyper_layers):
            shapes |= _block_shapes(f"hypernet.blocks.{block}", width, config.hyper_mlp or config.d_mlp)
    for block in range(config.n_layers):
        shapes |= _block_shapes(f"blocks.{block}", width, config.d_mlp)
    shapes |= {"ln_final.w": (width,), "head.unembed.weight": (size, width), "head.unembed.bias": (size,)}
    return shapes | ({"head.query": (size, width)} if bijective else {})


def _block_shapes(name: str, width: int, hidden: int) -> dict[str, tuple[int, ...]]:
    return {
        f"{name}.ln1.w": (width,),
        f"{name}.attn.qkv.weight": (3 * width, width),
        f"{name}.attn.out.weight": (width, width),
        f"{name}.ln2.w": (width,),
        f"{name}.mlp.gate_up.weight": (2 * hidden, width),
        f"{name}.mlp.down.weight": (width, hidden),
    }


def _check_shapes(weights: Mapping[str, Tensor], wanted: dict[str, tuple[int, ...]], *, where: str) -> None:
    for name in wanted.keys() ^ weights.keys():
        problem = "missing" if name in wanted else "unknown"
        raise AliceError(f"{where}: the weight {shown(name)} is {problem}; use the config they were saved with")
    for name, shape in wanted.items():
        if tuple(weights[name].shape) != shape:
            raise AliceError(f"{where}: {name} has shape {tuple(weights[name].shape)}, but the config needs {shape}")
