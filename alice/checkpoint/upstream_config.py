"""What the configuration in one of the authors' checkpoints says in our terms.

Facts of their code that are no keys of it: 1,024 rotary positions with base 10,000, RMSNorm with eps 1e-5, answers that
may be any id, and a rotary table in the hypernetwork that is cut to whole numbers.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from alice.errors import AliceError
from alice.model.config import ModelConfig, Variant
from alice.text.alphabet import LETTERS, Alphabet

POSITIONS, ROPE_BASE, NORM_EPS = 1024, 10_000.0, 1e-5
MLP_MULTIPLE = 256
HYPER_GATE = "embeddings.blocks.0.feed_forward.w1.weight"


def mlp_width(dim: int, multiplier: float | None, multiple: int) -> int:
    """Return the hidden width of the authors' feed-forward layers."""
    width = int(2 * 4 * dim / 3)
    if multiplier is not None:
        width = int(multiplier * width)
    return -(-width // multiple) * multiple


def model_config(
    values: Mapping[str, Any], weights: Mapping[str, Tensor], *, alphabet: str | None, where: str
) -> ModelConfig:
    """Return our configuration for theirs; `weights`, by their names, settle what it leaves open.

    Args:
        values: the checkpoint's `config`.
        weights: the tensors, under the authors' names.
        alphabet: the symbols in the order of their ids; letters, space and `extra_chars` if None.
        where: the file, for errors.

    """
    read = _Values(values, where)
    dim, heads = read.whole("dim"), read.whole("n_head")
    multiplier = read.number("ffn_dim_multiplier") if values.get("ffn_dim_multiplier") is not None else None
    variant = _variant(read)
    special: dict[str, Any] = {"hyper_heads": heads}
    if variant == "bijective":
        special |= {"sinkhorn_tau": read.number("sinkhorn_tau"), "sinkhorn_iters": read.whole("sinkhorn_iters")}
        special["cross_heads"] = read.whole("cross_n_head") if values.get("cross_n_head") else 1
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
    """Reads keys of the authors' configuration; a missing key or a strange value is an error naming it."""

    values: Mapping[str, Any]
    where: str

    def _get(self, name: str) -> Any:
        if name not in self.values:
            raise AliceError(f"{self.where}: the config has no {name!r}; it is not one of the authors' checkpoints")
        return self.values[name]

    def _refuse(self, name: str, wanted: str) -> AliceError:
        return AliceError(f"{self.where}: {name!r} in the config is {self.values[name]!r}, not {wanted}")

    def whole(self, name: str) -> int:
        value = self._get(name)
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise self._refuse(name, "a whole number of at least 1")
        return value

    def number(self, name: str) -> float:
        value = self._get(name)
        if not isinstance(value, int | float) or isinstance(value, bool) or not 0 < value < float("inf"):
            raise self._refuse(name, "a positive number")
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


def _variant(read: _Values) -> Variant:
    """Say which of our variants it is; older configs lack the keys of what came later."""
    dynamic = "dynamic_embeddings" in read.values and read.flag("dynamic_embeddings")
    bijective = "sinkhorn_decoding" in read.values and read.flag("sinkhorn_decoding")
    if not read.flag("unique_decoding"):
        raise AliceError(
            f"{read.where}: 'unique_decoding' in the config is False: a model that does not average each symbol's "
            "vectors over the text can answer a symbol in two ways, which ours cannot; it cannot be imported"
        )
    if dynamic and bijective:
        raise AliceError(
            f"{read.where}: a model with both dynamic embeddings and the bijective head is none of our three variants; "
            "it cannot be imported"
        )
    return "dynamic" if dynamic else "bijective" if bijective else "base"


def _hyper_width(dim: int, multiplier: float | None, multiple: int, weights: Mapping[str, Tensor]) -> int:
    """Return the hidden width in the hypernetwork: of the widths with and without the multiplier, the one it has."""
    plain, scaled = mlp_width(dim, None, multiple), mlp_width(dim, multiplier, multiple)
    gate = weights.get(HYPER_GATE)
    return scaled if gate is not None and gate.ndim and len(gate) == scaled else plain


def _symbols(read: _Values, alphabet: str | None, weights: Mapping[str, Tensor]) -> str:
    """Return the symbols in the order of their ids; refuse another number of them than the model has."""
    symbols = LETTERS + " " + read.text("extra_chars") if alphabet is None else alphabet
    Alphabet(symbols)
    bias = weights.get("debed.bias")
    if bias is not None and bias.ndim == 1 and len(bias) != len(symbols) + 1:
        raise AliceError(
            f"debed.bias has {len(bias)} entries, one for padding and each of {len(bias) - 1} symbols, but the "
            f"alphabet {symbols!r} has {len(symbols)}; give all symbols in their order with --alphabet"
        )
    return symbols
