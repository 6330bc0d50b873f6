"""The parts of a Transformer block, with the hook points of TransformerLens.

Unused hooks cost nothing: attention scores and per-head results are computed only if their hook point has a hook.
"""

from collections.abc import Callable
from typing import Any, Self, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812  (the usual name)

from alice.model.config import ModelConfig
from alice.model.hooks import MLP_INPUT, SPLIT_INPUT, Hook, SwitchedHook


def at_least_fp32(x: Tensor) -> Tensor:
    """Return x as fp32 if its type is narrower."""
    return x if x.dtype in (torch.float32, torch.float64) else x.float()


class RMSNorm(nn.Module):
    """Divide by the root mean square over the last axis, then scale."""

    def __init__(self, width: int, eps: float) -> None:
        super().__init__()
        self.eps, self.shape = eps, (width,)
        self.w = nn.Parameter(torch.ones(width))
        self.hook_scale = Hook()  # (batch, pos, 1)
        self.hook_normalized = Hook()  # (batch, pos, d_model), before the learned scale

    def forward(self, x: Tensor) -> Tensor:
        """Normalise in fp32 or better, whatever the input type, (..., d_model) -> (..., d_model)."""
        wide = at_least_fp32(x)
        w = self.w.to(wide.dtype)
        if not (self.hook_scale.active or self.hook_normalized.active):
            return F.rms_norm(wide, self.shape, w, self.eps).to(x.dtype)
        scale = self.hook_scale((wide.square().mean(-1, keepdim=True) + self.eps).sqrt())
        return (self.hook_normalized(wide / scale) * w).to(x.dtype)


def rotary_table(d_head: int, n_ctx: int, theta: float) -> Tensor:
    """Return cosine and sine of the angle of every position and pair of dimensions, (n_ctx, d_head / 2, 2)."""
    frequencies = theta ** (-torch.arange(0, d_head, 2, dtype=torch.float64) / d_head)
    angles = torch.outer(torch.arange(n_ctx, dtype=torch.float64), frequencies)
    return torch.stack([angles.cos(), angles.sin()], dim=-1).float()


def rotate(x: Tensor, table: Tensor) -> Tensor:
    """Rotate adjacent pairs of the last axis by the angle of their position; x is (batch, pos, ..., head, d_head)."""
    pairs = at_least_fp32(x).unflatten(-1, (-1, 2))
    turns = table[: x.shape[1]].unsqueeze(-3).to(pairs.dtype)  # (pos, ..., 1, d_head / 2, 2)
    if torch.compiler.is_compiling():  # the compiler fuses real arithmetic and has no complex kernels
        (real, imag), (cos, sin) = pairs.unbind(-1), turns.unbind(-1)
        turned = torch.stack([real * cos - imag * sin, real * sin + imag * cos], dim=-1)
    else:  # a complex product is four times as fast as the same in real arithmetic
        turned = torch.view_as_real(torch.view_as_complex(pairs) * torch.view_as_complex(turns))
    return turned.flatten(-2).to(x.dtype)


def _fused_attention(q: Tensor, k: Tensor, v: Tensor, allowed: Tensor | None, dropped: float) -> Tensor:
    """Mix the values, all (batch, head, pos, d_head); bf16 on a CPU is computed in fp32 if a gradient is needed.

    The fused kernel's gradient takes three times as long in bf16 there, which would undo what the products gain.
    """
    if q.device.type != "cpu" or q.dtype != torch.bfloat16 or not q.requires_grad:
        return F.scaled_dot_product_attention(q, k, v, attn_mask=allowed, dropout_p=dropped)
    with torch.autocast("cpu", enabled=False):
        wide = q.float(), k.float(), v.float()
        return F.scaled_dot_product_attention(*wide, attn_mask=allowed, dropout_p=dropped).to(q.dtype)


