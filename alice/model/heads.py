"""From the residual stream to letters: pooling by symbol, then a linear head or a permutation head.

Both heads turn pooled vectors, one for each symbol of the alphabet, into a table of scores (batch, symbol, symbol): row
c scores the plaintext symbols that cipher symbol c may stand for. Since all occurrences of a symbol share one row, they
always decode to the same symbol.
"""

from collections.abc import Callable

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from alice.errors import AliceError
from alice.model.config import ModelConfig
from alice.model.hooks import Hook
from alice.model.layers import at_least_fp32
from alice.model.renaming import hook_by_symbol
from alice.text import PAD, Alphabet


class SymbolPool(nn.Module):
    """Average the vectors of each symbol over the text."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.d_vocab = config.d_vocab
        self.hook_out = Hook()  # (batch, symbol, d_model)

    def forward(self, x: Tensor, ids: Tensor, names: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Return means (batch, symbol, d_model), zero for absent symbols, and counts (batch, symbol).

        Args:
            x: vectors, (batch, pos, d_model).
            ids: the symbols they belong to, (batch, pos), as the model has renamed them.
            names: new id of every id, (batch, symbol), if it has renamed them; for the hook.

        """
        symbols = torch.arange(self.d_vocab, device=ids.device)
        member = (ids[:, None, :] == symbols[:, None]) & (ids != PAD)[:, None, :]  # (batch, symbol, pos)
        counts = member.sum(-1)
        means = member.to(x.dtype) @ x / counts.clamp(min=1).unsqueeze(-1)
        return hook_by_symbol(self.hook_out, means, names, 1), counts


def never(dtype: torch.dtype) -> float:
    """Return the score of what cannot be an answer: finite, so that differences and KL of two runs are, too."""
    return -3e4 if dtype == torch.float16 else -1e9


def check_scores(scores: Tensor) -> Tensor:
    """Return the scores of a head; raise if one is not a number or lies beyond `never`, which would win over it.

    A compiled or exported model skips the check, which reads values on the host.
    """
    if torch.compiler.is_compiling():
        return scores
    if not (scores.abs() < -never(scores.dtype)).all():
        raise AliceError(
            f"the model computes numbers that are not finite or beyond {-never(scores.dtype):.0e}; "
            "its weights are too large or damaged"
        )
    return scores


def check_stream(stream: Tensor) -> None:
    """Raise if a residual stream is not finite or so large that its mean square overflows, which a norm would hide."""
    if torch.compiler.is_compiling():
        return
    size = torch.linalg.vector_norm(stream, dtype=torch.promote_types(stream.dtype, torch.float32))
    if not size.isfinite():
        raise AliceError("the model computes numbers that are not finite; its weights are too large or damaged")


class LinearHead(nn.Module):
    """Each pooled vector through one linear layer; two symbols may decode to the same letter."""

    padding: Tensor
    """Which id is padding, (symbol,)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.whole_vocab = config.whole_vocab
        self.unembed = nn.Linear(config.d_model, config.d_vocab)
        self.register_buffer("padding", torch.arange(config.d_vocab) == PAD, persistent=False)

    def forward(self, pooled: Tensor, counts: Tensor, *, soft: bool, names: Tensor | None = None) -> Tensor:
        """Return logits (batch, symbol, symbol); the other arguments are not used here."""
        logits: Tensor = self.unembed(pooled)
        if not self.training:  # the loss is checked there
            check_scores(logits)
        return logits if self.whole_vocab else logits.masked_fill(self.padding, never(logits.dtype))


def log_sinkhorn(scores: Tensor, iterations: int) -> Tensor:
    """Normalise rows and columns in turn, in log space; (..., n, n) -> logs of a nearly doubly stochastic matrix."""
    for _ in range(iterations):
        scores = scores - scores.logsumexp(-1, keepdim=True)
        scores = scores - scores.logsumexp(-2, keepdim=True)
    return scores


def gumbel_noise(scores: Tensor) -> Tensor:
    """Draw standard Gumbel noise of the shape of `scores` from torch's global generator."""
    return -torch.empty_like(scores).exponential_().log()


def assign(scores: Tensor) -> Tensor:
    """Return the best assignment of columns to rows, (batch, n, n) -> (batch, n) column numbers."""
    return _assign(scores)


@torch.library.custom_op("alice::assign", mutates_args=())  # opaque to the compiler, which cannot trace scipy
def _assign(scores: Tensor) -> Tensor:
    table = scores.detach().double().cpu().numpy()
    table = np.nan_to_num(table, nan=0.0, posinf=1e9, neginf=-1e9)  # the solver needs finite numbers
    columns = np.stack([linear_sum_assignment(matrix, maximize=True)[1] for matrix in table])
    return torch.from_numpy(columns).to(scores.device)


@_assign.register_fake
def _(scores: Tensor) -> Tensor:
    return scores.new_empty(scores.shape[:-1], dtype=torch.int64)


