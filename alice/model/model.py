"""Alice: embedding, blocks, and a `decode` that the forward pass and every lens share."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, Literal, Self

import torch
from torch import Tensor, nn

from alice.errors import AliceError
from alice.model.config import ModelConfig
from alice.model.device import choose_device
from alice.model.heads import BijectiveHead, LinearHead, SymbolPool, check_stream
from alice.model.hooks import Hook, HookedModel, cache_hooks_as_attributes
from alice.model.hypernet import HyperNetwork
from alice.model.layers import Block, RMSNorm, at_least_fp32
from alice.model.lens import LensSurface
from alice.model.renaming import own_rows
from alice.model.tokens import Tokens
from alice.text import PAD, Alphabet
from alice.text.relabel import new_letters, symbol_names

ReturnType = Literal["logits", "loss", "both"] | None
Texts = Tensor | str | Sequence[str]
"""Ids, (batch, pos), or a text or several that the model's alphabet encodes."""


class Alice(LensSurface, Tokens, HookedModel):
    """An encoder that reads a ciphertext and predicts, for each of its symbols, the plaintext symbol."""

    letter_ids: Tensor
    """Ids of A to Z, (26,)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.soft_answers: bool | None = None
        """Whether `soft` is on where a call does not say it; None for soft in training and hard otherwise."""
        self.alphabet = Alphabet(config.symbols)
        self.register_buffer("letter_ids", torch.tensor(self.alphabet.letter_ids), persistent=False)
        if config.variant == "dynamic":
            self.hypernet = HyperNetwork(config)
        else:
            self.embed = nn.Embedding(config.d_vocab, config.d_model)
        self.hook_embed = Hook()  # (batch, pos, d_model)
        rates = config.skip_rates(config.n_layers)
        self.blocks = nn.ModuleList(Block(config, config.n_heads, rate) for rate in rates)
        self.ln_final = RMSNorm(config.d_model, config.norm_eps)
        self.pool = SymbolPool(config)
        self.head = BijectiveHead(config) if config.variant == "bijective" else LinearHead(config)
        self.setup()
        cache_hooks_as_attributes(self)
        self.reset_parameters()

    @classmethod
    def from_pretrained(cls, name: str | Path, *, device: torch.device | str | None = None) -> Self:
        """Load a bundled model, a checkpoint folder or a hub id in fp32 and eval mode; see `choose_device`."""
        from alice.checkpoint import folder as checkpoint  # which itself imports the configuration from this room

        folder = checkpoint.resolve(name)
        return cls.from_weights(*checkpoint.read(folder), where=str(folder), device=device)

    @classmethod
    def from_weights(
        cls, config: ModelConfig, weights: Mapping[str, Tensor], *, where: str, device: torch.device | str | None = None
    ) -> Self:
        """Make a model of weights that must fit its configuration, in fp32 and eval mode; errors name `where`."""
        from alice.checkpoint import folder as checkpoint

        checkpoint.check_size(weights, config, where=where)
        with torch.random.fork_rng(devices=[]):  # leave the caller's RNG state as it is
            model = cls(config)
        checkpoint.check_fit(weights, model.state_dict(), where=where)
        model.load_state_dict({name: tensor.float() for name, tensor in weights.items()})
        return model.to(choose_device(device)).eval()

    def save_pretrained(self, folder: str | Path, *, dtype: torch.dtype = torch.float32) -> None:
        """Write the model as a checkpoint folder; `dtype=torch.float16` halves its size."""
        from alice.checkpoint import folder as checkpoint

        checkpoint.write(Path(folder), self.config, self.state_dict(), dtype=dtype)

    def reset_parameters(self) -> None:
        """Draw fresh weights from torch's global generator."""
        std = self.config.init_std
        for name, weight in self.named_parameters():
            if weight.ndim == 2:
                nn.init.trunc_normal_(weight, std=std, a=-3 * std, b=3 * std)
            elif name.endswith("bias"):
                nn.init.zeros_(weight)
            else:
                nn.init.ones_(weight)
        if self.config.query_init == "random" and self.config.variant == "dynamic":
            nn.init.normal_(self.hypernet.query)
        self.aim_queries()

    @torch.no_grad()
    def aim_queries(self) -> None:
        """Start each query of a bijective head as its symbol's embedding, so that it attends to that symbol.

        With `query_init` "random" the queries are drawn from torch's global generator instead.
        """
        if not isinstance(self.head, BijectiveHead):
            return
        if self.config.query_init == "random":
            nn.init.normal_(self.head.query, std=self.config.d_model**-0.5)
        else:
            self.head.query.copy_(self.embed.weight / self.embed.weight.square().mean(-1, keepdim=True).sqrt())

    def forward(
        self,
        ids: Texts,
        return_type: ReturnType = "logits",
        *,
        plain: Texts | None = None,
        loss_per_token: bool = False,
        soft: bool | None = None,
        tokens: Tensor | None = None,
        start_at_layer: int | None = None,
        stop_at_layer: int | None = None,
    ) -> Any:
        """Decode ciphertexts, (batch, pos) -> scores of plaintext symbols (batch, pos, symbol).

        Args:
            ids: cipher symbols, padded with 0 on the right or anywhere else; a text or several; or with
                `start_at_layer` the residual stream that enters that block, (batch, pos, d_model).
            return_type: the scores, the loss, both as a pair, or None for neither (the hooks before the head run).
            plain: the plaintexts, for a loss.
            loss_per_token: whether a loss is that of each position, (batch, pos), instead of the mean over them.
            soft: see `decode_symbols`.
            tokens: with `start_at_layer`, the cipher symbols that the stream belongs to, (batch, pos).
            start_at_layer: first block to run; negative numbers count from the end.
            stop_at_layer: block to stop before; the result is then the residual stream that enters it.

        """
        start, stop = self._span(start_at_layer, stop_at_layer)
        self._check_request(return_type, plain, stop_at_layer)
        if start_at_layer is None:
            cipher, stream = self._ids(ids), None
        else:
            cipher, stream = self._stream(ids, tokens)
        resid = self.resid(cipher, stream=stream, start=start, stop=stop)
        if stop_at_layer is not None:
            return resid
        if return_type is None:
            self.pool(self.ln_final(resid), *self._renamed(cipher))
            return None
        scores = None if return_type == "loss" else self.decode(resid, cipher, soft=soft)
        if plain is None:
            return scores
        loss = self.loss(resid, cipher, self._ids(plain), per_token=loss_per_token)
        return loss if scores is None else (scores, loss)

    def resid(self, ids: Tensor, *, stream: Tensor | None = None, start: int = 0, stop: int | None = None) -> Tensor:
        """Return the residual stream after the last block, (batch, pos) -> (batch, pos, d_model).

        Args:
            ids: cipher symbols.
            stream: the residual stream that enters block `start`; None for the embedding.
            start: first block to run.
            stop: block to stop before; None to run them all.

        """
        mask = self._mask(ids)
        if stream is None:
            ids, names = self._renamed(ids)
            stream = self.hypernet(ids, mask, names) if self.config.variant == "dynamic" else self.embed(ids)
            stream = self.hook_embed(stream)
        for block in islice(self.blocks, start, stop):
            stream = block(stream, mask)
        if not self.training:  # the loss is checked there
            check_stream(stream)
        return stream

    def decode(self, resid: Tensor, ids: Tensor, *, soft: bool | None = None) -> Tensor:
        """Read a residual stream of any layer as text, (batch, pos, d_model) -> scores (batch, pos, symbol)."""
        table = self.decode_symbols(resid, ids, soft=soft)
        return table.gather(1, ids.unsqueeze(-1).expand(-1, -1, table.shape[-1]))

    def decode_symbols(self, resid: Tensor, ids: Tensor, *, soft: bool | None = None) -> Tensor:
        """Read a residual stream as a key: scores of what each cipher symbol stands for, (batch, symbol, symbol).

        Args:
            resid: residual stream of any layer, (batch, pos, d_model).
            ids: the cipher symbols it belongs to, (batch, pos).
            soft: for the bijective head, whether to return the logs of the relaxed permutation, which can be
                differentiated, or the permutation itself as zeros and ones. None follows `soft_answers`; if
                neither is set, the answer is soft in training and hard otherwise.
                The linear head returns logits either way.

        """
        if soft is None:
            soft = self.training if self.soft_answers is None else self.soft_answers
        ids, names = self._renamed(ids)
        pooled, counts = self.pool(self.ln_final(resid), ids, names)
        table: Tensor = self.head(pooled, counts, soft=soft, names=names)
        return table if names is None else own_rows(table, names, 1)

    @contextmanager
    def soft(self, soft: bool = True) -> Iterator[Self]:
        """Set `soft_answers` within a `with` block, also for tools that call the model without arguments."""
        before, self.soft_answers = self.soft_answers, soft
        try:
            yield self
        finally:
            self.soft_answers = before

    def reset_switches(self) -> None:
        """Set `soft_answers` and the switches of hooks as in a new model."""
        self.soft_answers = None
        self.set_use_split_qkv_input(False)
        self.set_use_hook_mlp_in(False)

    def log_probabilities(self, resid: Tensor, ids: Tensor) -> Tensor:
        """Return the log-probability of each answer, (batch, symbol, symbol), in fp32 or better, for the loss.

        For the bijective head it is the log of the relaxed permutation; rows sum to one only approximately, since
        Sinkhorn's last step normalises columns.
        """
        table = at_least_fp32(self.decode_symbols(resid, ids, soft=True))
        return table if self.config.variant == "bijective" else table.log_softmax(-1)

    def loss(self, resid: Tensor, ids: Tensor, plain: Tensor, *, per_token: bool = False) -> Tensor:
        """Return the mean negative log-likelihood of the plaintext over all characters, or (batch, pos) if per token.

        Args:
            resid: residual stream of any layer, (batch, pos, d_model).
            ids: the cipher symbols it belongs to, (batch, pos).
            plain: the plaintext, (batch, pos).
            per_token: whether to return the loss of each position, 0 at padding.

        """
        if plain.shape != ids.shape:
            raise AliceError(f"the plaintext has shape {tuple(plain.shape)}, the ciphertext {tuple(ids.shape)}")
        self._mask(plain)  # checks its ids
        table = self.log_probabilities(resid, ids)
        rows = table.gather(1, ids.unsqueeze(-1).expand(-1, -1, table.shape[-1]))  # (batch, pos, symbol)
        is_text = ids != PAD
        losses = -rows.gather(2, plain.unsqueeze(-1)).squeeze(-1) * is_text
        return losses if per_token else losses.sum() / is_text.sum()

    def _renamed(self, ids: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return texts as the weights know them, (batch, pos), and the new id of every id, (batch, symbol), if any."""
        if self.config.relabel == "none":
            return ids, None
        names = symbol_names(
            new_letters(ids, self.letter_ids, self.config.relabel), self.letter_ids, self.config.d_vocab
        )
        return names.gather(1, ids), names

    def _ids(self, texts: Texts) -> Tensor:
        return texts if isinstance(texts, Tensor) else self.to_tokens(texts)

    def _check_request(self, return_type: ReturnType, plain: Texts | None, stop: int | None) -> None:
        """Raise if the model cannot return what is asked for."""
        if return_type not in ("logits", "loss", "both", None):
            raise AliceError(f"return_type={return_type!r} is unknown; give 'logits', 'loss', 'both' or None")
        loss = return_type in ("loss", "both")
        if loss and plain is None:
            raise AliceError(f"return_type={return_type!r} compares with the plaintext; give it as plain=")
        if loss and stop is not None:
            raise AliceError("there is no loss where stop_at_layer stops before the head; leave one of them out")
        if not loss and plain is not None:
            raise AliceError("plain= is for a loss; give return_type='loss' or 'both', too")

    def _mask(self, ids: Tensor) -> Tensor | None:
        """Return where there is text, (batch, pos), or None if there is no padding; raise if the ids cannot be read."""
        if torch.compiler.is_compiling():  # values cannot be read on the host, so nothing can be checked
            return ids != PAD
        if ids.ndim != 2 or ids.shape[1] == 0 or ids.is_floating_point():
            raise AliceError(
                f"ids of shape {tuple(ids.shape)} and type {ids.dtype} are not a batch; give integers, (batch, pos)"
            )
        if ids.shape[1] > self.config.n_ctx:
            raise AliceError(
                f"a text of {ids.shape[1]} characters is longer than the {self.config.n_ctx} this model reads; split it"
            )
        low, high = (int(v) for v in ids.aminmax())
        if low < 0 or high >= self.config.d_vocab:
            raise AliceError(
                f"ids {low} to {high} do not fit the model's {self.config.d_vocab} symbols; encode with its alphabet"
            )
        if low != PAD:
            return None
        mask = ids != PAD
        if not mask.any(1).all():
            raise AliceError("a text in the batch is empty (all padding); leave it out")
        return mask

    def _span(self, start: int | None, stop: int | None) -> tuple[int, int | None]:
        """Return the first block to run and the one to stop before, both from 0; raise if there are none such."""
        n_layers = self.config.n_layers
        found = {}
        for name, layer in (("start_at_layer", start), ("stop_at_layer", stop)):
            if layer is not None and not -n_layers <= layer <= n_layers:
                raise AliceError(f"{name}={layer} is not a layer of this model; give {-n_layers} to {n_layers}")
            found[name] = layer + n_layers if layer is not None and layer < 0 else layer
        first, last = found["start_at_layer"] or 0, found["stop_at_layer"]
        if last is not None and first > last:
            raise AliceError(f"start_at_layer={start} is after stop_at_layer={stop}; swap them")
        return first, last

    def _stream(self, resid: Tensor | str | Sequence[str], tokens: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return the cipher symbols and the residual stream that `start_at_layer` continues from."""
        if tokens is None:
            raise AliceError("start_at_layer continues a residual stream; give its cipher symbols as tokens=")
        width = self.config.d_model
        if not isinstance(resid, Tensor) or resid.shape != (*tokens.shape, width):
            shape = tuple(resid.shape) if isinstance(resid, Tensor) else type(resid).__name__
            raise AliceError(f"start_at_layer needs a residual stream of shape {(*tokens.shape, width)}, not {shape}")
        return tokens, resid
