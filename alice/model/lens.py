"""The rest of the TransformerLens surface, next to hooks and tokens: `cfg`, stacked weights, directions of tokens.

With these, `ActivationCache.logit_attrs`, `stack_head_results`, `get_full_resid_decomposition`, `SVDInterpreter`
and the functions of `transformer_lens.patching` work on an Alice model as they do on any other.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NoReturn, cast

import torch
from torch import Tensor
from transformer_lens import FactoredMatrix
from transformer_lens.utilities import composition_scores

from alice.errors import AliceError
from alice.model.config import ModelConfig
from alice.model.hooks import MLP_INPUT, SPLIT_INPUT

if TYPE_CHECKING:
    from collections.abc import Callable

    from torch import nn

    from alice.model.heads import BijectiveHead, LinearHead
    from alice.model.layers import RMSNorm


@dataclass(frozen=True)
class LensConfig:
    """The fields of `model.cfg` that TransformerLens reads."""

    n_layers: int
    n_heads: int
    d_model: int
    d_head: int
    d_mlp: int
    d_vocab: int
    d_vocab_out: int
    n_ctx: int
    device: torch.device
    dtype: torch.dtype
    normalization_type: str = "RMS"
    final_rms: bool = True
    attn_only: bool = False
    n_key_value_heads: int | None = None
    positional_embedding_type: str = "rotary"
    act_fn: str = "silu"
    gated_mlp: bool = True
    default_prepend_bos: bool = False
    use_attn_result: bool = True
    use_split_qkv_input: bool = False
    use_hook_mlp_in: bool = False
    use_attn_in: bool = False


class LensSurface:
    """Mixin for a hooked model that has `config`, `blocks`, `ln_final` and `head`."""

    config: ModelConfig
    is_switched_on: Callable[[str], bool]
    to_single_token: Callable[[str], int]
    blocks: nn.ModuleList
    ln_final: RMSNorm
    head: LinearHead | BijectiveHead

    @property
    def cfg(self) -> LensConfig:
        """The configuration as TransformerLens names it."""
        c, weight = self.config, self.head.unembed.weight
        return LensConfig(
            n_layers=c.n_layers,
            n_heads=c.n_heads,
            d_model=c.d_model,
            d_head=c.d_head,
            d_mlp=c.d_mlp,
            d_vocab=c.d_vocab,
            d_vocab_out=c.d_vocab,
            n_ctx=c.n_ctx,
            device=weight.device,
            dtype=weight.dtype,
            use_split_qkv_input=self.is_switched_on(SPLIT_INPUT),
            use_hook_mlp_in=self.is_switched_on(MLP_INPUT),
        )

    @property
    def W_U(self) -> Tensor:  # noqa: N802  (TransformerLens' names)
        """Unembedding weights, (d_model, d_vocab)."""
        return self.head.unembed.weight.T

    @property
    def b_U(self) -> Tensor:  # noqa: N802
        """Unembedding bias, (d_vocab,)."""
        return self.head.unembed.bias

    def _stacked(self, module: str, weight: str) -> Tensor:
        return torch.stack([getattr(getattr(block, module), weight) for block in self.blocks])

    @property
    def W_Q(self) -> Tensor:  # noqa: N802
        """Query weights of every head, (block, head, d_model, d_head)."""
        return self._stacked("attn", "W_Q")

    @property
    def W_K(self) -> Tensor:  # noqa: N802
        """Key weights of every head, (block, head, d_model, d_head)."""
        return self._stacked("attn", "W_K")

    @property
    def W_V(self) -> Tensor:  # noqa: N802
        """Value weights of every head, (block, head, d_model, d_head)."""
        return self._stacked("attn", "W_V")

    @property
    def W_O(self) -> Tensor:  # noqa: N802
        """Output weights of every head, (block, head, d_head, d_model)."""
        return self._stacked("attn", "W_O")

    @property
    def W_in(self) -> Tensor:  # noqa: N802
        """Weights of the linear branch of every feed-forward layer, (block, d_model, d_mlp)."""
        return self._stacked("mlp", "W_in")

    @property
    def W_gate(self) -> Tensor:  # noqa: N802
        """Gate weights of every feed-forward layer, (block, d_model, d_mlp)."""
        return self._stacked("mlp", "W_gate")

    @property
    def W_out(self) -> Tensor:  # noqa: N802
        """Output weights of every feed-forward layer, (block, d_mlp, d_model)."""
        return self._stacked("mlp", "W_out")

    @property
    def W_E(self) -> Tensor:  # noqa: N802
        """Embedding weights, (symbol, d_model)."""
        if self.config.variant == "dynamic":
            raise AliceError(
                "a dynamic model has no W_E, since it writes an embedding for each text; cache hypernet.hook_table"
            )
        return cast(Any, self).embed.weight

    @property
    def W_pos(self) -> NoReturn:  # noqa: N802
        """Refuse: positions are rotary."""
        raise AliceError("the model has no W_pos, since its positions are rotary; see blocks[0].attn.rotary")

    def generate(self, *args: Any, **kwargs: Any) -> NoReturn:
        """Refuse: the model reads a whole text at once."""
        raise AliceError("the model decodes a whole text and generates nothing; call it, or use alice.solve")

    @property
    def QK(self) -> FactoredMatrix:  # noqa: N802
        """Query weights times transposed key weights of every head, (block, head, d_model, d_model)."""
        return FactoredMatrix(self.W_Q, self.W_K.transpose(-2, -1))

    @property
    def OV(self) -> FactoredMatrix:  # noqa: N802
        """Value weights times output weights of every head, (block, head, d_model, d_model)."""
        return FactoredMatrix(self.W_V, self.W_O)

    @property
    def all_head_labels(self) -> list[str]:
        """The names of all heads, `L0H0`, `L0H1` and so on."""
        return [f"L{block}H{head}" for block in range(self.config.n_layers) for head in range(self.config.n_heads)]

    def all_composition_scores(self, mode: Literal["Q", "K", "V"]) -> Tensor:
        """Return how much each head reads from each earlier one through queries, keys or values.

        The result is (block, head, block, head), writer first; 0 where the reader is not in a later block.
        """
        right = {"Q": lambda: self.QK, "K": lambda: self.QK.T, "V": lambda: self.OV}
        if mode not in right:
            raise AliceError(f"mode={mode!r} is unknown; give 'Q', 'K' or 'V'")
        scores: Tensor = composition_scores(self.OV, right[mode](), broadcast_dims=True)
        number = torch.arange(self.config.n_layers, device=scores.device)
        return scores * (number[:, None, None, None] < number[None, None, :, None])

    def tl_parameters(self) -> dict[str, Tensor]:
        """Return the weights of the backbone under TransformerLens' names, such as `blocks.0.attn.W_Q`."""
        weights = {} if self.config.variant == "dynamic" else {"embed.W_E": self.W_E}
        for number, block in enumerate(self.blocks):
            parts = (("ln1", "w"), *(("attn", f"W_{part}") for part in "QKVO"), ("ln2", "w"))
            for module, weight in (*parts, *(("mlp", f"W_{part}") for part in ("in", "gate", "out"))):
                weights[f"blocks.{number}.{module}.{weight}"] = getattr(getattr(block, module), weight)
        return weights | {"ln_final.w": self.ln_final.w, "unembed.W_U": self.W_U, "unembed.b_U": self.b_U}

    def tokens_to_residual_directions(self, tokens: str | int | Tensor) -> Tensor:
        """Return the direction in the normalised residual stream that raises each token's logit, (..., d_model).

        It includes the learned scale of the final norm, since `logit_attrs` only divides by the norm. For the
        bijective head it is an approximation, which a warning says: the head mixes symbols before it unembeds and
        normalises the scores afterwards.
        """
        if self.config.variant == "bijective":
            warnings.warn(
                "for a bijective model these attributions are approximate: they leave out the head's attention over "
                "symbols and its normalisation; to measure an effect on its scores, use model.soft() and patching",
                stacklevel=3,
            )
        if isinstance(tokens, str):
            tokens = self.to_single_token(tokens)
        return (self.ln_final.w * self.W_U.T)[tokens]

    def accumulated_bias(self, layer: int, mlp_input: bool = False, include_mlp_biases: bool = True) -> Tensor:
        """Return the sum of the biases added to the stream before block `layer`: zeros, since the blocks have none."""
        return torch.zeros(self.config.d_model, device=self.cfg.device, dtype=self.cfg.dtype)