class BijectiveHead(nn.Module):
    """A permutation of the letters: queries gather from the pooled vectors, Sinkhorn or assignment makes it one-to-one.

    In the authors' code the queries attend to every position of the pooled sequence. Positions of one symbol have the
    same vector there, so attending once to each symbol with the log of its count added to the score is equivalent.
    """

    letter_ids: Tensor
    """The ids that change places, (26,): the letters, or with `whole_vocab` every id."""
    place: Tensor
    """The place of each id among `letter_ids`, (symbol,); 0 for those that stay."""
    moves: Tensor
    """Which pairs of ids are pairs of letters, (symbol, symbol)."""

    def __init__(self, config: ModelConfig) -> None:
        super().__init__()
        self.config = config
        self.assign: Callable[[Tensor], Tensor] = assign
        """Returns the best assignment for scores, (batch, n, n) -> (batch, n); `speed` replaces it to time it."""
        self.query = nn.Parameter(torch.empty(config.d_vocab, config.d_model))
        self.unembed = nn.Linear(config.d_model, config.d_vocab)
        letters = torch.from_numpy(Alphabet(config.symbols).letter_ids)
        moved = torch.arange(config.d_vocab) if config.whole_vocab else letters
        self.register_buffer("letter_ids", moved, persistent=False)
        place = torch.full((config.d_vocab,), -1).scatter(0, moved, torch.arange(len(moved)))
        self.register_buffer("place", place.clamp(min=0), persistent=False)
        self.register_buffer("moves", (place >= 0)[:, None] & (place >= 0), persistent=False)
        self.hook_pattern = Hook()  # (batch, head, symbol, symbol)
        self.hook_log_perm = Hook()  # (batch, 26, 26): log of the doubly stochastic matrix, cipher by plain letter
        self.hook_perm = Hook()  # (batch, 26, 26): the permutation, zeros and ones

    def forward(self, pooled: Tensor, counts: Tensor, *, soft: bool, names: Tensor | None = None) -> Tensor:
        """Return a table (batch, symbol, symbol): the permutation, or if soft the logs of the relaxed one.

        Args:
            pooled: means of each symbol, (batch, symbol, d_model).
            counts: how often it occurs, (batch, symbol).
            soft: which of the two tables to return.
            names: new id of every id, (batch, symbol), if the model has renamed them; for the hooks.

        """
        rows = self._gather(pooled, counts, names)
        if self.config.cross_skip:
            rows = rows + pooled
        scores = at_least_fp32(self.unembed(rows)[:, self.letter_ids][:, :, self.letter_ids])  # (batch, 26, 26)
        if not self.training:  # the loss is checked there
            check_scores(scores)
        places = None if names is None else self.place[names[:, self.letter_ids]]  # (batch, 26)
        if soft or self.hook_log_perm.active:
            # Normalising rows and columns does not change the best assignment, so a hook here affects both answers.
            scores = hook_by_symbol(self.hook_log_perm, self._relax(scores), places, 1)
        if soft:
            return self._whole(scores, identity=0.0, elsewhere=never(scores.dtype))
        perm = F.one_hot(self.assign(scores), len(self.letter_ids)).to(scores.dtype)
        return self._whole(hook_by_symbol(self.hook_perm, perm, places, 1), identity=1.0, elsewhere=0.0)

    def _gather(self, pooled: Tensor, counts: Tensor, names: Tensor | None = None) -> Tensor:
        """Let each symbol's query attend to the pooled vectors of the symbols present, (batch, symbol, d_model)."""
        heads = self.config.cross_heads
        keys = pooled.unflatten(-1, (heads, -1)).transpose(1, 2)  # (batch, head, symbol, d_head)
        queries = self.query.unflatten(-1, (heads, -1)).transpose(0, 1).to(pooled.dtype)  # (head, symbol, d_head)
        scores = queries @ keys.transpose(-1, -2) * keys.shape[-1] ** -0.5
        scores = scores + counts.to(scores.dtype).log()[:, None, None, :]  # absent symbols: minus infinity
        pattern = hook_by_symbol(self.hook_pattern, scores.softmax(-1), names, 2, 3)
        return (pattern @ keys).transpose(1, 2).flatten(2)

    def _relax(self, scores: Tensor) -> Tensor:
        """Return the log of a doubly stochastic matrix; with Gumbel noise in training."""
        if self.training:
            scores = scores + self.config.gumbel_noise * gumbel_noise(scores)
        relaxed = log_sinkhorn(scores / self.config.sinkhorn_tau, self.config.sinkhorn_iters)
        if not self.training:
            check_scores(relaxed.exp())  # a log may be minus infinity
        return relaxed

    def _whole(self, letters: Tensor, *, identity: float, elsewhere: float) -> Tensor:
        """Embed the letters' table in one over all symbols, in which every other symbol maps to itself."""
        same = torch.eye(self.config.d_vocab, dtype=torch.bool, device=letters.device)
        others = torch.where(same, identity, elsewhere).to(letters.dtype)
        return torch.where(self.moves, letters[:, self.place][:, :, self.place], others)
