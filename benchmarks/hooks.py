"""The cost of unused hooks: the hooked model compared with the same weights in plain torch modules.

The plain model here is for inference only; it computes in place wherever the hooked model does.
"""

from collections.abc import Iterator
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from alice.bench.measuring import Ratio, compare, one_core, take_turns
from alice.errors import AliceError
from alice.model import Alice, Block, ModelConfig, rotary_table
from alice.training import model_config

SHAPES = {"40 texts of 100 characters": (40, 100), "16 texts of 256": (16, 256), "one text of 100": (1, 100)}


def measure(*, quick: bool) -> Iterator[Ratio]:
    """Compare for several batch shapes."""
    torch.manual_seed(0)
    model = Alice(model_config("small")).eval()
    plain = PlainAlice(model).eval()
    for case, shape in SHAPES.items():
        ids = torch.randint(1, model.config.d_vocab, shape)
        with one_core(), torch.inference_mode():
            if not torch.allclose(model(ids), plain(ids), atol=1e-4):
                raise AliceError("the plain model and the hooked one disagree, so their times cannot be compared")
            contestants = {"hooked": lambda ids=ids: model(ids), "plain": lambda ids=ids: plain(ids)}
            rounds = (10 if quick else 60) * (5 if shape[0] == 1 else 1)
            times = take_turns(contestants, rounds=rounds)
        yield compare(case, times, "hooked", "plain")


class PlainAttention(nn.Module):
    """Self-attention with rotary positions."""

    turns: Tensor

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.n_heads = config.n_heads
        self.qkv = nn.Linear(config.d_model, 3 * config.d_model, bias=False)
        self.out = nn.Linear(config.d_model, config.d_model, bias=False)
        table = rotary_table(config.d_head, config.n_ctx, config.rope_theta)
        self.register_buffer("turns", torch.view_as_complex(table), persistent=False)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Attend, (batch, pos, d_model) -> the same."""
        parts = self.qkv(x).unflatten(-1, (3, self.n_heads, -1))
        pairs = torch.view_as_complex(parts[:, :, :2].unflatten(-1, (-1, 2)))
        turned = torch.view_as_real(pairs * self.turns[: x.shape[1], None, None]).flatten(-2)
        (q, k), v = turned.transpose(1, 3).unbind(2), parts[:, :, 2].transpose(1, 2)
        allowed = None if mask is None else mask[:, None, None, :]
        return self.out(F.scaled_dot_product_attention(q, k, v, attn_mask=allowed).transpose(1, 2).flatten(2))


class PlainBlock(nn.Module):
    """One block."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.ln1 = nn.RMSNorm(config.d_model, eps=config.norm_eps)
        self.attn = PlainAttention(config)
        self.ln2 = nn.RMSNorm(config.d_model, eps=config.norm_eps)
        self.gate_up = nn.Linear(config.d_model, 2 * config.d_mlp, bias=False)
        self.down = nn.Linear(config.d_mlp, config.d_model, bias=False)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        """Add attention and feed-forward, (batch, pos, d_model) -> the same."""
        x = x + self.attn(self.ln1(x), mask)
        gate, up = self.gate_up(self.ln2(x)).chunk(2, dim=-1)
        return x + self.down(F.silu(gate).mul_(up))

    def copy_from(self, block: Block) -> "PlainBlock":
        """Share the weights of a hooked block."""
        self.ln1.weight, self.ln2.weight = block.ln1.w, block.ln2.w
        self.attn.qkv, self.attn.out = block.attn.qkv, block.attn.out
        self.gate_up, self.down = block.mlp.gate_up, block.mlp.down
        return self


class PlainAlice(nn.Module):
    """The base model without hooks, sharing the weights of a hooked one."""

    def __init__(self, model: Alice) -> None:
        super().__init__()
        self.d_vocab = model.config.d_vocab
        self.embed, self.unembed = model.embed, model.head.unembed
        self.blocks = nn.ModuleList(PlainBlock(model.config).copy_from(cast(Block, block)) for block in model.blocks)
        self.ln_final = nn.RMSNorm(model.config.d_model, eps=model.config.norm_eps)
        self.ln_final.weight = model.ln_final.w

    def forward(self, ids: Tensor) -> Tensor:
        """Decode, (batch, pos) -> logits (batch, pos, symbol)."""
        low, high = (int(v) for v in ids.aminmax())
        if high >= self.d_vocab:
            raise ValueError("ids exceed the vocabulary")
        mask = None if low else ids != 0
        x = self.embed(ids)
        for block in self.blocks:
            x = block(x, mask)
        x = self.ln_final(x)
        symbols = torch.arange(self.d_vocab, device=ids.device)
        member = (ids[:, None, :] == symbols[:, None]) & (ids != 0)[:, None, :]
        pooled = member.to(x.dtype) @ x / member.sum(-1).clamp(min=1).unsqueeze(-1)
        table = self.unembed(pooled)
        table[..., 0] = -1e9
        return table.gather(1, ids.unsqueeze(-1).expand(-1, -1, self.d_vocab))