class Attention(nn.Module):
    """Full self-attention with rotary positions and one matmul for queries, keys and values."""

    rotary: Tensor
    """Cosines and sines in fp32, whatever the type of the weights: rounded angles would misplace far positions."""

    def __init__(self, config: ModelConfig, n_heads: int) -> None:
        super().__init__()
        self.n_heads = n_heads
        self.d_head = config.d_model // n_heads
        self.dropout = config.attention_dropout
        self.qkv = nn.Linear(config.d_model, 3 * config.d_model, bias=False)
        self.out = nn.Linear(config.d_model, config.d_model, bias=False)
        self.register_buffer("rotary", rotary_table(self.d_head, config.n_ctx, config.rope_theta), persistent=False)
        self.hook_q = Hook()  # (batch, pos, head, d_head), likewise k, v, rot_q, rot_k and z
        self.hook_k = Hook()
        self.hook_v = Hook()
        self.hook_rot_q = Hook()
        self.hook_rot_k = Hook()
        self.hook_attn_scores = Hook()  # (batch, head, query, key)
        self.hook_pattern = Hook()  # (batch, head, query, key)
        self.hook_z = Hook()
        self.hook_result = Hook()  # (batch, pos, head, d_model)
        self.hook_q_input = SwitchedHook(SPLIT_INPUT)  # (batch, pos, head, d_model), likewise k and v
        self.hook_k_input = SwitchedHook(SPLIT_INPUT)
        self.hook_v_input = SwitchedHook(SPLIT_INPUT)

    def forward(self, x: Tensor, mask: Tensor | None, norm: RMSNorm | None = None) -> Tensor:
        """Attend, (batch, pos, d_model) -> the same.

        Args:
            x: the normalised stream.
            mask: (batch, pos), true where there is text.
            norm: if given, x is not normalised yet, and every head gets copies of its own for queries, keys and values.

        """
        if norm is not None:
            return self._attend(*self._split_inputs(x, norm), mask)
        parts = self.qkv(x).unflatten(-1, (3, self.n_heads, self.d_head))
        q, k, v = parts.unbind(2)
        if self.hook_q.active or self.hook_k.active:
            q, k = rotate(self.hook_q(q), self.rotary), rotate(self.hook_k(k), self.rotary)
        else:  # both at once
            q, k = rotate(parts[:, :, :2], self.rotary[:, None]).unbind(2)
        return self._attend(q, k, v, mask)

    def _split_inputs(self, resid: Tensor, norm: RMSNorm) -> tuple[Tensor, Tensor, Tensor]:
        """Return rotated queries and keys, and values, each from a copy of the stream for each head.

        The copies are normalised one by one, so the hooks of the norm run three times and have an axis for the heads.
        """
        copies = resid.unsqueeze(2).expand(-1, -1, self.n_heads, -1).contiguous()
        hooks = (self.hook_q_input, self.hook_k_input, self.hook_v_input)
        q, k, v = (
            torch.einsum("bphm,hmd->bphd", norm(hook(copies.clone())), self._split(index))
            for index, hook in enumerate(hooks)
        )
        return rotate(self.hook_q(q), self.rotary), rotate(self.hook_k(k), self.rotary), v

    def _attend(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Attend with rotated queries and keys, all (batch, pos, head, d_head) -> (batch, pos, d_model)."""
        q, k, v = self.hook_rot_q(q), self.hook_rot_k(k), self.hook_v(v)
        z = self.hook_z(self._mix(q, k, v, mask))
        if self.hook_result.active:
            return self.hook_result(torch.einsum("bphd,hdm->bphm", z, self.W_O)).sum(2)
        return self.out(z.flatten(2))

    def _apply(self, fn: Callable[[Tensor], Tensor], recurse: bool = True) -> Self:
        """Move or convert the parameters; the rotary table moves with them but stays in fp32."""
        table = self.rotary
        cast(Any, super())._apply(fn, recurse)  # not annotated in torch
        if self.rotary.dtype != table.dtype:
            self.rotary = table.to(self.rotary.device)
        return self

    def _mix(self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None) -> Tensor:
        """Mix the values, all (batch, pos, head, d_head); fused unless scores or pattern have a hook.

        The mask is (batch, key), or (batch, query, key) where queries differ in what they may attend to.
        """
        q, k, v = q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2)
        allowed = mask if mask is None else mask[:, None] if mask.ndim == 3 else mask[:, None, None]
        if not (self.hook_attn_scores.active or self.hook_pattern.active):
            dropped = self.dropout if self.training else 0.0
            return _fused_attention(q, k, v, allowed, dropped).transpose(1, 2)
        scores = q @ k.transpose(-1, -2) * self.d_head**-0.5
        if allowed is not None:
            scores = scores.masked_fill(~allowed, -torch.inf)
        pattern = self.hook_pattern(self.hook_attn_scores(scores).softmax(-1))
        return (F.dropout(pattern, self.dropout, self.training) @ v).transpose(1, 2)

    def _split(self, index: int) -> Tensor:
        """Weights of queries (0), keys (1) or values (2) per head, (head, d_model, d_head)."""
        return self.qkv.weight.unflatten(0, (3, self.n_heads, self.d_head))[index].transpose(1, 2)

    @property
    def W_Q(self) -> Tensor:  # noqa: N802  (TransformerLens' names)
        """Query weights, (head, d_model, d_head)."""
        return self._split(0)

    @property
    def W_K(self) -> Tensor:  # noqa: N802
        """Key weights, (head, d_model, d_head)."""
        return self._split(1)

    @property
    def W_V(self) -> Tensor:  # noqa: N802
        """Value weights, (head, d_model, d_head)."""
        return self._split(2)

    @property
    def W_O(self) -> Tensor:  # noqa: N802
        """Output weights, (head, d_head, d_model)."""
        return self.out.weight.T.unflatten(0, (self.n_heads, self.d_head))


class MLP(nn.Module):
    """SwiGLU: silu(gate) * up, with one matmul for both."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.gate_up = nn.Linear(config.d_model, 2 * config.d_mlp, bias=False)
        self.down = nn.Linear(config.d_mlp, config.d_model, bias=False)
        self.hook_pre = Hook()  # the gate, (batch, pos, d_mlp)
        self.hook_pre_linear = Hook()  # (batch, pos, d_mlp)
        self.hook_post = Hook()  # (batch, pos, d_mlp)

    def forward(self, x: Tensor) -> Tensor:
        """Transform every position independently, (batch, pos, d_model) -> the same."""
        gate, up = self.gate_up(x).chunk(2, dim=-1)
        gate, up = F.silu(self.hook_pre(gate)), self.hook_pre_linear(up)
        # In place where no gradient needs the overwritten tensor, which silu has just created.
        in_place = not (gate.requires_grad or up.requires_grad or torch.compiler.is_compiling())
        return self.down(self.hook_post(gate.mul_(up) if in_place else gate * up))

    @property
    def W_gate(self) -> Tensor:  # noqa: N802
        """Gate weights, (d_model, d_mlp)."""
        return self.gate_up.weight.chunk(2)[0].T

    @property
    def W_in(self) -> Tensor:  # noqa: N802
        """Weights of the linear branch, (d_model, d_mlp)."""
        return self.gate_up.weight.chunk(2)[1].T

    @property
    def W_out(self) -> Tensor:  # noqa: N802
        """Output weights, (d_mlp, d_model)."""
        return self.down.weight.T


class Block(nn.Module):
    """Pre-norm attention and feed-forward, each added to the residual stream."""

    def __init__(self, config: ModelConfig, n_heads: int, stochastic_depth: float) -> None:
        super().__init__()
        self.ln1 = RMSNorm(config.d_model, config.norm_eps)
        self.attn = Attention(config, n_heads)
        self.ln2 = RMSNorm(config.d_model, config.norm_eps)
        self.mlp = MLP(config)
        self.dropout = nn.Dropout(config.dropout)
        self.stochastic_depth = stochastic_depth
        self.hook_resid_pre = Hook()  # (batch, pos, d_model), likewise the five below
        self.hook_attn_out = Hook()
        self.hook_resid_mid = Hook()
        self.hook_mlp_out = Hook()
        self.hook_resid_post = Hook()
        self.hook_mlp_in = SwitchedHook(MLP_INPUT)

    def forward(self, resid: Tensor, mask: Tensor | None) -> Tensor:
        """Add the outputs of attention and feed-forward to the stream, (batch, pos, d_model) -> the same."""
        resid = self.hook_resid_pre(resid)
        split = self.attn.hook_q_input.on
        attended = self.attn(resid, mask, self.ln1) if split else self.attn(self.ln1(resid), mask)
        resid = self.hook_resid_mid(resid + self.hook_attn_out(self._drop(attended)))
        mlp_in = self.hook_mlp_in(resid) if self.hook_mlp_in.on else resid
        return self.hook_resid_post(resid + self.hook_mlp_out(self._drop(self.mlp(self.ln2(mlp_in)))))

    def _drop(self, branch: Tensor) -> Tensor:
        """Apply dropout and stochastic depth in training; the identity otherwise."""
        if not self.training:
            return branch
        branch = self.dropout(branch)
        if self.stochastic_depth == 0:
            return branch
        kept = torch.rand(branch.shape[0], 1, 1, device=branch.device) >= self.stochastic_depth
        return branch * kept / (1 - self.stochastic_depth)
