"""Imports a checkpoint of the authors' code (al-jshen/alice), a file of `torch.save`: its configuration and weights.

The authors' configuration leaves out some facts of their code: 1,024 rotary positions with base 10,000, RMSNorm with
eps 1e-5, answers that may be any id, and a rotary table in the hypernetwork that is truncated to integers.
"""

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

from alice.checkpoint import folder
from alice.errors import AliceError, nearest, printable
from alice.files import atomic_write, regular_file
from alice.model import ModelConfig, Variant
from alice.model.config import LARGEST_NUMBER, LARGEST_SIZE
from alice.text import LETTERS, Alphabet

WEIGHTS, AVERAGED, CONFIG, STEP = "model_state_dict", "ema_model_state_dict", "config", "global_step"
PREFIXES = ("_orig_mod.", "module.")
"""Prefixes that compiling and averaging add to the names of weights, possibly both."""
POSITIONS, ROPE_BASE, NORM_EPS = 1024, 10_000.0, 1e-5
MLP_MULTIPLE = 256
LONGEST_SHOWN = 60
HYPER_GATE = "embeddings.blocks.0.feed_forward.w1.weight"

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


def read(file: Path, *, alphabet: str | None = None, ema: bool = False) -> Upstream:
    """Read a checkpoint of the authors' code; raise AliceError if it is damaged or does not fit.

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
    step = saved.get(STEP) if _is_whole(saved.get(STEP), least=0) else None
    return Upstream(config, rename(weights, config, where=where), step, source, AVERAGED in saved)


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
    verdict = "" if decodes else " **It does not decode: the symbols are probably in another order.**"
    return f"""# {name}

A `{config.variant}` ALICE model of the authors' code (al-jshen/alice), imported with `alice-interp ckpt import` from
`{file}`: the weights in `{found.source}`{trained}.

## Assumptions

- The symbols in the order of their ids, after padding: `{config.symbols}`. The authors' tokeniser is not published.
- Any id can be an answer, including padding and punctuation, as in the authors' code.
{truncated}
## Check

