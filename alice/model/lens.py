"""The rest of the TransformerLens surface, next to hooks: `cfg`, stacked weights, tokens and their directions.

With these, `ActivationCache.logit_attrs`, `stack_head_results`, `get_full_resid_decomposition` and the functions of
`transformer_lens.patching` work on an Alice model as they do on any other.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import torch
from torch import Tensor

from alice.errors import AliceError
from alice.model.config import ModelConfig
from alice.text import Alphabet
from alice.text.alphabet import pad

if TYPE_CHECKING:
    from collections.abc import Sequence

    from torch import nn

    from alice.model.heads import BijectiveHead, LinearHead
    from alice.model.layers import RMSNorm
    from alice.text import Ids


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


class LensSurface:
    """Mixin for a model that has `config`, `alphabet`, `blocks`, `ln_final` and `head`."""

    config: ModelConfig
    alphabet: Alphabet
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
        )

    @property
    def W_U(self) -> Tensor:  # noqa: N802  (TransformerLens' names)
        """Unembedding weights, (d_model, d_vocab)."""
        return self.head.unembed.weight.T

    @property
    def b_U(self) -> Tensor:  # noqa: N802
        """Unembedding bias, (d_vocab,)."""
        return self.head.unembed.bias

    @property
    def W_O(self) -> Tensor:  # noqa: N802
        """Output weights of every head, (block, head, d_head, d_model)."""
        return torch.stack([cast(Any, block).attn.W_O for block in self.blocks])

    def to_tokens(self, texts: str | Sequence[str]) -> Tensor:
        """Return the ids of one text or several on the model's device, (batch, pos), padded on the right."""
        texts = [texts] if isinstance(texts, str) else list(texts)
        if not texts or not all(texts):
            raise AliceError("there is an empty text; give texts of at least one character")
        return torch.from_numpy(pad([self.alphabet.encode(text) for text in texts]).astype("int64")).to(self.cfg.device)

    def to_string(self, tokens: Tensor | Ids | Sequence[int] | Sequence[Sequence[int]]) -> str | list[str]:
        """Return the text of ids, (pos,), or the texts of a batch of ids, (batch, pos); padding is left out."""
        try:
            ids = tokens.detach().cpu().numpy() if isinstance(tokens, Tensor) else np.asarray(tokens)
        except ValueError as error:
            raise AliceError("the texts have different lengths; convert them one by one, or pad them with 0") from error
        if ids.ndim not in (1, 2) or not (np.issubdtype(ids.dtype, np.integer) or ids.size == 0):
            raise AliceError(
                f"ids of shape {ids.shape} and type {ids.dtype} are not texts; give integers, (pos) or (batch, pos)"
            )
        rows = [self.alphabet.decode(row) for row in np.atleast_2d(ids).astype(np.int64)]
        return rows if ids.ndim == 2 else rows[0]

    def to_single_token(self, symbol: str) -> int:
        """Return the id of one character."""
        if len(symbol) != 1:
            raise AliceError(f"{symbol!r} has {len(symbol)} characters; a token of this model is exactly one")
        return int(self.alphabet.encode(symbol)[0])

    def tokens_to_residual_directions(self, tokens: str | int | Tensor) -> Tensor:
        """Return the direction in the normalised residual stream that raises each token's logit, (..., d_model).

        It includes the learned scale of the final norm, since `logit_attrs` only divides by the norm.
        """
        if isinstance(tokens, str):
            tokens = self.to_single_token(tokens)
        return (self.ln_final.w * self.W_U.T)[tokens]

    def accumulated_bias(self, layer: int, mlp_input: bool = False, include_mlp_biases: bool = True) -> Tensor:
        """Return the sum of the biases added to the stream before block `layer`: zeros, since the blocks have none."""
        return torch.zeros(self.config.d_model, device=self.cfg.device, dtype=self.cfg.dtype)
