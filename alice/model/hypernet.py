"""Embeddings that depend on the text: a small Transformer computes an embedding table for each text."""

from dataclasses import replace
from typing import Any, cast

import torch
from torch import Tensor, nn

from alice.model.config import ModelConfig
from alice.model.hooks import Hook
from alice.model.layers import Block
from alice.model.renaming import hook_by_symbol


class HyperNetwork(nn.Module):
    """Reads the whole text; then one learnable query per symbol gathers its embedding."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.skip, self.sees_padding = config.hyper_skip, config.hyper_sees_padding
        self.embed = nn.Embedding(config.d_vocab, config.d_model)
        inner = replace(config, d_mlp=config.hyper_mlp or config.d_mlp)
        if not config.hyper_dropout:
            inner = replace(inner, dropout=0.0, attention_dropout=0.0, stochastic_depth=0.0)
        rates = inner.skip_rates(config.hyper_layers)
        self.blocks = nn.ModuleList(Block(inner, config.hyper_heads, rate) for rate in rates)
        if config.hyper_rope_truncated:
            for block in self.blocks:
                cast(Any, block).attn.rotary.trunc_()
        self.query = nn.Parameter(torch.empty(config.d_vocab, config.d_model))
        self.hook_embed = Hook()  # (batch, pos, d_model)
        self.hook_pattern = Hook()  # (batch, symbol, pos)
        self.hook_table = Hook()  # (batch, symbol, d_model)

    def forward(self, ids: Tensor, mask: Tensor | None, names: Tensor | None = None) -> Tensor:
        """Return the embedding of every position, (batch, pos) -> (batch, pos, d_model).

        Args:
            ids: cipher symbols, as the model has renamed them.
            mask: where there is text, (batch, pos); None for everywhere.
            names: new id of every id, (batch, symbol), if the model has renamed them; for the hooks.

        """
        if self.sees_padding and self.training:
            mask = None
        x = self.hook_embed(self.embed(ids))
        for block in self.blocks:
            x = block(x, mask)
        scores = self.query.to(x.dtype) @ x.transpose(-1, -2) * x.shape[-1] ** -0.5  # (batch, symbol, pos)
        if mask is not None:
            scores = scores.masked_fill(~mask[:, None, :], -torch.inf)
        table = hook_by_symbol(self.hook_pattern, scores.softmax(-1), names, 1) @ x
        if self.skip:
            table = table + self.embed.weight.to(x.dtype)
        table = hook_by_symbol(self.hook_table, table, names, 1)
        return table.gather(1, ids.unsqueeze(-1).expand(-1, -1, x.shape[-1]))
