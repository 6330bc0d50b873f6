"""Transformers that write the plaintext character by character: a language model, a causal model, an encoder-decoder.

All are made of ALICE's layers. `read` takes in a ciphertext once, `write` scores characters of the plaintext given
those before them: all at once in training, or one at a time with the keys and values of the past kept. Positions
start at 0 in both texts, so a character is written at the position at which its cipher letter was read.
"""

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal, cast

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from alice.baselines.encodings import Encoding, encode
from alice.errors import AliceError
from alice.model import ModelConfig, training_flops
from alice.model.flops import FORWARD_AND_BACKWARD
from alice.model.layers import MLP, Attention, RMSNorm, rotate
from alice.text import PAD, Alphabet

Kind = Literal["language-model", "causal", "encoder-decoder"]
KeysValues = tuple[Tensor, Tensor]
"""Rotated keys, and values, (batch, pos, head, d_head) each."""


@dataclass(frozen=True)
class Design:
    """What a network reads before it writes, and how cipher letters are named."""

    kind: Kind
    encoding: Encoding | None = None
    """None for the language model, which reads no ciphertext."""


@dataclass(frozen=True, eq=False)
class Memory:
    """What `write` attends to besides the characters that it writes; one entry for each block that writes."""

    past: list[KeysValues] = field(default_factory=list)
    """Keys and values of the same stream: the ciphertext of a causal model, and characters written so far."""
    source: list[KeysValues] = field(default_factory=list)
    """Keys and values of the encoder's output."""
    there: Tensor | None = None
    """Where the ciphertext is no padding, (batch, pos)."""
    written: int = 0
    """Number of characters written so far."""


class ReadingAttention(Attention):
    """ALICE's attention with queries, keys and values apart, so that keys may come from elsewhere or from before."""

    def queries(self, x: Tensor, turns: Tensor) -> Tensor:
        """Return rotated queries, (batch, pos, d_model) -> (batch, pos, head, d_head)."""
        width = x.shape[-1]
        return rotate(F.linear(x, self.qkv.weight[:width]).unflatten(-1, (self.n_heads, -1)), turns)

    def keys_values(self, x: Tensor, turns: Tensor) -> KeysValues:
        """Return rotated keys, and values, of a stream, (batch, pos, d_model)."""
        parts = F.linear(x, self.qkv.weight[x.shape[-1] :]).unflatten(-1, (2, self.n_heads, -1))
        return rotate(parts[:, :, 0], turns), parts[:, :, 1]

    def mixed(self, queries: Tensor, known: KeysValues, mask: Tensor | None) -> Tensor:
        """Attend, (batch, query, head, d_head) -> (batch, query, d_model); the mask is that of `Attention`."""
        return self._attend(queries, *known, mask)


class SequenceBlock(nn.Module):
    """A block of ALICE that attends to a past as well, and in a decoder also to a source."""

    def __init__(self, config: ModelConfig, *, has_source: bool = False) -> None:
        super().__init__()
        self.ln1, self.ln2 = (RMSNorm(config.d_model, config.norm_eps) for _ in range(2))
        self.attn, self.mlp = ReadingAttention(config, config.n_heads), MLP(config)
        if has_source:
            self.ln_source = RMSNorm(config.d_model, config.norm_eps)
            self.from_source = ReadingAttention(config, config.n_heads)

    def forward(
        self,
        resid: Tensor,
        turns: Tensor,
        mask: Tensor | None,
        past: KeysValues | None = None,
        source: KeysValues | None = None,
        source_mask: Tensor | None = None,
    ) -> tuple[Tensor, KeysValues]:
        """Return the stream after the block, (batch, pos, d_model), and its keys and values with those of the past."""
        normed = self.ln1(resid)
        keys, values = self.attn.keys_values(normed, turns)
        if past is not None:
            keys, values = torch.cat([past[0], keys], dim=1), torch.cat([past[1], values], dim=1)
        resid = resid + self.attn.mixed(self.attn.queries(normed, turns), (keys, values), mask)
        if source is not None:
            queries = self.from_source.queries(self.ln_source(resid), turns)
            resid = resid + self.from_source.mixed(queries, source, source_mask)
        return resid + self.mlp(self.ln2(resid)), (keys, values)