{check}.{verdict}
"""


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


def mlp_width(dim: int, multiplier: float | None, multiple: int) -> int:
    """Return the hidden width of the authors' feed-forward layers."""
    width = int(2 * 4 * dim / 3)
    if multiplier is not None:
        width = int(multiplier * width)
    return -(-width // multiple) * multiple


def model_config(
    values: Mapping[str, Any], weights: Mapping[str, Tensor], *, alphabet: str | None, where: str
) -> ModelConfig:
    """Return our configuration for the authors'; the weights decide what theirs leaves open.

    Args:
        values: the checkpoint's `config`.
        weights: the tensors, under the authors' names.
        alphabet: the symbols in the order of their ids; letters, space and `extra_chars` if None.
        where: the file, for error messages.

    """
    read = _Values(values, where)
    dim, heads = read.whole("dim"), read.whole("n_head")
    multiplier = read.number("ffn_dim_multiplier") if values.get("ffn_dim_multiplier") is not None else None
    variant = _variant(read)
    special: dict[str, Any] = {"hyper_heads": heads}
    if variant == "bijective":
        special |= {"sinkhorn_tau": read.number("sinkhorn_tau"), "sinkhorn_iters": read.whole("sinkhorn_iters")}
        cross = values.get("cross_n_head")
        special["cross_heads"] = (
            1 if cross is None or (isinstance(cross, int) and not cross) else read.whole("cross_n_head")
        )
    elif variant == "dynamic":
        special = {"hyper_layers": read.whole("embedding_n_layer"), "hyper_heads": read.whole("embedding_n_head")}
        special["hyper_mlp"] = _hyper_width(dim, multiplier, max(1, dim // special["hyper_heads"]), weights)
        special["hyper_rope_truncated"] = True
    try:
        return ModelConfig(
            variant=variant,
            d_model=dim,
            n_layers=read.whole("n_layer"),
            n_heads=heads,
            d_mlp=mlp_width(dim, multiplier, MLP_MULTIPLE),
            symbols=_symbols(read, alphabet, weights),
            n_ctx=POSITIONS,
            norm_eps=NORM_EPS,
            rope_theta=ROPE_BASE,
            whole_vocab=True,
            **special,
        )
    except AliceError as error:
        raise AliceError(f"{where}: {error}") from error


@dataclass(frozen=True)
class _Values:
    """Reads keys of the authors' configuration; a missing key or an invalid value is an error that names it."""

    values: Mapping[str, Any]
    where: str

    def _get(self, name: str) -> Any:
        if name not in self.values:
            raise AliceError(f"{self.where}: the config has no {name!r}; it is not one of the authors' checkpoints")
        return self.values[name]

    def _refuse(self, name: str, wanted: str) -> AliceError:
        return AliceError(f"{self.where}: {name!r} in the config is {_shown_value(self.values[name])}, not {wanted}")

    def whole(self, name: str) -> int:
        value = self._get(name)
        if not _is_whole(value, least=1):
            raise self._refuse(name, f"a whole number of at least 1 and at most {LARGEST_SIZE:,}")
        return int(value)

    def number(self, name: str) -> float:
        value = self._get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < LARGEST_NUMBER:
            raise self._refuse(name, f"a positive number below {LARGEST_NUMBER:g}")
        return float(value)

    def flag(self, name: str) -> bool:
        value = self._get(name)
        if not isinstance(value, bool):
            raise self._refuse(name, "true or false")
        return value

    def text(self, name: str) -> str:
        value = self._get(name)
        if not isinstance(value, str):
            raise self._refuse(name, "a text")
        return value


def _is_whole(value: Any, *, least: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and least <= value <= LARGEST_SIZE


def _shown_value(value: Any) -> str:
    """Return a value of the authors' configuration as one short line."""
    return " ".join(repr(value).split())[:LONGEST_SHOWN]


def _variant(read: _Values) -> Variant:
    """Return which of our variants it is; older configs do not have the keys of later features."""
    dynamic = "dynamic_embeddings" in read.values and read.flag("dynamic_embeddings")
    bijective = "sinkhorn_decoding" in read.values and read.flag("sinkhorn_decoding")
    if not read.flag("unique_decoding"):
        raise AliceError(
            f"{read.where}: 'unique_decoding' in the config is False, so the model does not average the vectors of a "
            "symbol over the text, which all our variants do; it cannot be imported"
        )
    if dynamic and bijective:
        raise AliceError(
            f"{read.where}: no variant of ours has both dynamic embeddings and the bijective head; "
            "the model cannot be imported"
        )
    return "dynamic" if dynamic else "bijective" if bijective else "base"


def _hyper_width(dim: int, multiplier: float | None, multiple: int, weights: Mapping[str, Tensor]) -> int:
    """Return the hidden width in the hypernetwork, with or without the multiplier, whichever the weights have."""
    plain, scaled = mlp_width(dim, None, multiple), mlp_width(dim, multiplier, multiple)
    gate = weights.get(HYPER_GATE)
    return scaled if gate is not None and gate.ndim and len(gate) == scaled else plain


def _symbols(read: _Values, alphabet: str | None, weights: Mapping[str, Tensor]) -> str:
    """Return the symbols in the order of their ids; raise if their number is not the model's."""
    symbols = LETTERS + " " + read.text("extra_chars") if alphabet is None else alphabet
    Alphabet(symbols)
    bias = weights.get("debed.bias")
    if bias is not None and bias.ndim == 1 and len(bias) != len(symbols) + 1:
        raise AliceError(
            f"debed.bias has {len(bias)} entries, for padding and {len(bias) - 1} symbols, but the alphabet "
            f"{symbols!r} has {len(symbols)}; give all symbols in their order with --alphabet"
        )
    return symbols
