"""Reads a checkpoint of the authors' code (al-jshen/alice), a file of `torch.save`, and gives its weights our names."""

import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from zipfile import is_zipfile

import torch
from torch import Tensor

from alice.checkpoint.upstream_config import model_config
from alice.errors import AliceError, nearest
from alice.model.config import ModelConfig

WEIGHTS, AVERAGED, CONFIG, STEP = "model_state_dict", "ema_model_state_dict", "config", "global_step"
WRAPPERS = ("_orig_mod.", "module.")
"""What compiling and averaging put in front of names, maybe one on the other."""

Piece = tuple[str, tuple[int, ...], str]
"""Their name, the shape it should have, and our name; pieces of one name of ours are stacked in their order."""


@dataclass(frozen=True, eq=False)
class Upstream:
    """What one of the authors' checkpoints holds, in our terms."""

    config: ModelConfig
    weights: dict[str, Tensor]
    """By our names, in single precision."""
    step: int | None
    """How many steps it was trained, if it says so."""
    source: str
    """Which of the file's weights these are."""
    has_average: bool
    """Whether the file has averaged weights, too."""


def read(file: Path, *, alphabet: str | None = None, ema: bool = False) -> Upstream:
    """Read a checkpoint of the authors' code; whatever is wrong with it is one sentence.

    Args:
        file: what their trainer saved.
        alphabet: the symbols in the order of their ids; letters, space, then the config's `extra_chars` if None.
        ema: whether to take the weights averaged over training instead of the last ones.

    """
    saved, where = _load(file), str(file)
    source = AVERAGED if ema else WEIGHTS
    if not isinstance(saved, dict) or not isinstance(saved.get(WEIGHTS), dict):
        raise AliceError(f"{file} has no {WEIGHTS!r}; it is not one of the authors' checkpoints")
    if not isinstance(saved.get(CONFIG), dict):
        raise AliceError(f"{file} has no {CONFIG!r} that is a dict; it is not one of the authors' checkpoints")
    if not isinstance(saved.get(source), dict):
        raise AliceError(f"{file} has no averaged weights ({AVERAGED!r}); import it without --ema")
    weights = _unwrap(saved[source], averaged=ema, where=where)
    config = model_config(saved[CONFIG], weights, alphabet=alphabet, where=where)
    step = saved.get(STEP)
    return Upstream(
        config, rename(weights, config, where=where), step if isinstance(step, int) else None, source, AVERAGED in saved
    )


def _load(file: Path) -> Any:
    """Return what a file of `torch.save` holds if it is tensors and plain values; nothing in it is run."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns of formats that we refuse anyway
            # Mapped into memory, the optimizer's state, twice as large as the model, is never read.
            return torch.load(file, weights_only=True, map_location="cpu", mmap=is_zipfile(file))
    except UnpicklingError as error:
        raise AliceError(
            f"{file} holds more than tensors and plain values; reading such a file can run code, so it is refused"
        ) from error
    except OSError as error:
        raise AliceError(
            f"{file} cannot be read ({error.strerror}); give a file that the authors' code saved"
        ) from error
    except Exception as error:  # a parser of bytes from anywhere raises anything
        raise AliceError(f"{file} is empty, cut off or not a file of torch.save; get it again") from error


def _unwrap(state: Mapping[Any, Any], *, averaged: bool, where: str) -> dict[str, Tensor]:
    """Take the wrappers off the names; refuse what is no plain tensor of numbers."""
    weights: dict[str, Tensor] = {}
    for key, tensor in state.items():
        name = str(key)
        while name.startswith(WRAPPERS):
            name = name.partition(".")[2]
        if averaged and name == "n_averaged":
            continue  # torch's AveragedModel counts its updates there
        if not _is_plain(tensor):
            raise AliceError(f"{where}: {key} is no dense tensor of floating-point numbers; the file is damaged")
        if name in weights:
            raise AliceError(f"{where}: {name} is there twice, with and without a prefix; the file is damaged")
        weights[name] = tensor
    return weights


def _is_plain(value: Any) -> bool:
    """Say whether a value is a dense tensor of numbers that are all in the file, not one repeated by a trick."""
    if not isinstance(value, Tensor) or value.layout != torch.strided or value.device.type != "cpu":
        return False
    return value.is_floating_point() and value.numel() * value.itemsize <= value.untyped_storage().nbytes()


def rename(weights: Mapping[str, Tensor], config: ModelConfig, *, where: str) -> dict[str, Tensor]:
    """Return weights under our names, in single precision; refuse a tensor missing, unknown or of another shape."""
    found: defaultdict[str, list[Tensor]] = defaultdict(list)
    left = dict(weights)
    for theirs, shape, ours in pieces(config):
        if theirs not in left:
            raise AliceError(f"{where}: {theirs} is missing; the config is of another model, or the file is damaged")
        tensor = left.pop(theirs)
        if tensor.shape != shape:
            raise AliceError(
                f"{where}: {theirs} has shape {tuple(tensor.shape)}, but by the config it should be {shape}"
            )
        found[ours].append(tensor)
    if left:
        name = min(left)
        raise AliceError(
            f"{where}: {len(left)} tensors are unknown (first: {name}){nearest(name, weights.keys() - left.keys())}"
        )
    return {name: torch.cat([part.float() for part in parts]) for name, parts in found.items()}


def pieces(config: ModelConfig) -> Iterator[Piece]:
    """Yield every tensor of a model, as the authors' code names it and as ours does."""
    d, v = config.d_model, config.d_vocab
    if config.variant == "dynamic":
        yield "embeddings.dummy_embedding.weight", (v, d), "hypernet.embed.weight"
        yield "embeddings.query", (v, d), "hypernet.query"
        width = config.hyper_mlp or config.d_mlp
        yield from _blocks("embeddings.blocks", "hypernet.blocks", config.hyper_layers, d, width)
    else:
        yield "embeddings.weight", (v, d), "embed.weight"
    yield from _blocks("blocks", "blocks", config.n_layers, d, config.d_mlp)
    yield "norm.weight", (d,), "ln_final.w"
    if config.variant == "bijective":
        yield "output_query", (v, d), "head.query"
    yield "debed.weight", (v, d), "head.unembed.weight"
    yield "debed.bias", (v,), "head.unembed.bias"


def _blocks(theirs: str, ours: str, layers: int, d: int, width: int) -> Iterator[Piece]:
    """Yield the tensors of a stack of blocks."""
    for n in range(layers):
        yield f"{theirs}.{n}.attention_norm.weight", (d,), f"{ours}.{n}.ln1.w"
        yield f"{theirs}.{n}.attention.wqkv.weight", (3 * d, d), f"{ours}.{n}.attn.qkv.weight"
        yield f"{theirs}.{n}.attention.wo.weight", (d, d), f"{ours}.{n}.attn.out.weight"
        yield f"{theirs}.{n}.ffn_norm.weight", (d,), f"{ours}.{n}.ln2.w"
        yield f"{theirs}.{n}.feed_forward.w1.weight", (width, d), f"{ours}.{n}.mlp.gate_up.weight"
        yield f"{theirs}.{n}.feed_forward.w3.weight", (width, d), f"{ours}.{n}.mlp.gate_up.weight"
        yield f"{theirs}.{n}.feed_forward.w2.weight", (d, width), f"{ours}.{n}.mlp.down.weight"