class SequenceModel(nn.Module):
    """A network that writes plaintext; `config` has the sizes of an ALICE model with as many blocks."""

    def __init__(self, config: ModelConfig, design: Design) -> None:
        super().__init__()
        self.config, self.design, self.alphabet = config, design, Alphabet(config.symbols)
        encoding = design.kind == "encoder-decoder"
        encoders = config.n_layers // 2 if encoding else 0
        # Cipher symbols, then plain ones. A language model reads 0 for a letter that is not decided yet; the padding of
        # the plain symbols is where writing starts.
        self.embed = nn.Embedding(2 * config.d_vocab, config.d_model)
        self.encoder = nn.ModuleList(SequenceBlock(config) for _ in range(encoders))
        self.blocks = nn.ModuleList(
            SequenceBlock(config, has_source=encoding) for _ in range(config.n_layers - encoders)
        )
        self.ln_final = RMSNorm(config.d_model, config.norm_eps)
        self.unembed = nn.Linear(config.d_model, config.d_vocab)
        for weight in self.parameters():
            if weight.ndim == 2:
                nn.init.trunc_normal_(weight, std=config.init_std, a=-3 * config.init_std, b=3 * config.init_std)
        nn.init.zeros_(self.unembed.bias)

    def save_pretrained(self, folder: str | Path, *, dtype: torch.dtype = torch.float32) -> None:
        """Write the sizes and weights as a checkpoint folder; the design is not stored, it follows from the name."""
        from alice.checkpoint.folder import write

        write(Path(folder), self.config, self.state_dict(), dtype=dtype)

    def read(self, cipher: Tensor) -> Memory:
        """Take in ciphertexts as they are, (batch, pos)."""
        if self.design.encoding is None:
            return Memory()
        there = cipher != PAD
        stream = self.embed(encode(cipher, self.alphabet, self.design.encoding))
        turns, size = self._turns(0, cipher.shape[1]), cipher.shape[1]
        if self.design.kind == "encoder-decoder":
            for block in self.encoder:
                stream, _ = block(stream, turns, there)
            return Memory(source=[block.from_source.keys_values(stream, turns) for block in self._writing], there=there)
        mask = _causal(size, 0, cipher.device)
        past = []
        for block in self.blocks:
            stream, known = block(stream, turns, mask)
            past.append(known)
        return Memory(past=past, there=there)

    def write(self, before: Tensor, memory: Memory) -> tuple[Tensor, Memory]:
        """Score the characters after given ones, (batch, pos) -> logits (batch, pos, symbol).

        Args:
            before: at each position the character before it, or where a text starts PAD; a language model takes -1
                for a letter that is not decided.
            memory: what was read and written up to here; the second result is the same with these characters.

        """
        start, count = memory.written, before.shape[1]
        stream = self.embed(torch.where(before < 0, 0, before + self.config.d_vocab))
        turns, mask = self._turns(start, count), _causal(count, start, before.device)
        if self.design.kind == "causal" and memory.there is not None:
            cipher = memory.there[:, None].expand(-1, count, -1)
            mask = torch.cat([cipher, mask.expand(len(before), -1, -1)], dim=-1)
        past = []
        for number, block in enumerate(self.blocks):
            known = memory.past[number] if memory.past else None
            source = memory.source[number] if memory.source else None
            stream, known = block(stream, turns, mask, known, source, memory.there if memory.source else None)
            past.append(known)
        logits: Tensor = self.unembed(self.ln_final(stream))
        return logits, replace(memory, past=past, written=start + count)

    def forward(self, cipher: Tensor, plain: Tensor) -> Tensor:
        """Score every character of the plaintexts given those before it, (batch, pos) -> (batch, pos, symbol).

        A language model does not read the ciphertext, and takes -1 for letters of the plaintext that are not decided.
        """
        before = F.pad(plain, (1, 0), value=PAD)[:, :-1]
        return self.write(before, self.read(cipher))[0]

    def training_flops(self, lengths: Tensor) -> float:
        """Return the operations of a training step on texts of these lengths, (batch,), counted as for ALICE.

        Pairs of positions that a causal mask excludes do not count.
        """
        config, characters, squares = self.config, int(lengths.sum()), int(lengths.square().sum())
        if self.design.kind == "language-model":
            return training_flops(config, characters, (squares + characters) / 2)
        if self.design.kind == "causal":
            return training_flops(config, 2 * characters, 2 * squares + characters)
        encoder, decoder = (replace(config, n_layers=len(blocks)) for blocks in (self.encoder, self.blocks))
        crossing = 8 * config.d_model**2 * characters + 4 * config.d_model * squares  # as for a self-attention
        return (
            training_flops(encoder, characters, squares)
            + training_flops(decoder, characters, (squares + characters) / 2)
            + FORWARD_AND_BACKWARD * len(self.blocks) * crossing
        )

    def _turns(self, start: int, count: int) -> Tensor:
        """Return the rotary angles of consecutive positions, (pos, d_head / 2, 2)."""
        if start + count > self.config.n_ctx:
            raise AliceError(f"a text is longer than the {self.config.n_ctx} characters this model reads; split it")
        return self._writing[0].attn.rotary[start : start + count]

    @property
    def _writing(self) -> list[SequenceBlock]:
        """The blocks that write."""
        return [cast(SequenceBlock, block) for block in self.blocks]


def _causal(count: int, start: int, device: torch.device) -> Tensor:
    """Return which of `start` + `count` positions each of the last `count` may attend to, (1, query, key)."""
    positions = torch.arange(start + count, device=device)
    return (positions <= positions[start:, None])[None]
