"""Imports a checkpoint of the authors' code (al-jshen/alice), a file of `torch.save`: its weights under our names."""

import warnings
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from pickle import UnpicklingError
from typing import Any
from zipfile import is_zipfile

import torch
from torch import Tensor

from alice.checkpoint import folder
from alice.checkpoint.upstream_config import is_whole, model_config, stated_cross_heads
from alice.errors import AliceError, nearest, printable
from alice.files import atomic_write, regular_file
from alice.model import ModelConfig

WEIGHTS, AVERAGED, CONFIG, STEP = "model_state_dict", "ema_model_state_dict", "config", "global_step"
PREFIXES = ("_orig_mod.", "module.")
"""Prefixes that compiling and averaging add to the names of weights, possibly both."""

Piece = tuple[str, tuple[int, ...], str]
"""The authors' name of a tensor, its shape, and our name; pieces with the same name of ours are stacked in order."""


@dataclass(frozen=True, eq=False)
class Upstream:
    """One of the authors' checkpoints, translated into our names."""

    config: ModelConfig
    weights: dict[str, Tensor]
    """Weights by our names, in single precision."""
    step: int | None
    """Number of training steps, if the file has it."""
    source: str
    """Entry of the file that the weights come from."""
    has_average: bool
    """Whether the file also has averaged weights."""
    stated_cross_heads: int | None = None
    """Heads of the cross-attention that the file states; None if it states none or the model is not bijective."""

    def with_cross_heads(self, heads: int) -> "Upstream":
        """Return the same weights with another number of cross-attention heads."""
        return replace(self, config=replace(self.config, cross_heads=heads))

    def possible_cross_heads(self) -> list[int]:
        """Return the likely numbers of cross-attention heads: that of the configuration first, then 1 and `n_heads`."""
        heads = (self.config.cross_heads, 1, self.config.n_heads)
        return list(dict.fromkeys(heads)) if self.config.variant == "bijective" else [self.config.cross_heads]


def read(file: Path, *, alphabet: str | None = None, cross_heads: int | None = None, ema: bool = False) -> Upstream:
    """Read a checkpoint of the authors' code; raise AliceError if it is damaged or does not fit.

    Args:
        file: what their trainer saved.
        alphabet: the symbols in the order of their ids; letters, space, then the config's `extra_chars` if None.
        cross_heads: heads of the cross-attention of a bijective model; those that the file states, or 1, if None.
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
    config = model_config(saved[CONFIG], weights, alphabet=alphabet, cross_heads=cross_heads, where=where)
    step = saved.get(STEP) if is_whole(saved.get(STEP), least=0) else None
    stated = stated_cross_heads(saved[CONFIG], where=where) if config.variant == "bijective" else None
    return Upstream(config, rename(weights, config, where=where), step, source, AVERAGED in saved, stated)


def write(out: Path, file: str, found: Upstream, *, check: str, decodes: bool) -> None:
    """Write an imported checkpoint and its card, and remove the other files of an earlier checkpoint."""
    for name in (folder.CARD, folder.TRAINING, folder.METRICS):
        (out / name).unlink(missing_ok=True)
    folder.write(out, found.config, found.weights)
    with atomic_write(out / folder.CARD) as page:
        page.write(card(printable(out.name), printable(file), found, check=check, decodes=decodes))


def card(name: str, file: str, found: Upstream, *, check: str, decodes: bool) -> str:
    """Return the card of an imported checkpoint as Markdown: its origin, what was assumed, and how well it decodes."""
    config = found.config
    trained = f" after {found.step:,} steps" if found.step is not None else ""
    truncated = (
        "- The rotary table of the hypernetwork is truncated to integers, as in the authors' code.\n"
        if config.hyper_rope_truncated
        else ""
    )
    verdict = "" if decodes else f" **It does not decode: {doubts(config)}.**"
    return f"""# {name}

A `{config.variant}` ALICE model of the authors' code (al-jshen/alice), imported with `alice-interp ckpt import` from
`{file}`: the weights in `{found.source}`{trained}.

## Assumptions

- The symbols in the order of their ids, after padding: `{config.symbols}`. The authors' tokeniser is not published.
- Any id can be an answer, including padding and punctuation, as in the authors' code.
{_heads_line(found)}{truncated}
## Check

