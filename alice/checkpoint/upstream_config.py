"""The authors' configuration as ours.

Theirs leaves out some facts of their code: 1,024 rotary positions with base 10,000, RMSNorm with eps 1e-5, answers that
may be any id, and a rotary table in the hypernetwork that is truncated to integers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from alice.errors import AliceError
from alice.model import ModelConfig, Variant
from alice.model.config import LARGEST_NUMBER, LARGEST_SIZE
from alice.text import LETTERS, Alphabet

if TYPE_CHECKING:
    from torch import Tensor

POSITIONS, ROPE_BASE, NORM_EPS = 1024, 10_000.0, 1e-5
MLP_MULTIPLE = 256
LONGEST_SHOWN = 60
HYPER_GATE = "embeddings.blocks.0.feed_forward.w1.weight"


def mlp_width(dim: int, multiplier: float | None, multiple: int) -> int:
    """Return the hidden width of the authors' feed-forward layers."""
    width = int(2 * 4 * dim / 3)
    if multiplier is not None:
        width = int(multiplier * width)
    return -(-width // multiple) * multiple


def model_config(
    values: Mapping[str, Any],
    weights: "Mapping[str, Tensor]",
    *,
    alphabet: str | None = None,
    cross_heads: int | None = None,
    where: str,
) -> ModelConfig:
    """Return our configuration for the authors'; the weights decide what theirs leaves open.

    Args:
        values: the checkpoint's `config`.
        weights: the tensors, under the authors' names.
        alphabet: the symbols in the order of their ids; letters, space and `extra_chars` if None.
        cross_heads: heads of the cross-attention of a bijective model; those that the configuration states if None.
        where: the file, for error messages.

    """
    read = _Values(values, where)
    dim, heads = read.whole("dim"), read.whole("n_head")
    multiplier = read.number("ffn_dim_multiplier") if values.get("ffn_dim_multiplier") is not None else None
    variant = _variant(read)
    if cross_heads is not None and variant != "bijective":
        raise AliceError(f"{where} is a {variant} model, which has no cross-attention head; leave out --cross-heads")
    special: dict[str, Any] = {"hyper_heads": heads}
    if variant == "bijective":
        special |= {"sinkhorn_tau": read.number("sinkhorn_tau"), "sinkhorn_iters": read.whole("sinkhorn_iters")}
        stated = stated_cross_heads(values, where=where) or 1
        special["cross_heads"] = cross_heads or (1 if dim % stated else stated)
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


def stated_cross_heads(values: Mapping[str, Any], *, where: str) -> int | None:
    """Return the number of cross-attention heads that the authors' configuration states, if it does.

    Their trainer does not pass it on to the model, which then has one head whatever the file states.
    """
    stated = values.get("cross_n_head")
    if stated is None or (isinstance(stated, int) and not stated):
        return None
    return _Values(values, where).whole("cross_n_head")


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
        if not is_whole(value, least=1):
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


def is_whole(value: Any, *, least: int) -> bool:
    """Return whether a value of a file is a whole number from `least` to the largest size of a model."""
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


def _hyper_width(dim: int, multiplier: float | None, multiple: int, weights: "Mapping[str, Tensor]") -> int:
    """Return the hidden width in the hypernetwork, with or without the multiplier, whichever the weights have."""
    plain, scaled = mlp_width(dim, None, multiple), mlp_width(dim, multiplier, multiple)
    gate = weights.get(HYPER_GATE)
    return scaled if gate is not None and gate.ndim and len(gate) == scaled else plain


def _symbols(read: _Values, alphabet: str | None, weights: "Mapping[str, Tensor]") -> str:
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