{check}.{verdict}
"""


def doubts(config: ModelConfig) -> str:
    """Return why an imported model may not decode."""
    heads = " or the number of cross-attention heads" if config.variant == "bijective" else ""
    return f"the order of the symbols{heads} may be another one, or the model is not trained"


def cross_heads_found(found: Upstream) -> str:
    """Return a line that names the number of cross-attention heads that decodes, and the one in the file."""
    return f"cross-attention with {_heads(found)} decodes; the file states {found.stated_cross_heads or 'no number'}"


def _heads_line(found: Upstream) -> str:
    if found.config.variant != "bijective":
        return ""
    return (
        f"- The cross-attention has {_heads(found)}; the file states {found.stated_cross_heads or 'no number'}. "
        "The authors' trainer ignores that number and uses 1.\n"
    )


def _heads(found: Upstream) -> str:
    return "1 head" if found.config.cross_heads == 1 else f"{found.config.cross_heads} heads"


def _load(file: Path) -> Any:
    """Return the contents of a file of `torch.save` if they are tensors and plain values; no code in it is executed."""
    regular_file(file)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # torch warns about formats that we reject anyway
            # With mmap the optimizer's state, twice as large as the model, is never read.
            return torch.load(file, weights_only=True, map_location="cpu", mmap=is_zipfile(file))
    except UnpicklingError as error:
        raise AliceError(
            f"{file} holds more than tensors and plain values; reading it could execute code, so it is refused"
        ) from error
    except OSError as error:
        raise AliceError(f"{file} cannot be read ({error.strerror}); give a file saved by the authors' code") from error
    except Exception as error:  # parsing arbitrary bytes can raise anything
        raise AliceError(f"{file} is empty, truncated or not a file of torch.save; download it again") from error


def _unwrap(state: Mapping[Any, Any], *, averaged: bool, where: str) -> dict[str, Tensor]:
    """Strip the prefixes from the names; raise if a value is not a plain tensor of numbers."""
    weights: dict[str, Tensor] = {}
    for key, tensor in state.items():
        if not isinstance(key, str):
            raise AliceError(f"{where}: the name of a tensor is not a text; the file is damaged")
        name = key
        while name.startswith(PREFIXES):
            name = name.partition(".")[2]
        if averaged and name == "n_averaged":
            continue  # the update counter of torch's AveragedModel
        if not _is_plain(tensor):
            raise AliceError(
                f"{where}: {folder.shown(key)} is not a dense tensor of floating-point numbers; the file is damaged"
            )
        if name in weights:
            raise AliceError(
                f"{where}: {folder.shown(name)} occurs twice, with and without a prefix; the file is damaged"
            )
        weights[name] = tensor
    return weights


def _is_plain(value: Any) -> bool:
    """Return whether a value is a dense floating-point tensor whose numbers are all stored, not repeated by strides."""
    if not isinstance(value, Tensor) or value.layout != torch.strided or value.device.type != "cpu":
        return False
    return value.is_floating_point() and value.numel() * value.itemsize <= value.untyped_storage().nbytes()


def rename(weights: Mapping[str, Tensor], config: ModelConfig, *, where: str) -> dict[str, Tensor]:
    """Return weights under our names, in single precision; raise if one is missing, unknown or of another shape."""
    found: defaultdict[str, list[Tensor]] = defaultdict(list)
    left = dict(weights)
    for theirs, shape, ours in pieces(config):
        if theirs not in left:
            raise AliceError(f"{where}: {theirs} is missing; the config is of another model, or the file is damaged")
        tensor = left.pop(theirs)
        if tensor.shape != shape:
            raise AliceError(f"{where}: {theirs} has shape {tuple(tensor.shape)}, but the config needs {shape}")
        found[ours].append(tensor)
    if left:
        name = folder.shown(min(left))
        raise AliceError(
            f"{where}: {len(left)} tensors are unknown (first: {name}){nearest(name, weights.keys() - left.keys())}"
        )
    return {name: torch.cat([part.float() for part in parts]) for name, parts in found.items()}


def pieces(config: ModelConfig) -> Iterator[Piece]:
    """Yield every tensor of a model with the authors' name, its shape and our name."""
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
