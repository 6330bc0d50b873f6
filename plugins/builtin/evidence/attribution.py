"""What decided a letter: integrated gradients over characters, words left out, and characters deleted in some order."""

from collections.abc import Iterator

import numpy as np
import torch
from torch import Tensor

from alice.model import Alice
from alice.plugins.builtin.evidence import Removal
from alice.plugins.builtin.evidence.case import Case
from alice.statistics import Floats, Ints
from alice.text import Words, encrypt_ids

FRACTIONS = (0.0, 0.05, 0.1, 0.2, 0.3, 0.5, 0.75, 1.0)
"""Shares of the characters that are deleted."""
TOKENS = 4096
"""Characters that go through the model at once."""


def log_probabilities(model: Alice, case: Case, embeddings: Tensor, ids: Tensor | None = None) -> Tensor:
    """Return the log-probabilities of all answers, (row, symbol, symbol), if the text had other embeddings.

    Args:
        model: reads the embeddings from the first block on.
        case: the text, whose ids decide which positions the head pools for each symbol.
        embeddings: (row, pos, d_model).
        ids: other ids, (row, pos), such as some with padding.

    """
    ids = case.cipher_ids.expand(len(embeddings), -1) if ids is None else ids
    return model.log_probabilities(model.resid(ids, stream=embeddings), ids)


def scores(case: Case, table: Tensor) -> Tensor:
    """Return the log-probability of the answer that is explained, (row, symbol), for tables (row, symbol, symbol)."""
    return table.gather(-1, case.answers.expand(len(table), -1).unsqueeze(-1)).squeeze(-1)


def integrated_gradients(model: Alice, case: Case, baseline: Tensor, symbols: Ints, *, steps: int) -> Floats:
    """Return how much each character adds to the score of each symbol, (len(symbols), pos), in nats.

    The gradient with respect to the embeddings is averaged over `steps` points of the straight line from the baseline,
    (pos, d_model), by the midpoint rule: along the line the score changes in steep steps, for which rules of higher
    order are less accurate. The attributions sum to the score minus the score of the baseline, up to the rule's error.
    """
    change = case.embedding - baseline
    points = (torch.arange(steps, device=change.device, dtype=change.dtype) + 0.5) / steps
    total = change.new_zeros(len(symbols), len(change), dtype=torch.float64)
    for along in points.split(max(1, TOKENS // len(change))):
        inputs = (baseline + along[:, None, None] * change).requires_grad_()
        found = scores(case, log_probabilities(model, case, inputs)).sum(0)  # (symbol,)
        for row, symbol in enumerate(symbols.tolist()):
            (gradient,) = torch.autograd.grad(found[symbol], inputs, retain_graph=True)
            total[row] += (gradient.sum(0) * change).sum(-1) / steps
    attributions: Floats = total.cpu().numpy()
    return attributions


@torch.no_grad()
def word_losses(
    model: Alice,
    case: Case,
    removal: Removal,
    *,
    mean: Tensor,
    others: Words,
    rng: np.random.Generator,
    draws: int,
) -> Floats:
    """Return how much the score of each symbol falls without each word, (word, symbol), in nats.

    NaN where a masked word holds all places of a symbol, so that there is nothing left to read.
    """
    if not len(case.word_members):
        return np.zeros((0, case.alphabet.size))
    removed = torch.from_numpy(case.word_members).to(mean.device)
    clean = scores(case, log_probabilities(model, case, case.embedding[None]))[0]
    if removal == "mean":
        without = _deleted_scores(model, case, removed, mean)
    elif removal == "mask":
        without = _masked_scores(model, case, removed)
    else:
        drawn = [_replaced_scores(model, case, others, rng) for _ in range(draws)]
        without = torch.stack(drawn).mean(0)
    losses: Floats = (clean - without).double().cpu().numpy()
    return losses


@torch.no_grad()
def deletion(model: Alice, case: Case, symbol: int, orders: Ints, *, mean: Tensor) -> tuple[Floats, Floats]:
    """Delete characters of a text in some orders, (order, pos); return scores and whether answers are right.

    Both are (order, len(FRACTIONS)). A deleted character has the mean embedding; the head still pools by the ids.
    """
    ranks = np.argsort(orders, axis=1)  # (order, pos): when each character goes
    counts = np.round(np.array(FRACTIONS) * orders.shape[1])
    removed = torch.from_numpy(ranks[:, None] < counts[:, None]).to(mean.device).flatten(0, 1)
    removed, rows = removed.unique(dim=0, return_inverse=True)  # all orders begin and end alike
    found, right = [], []
    for table in _tables(model, case, removed, mean):
        found.append(scores(case, table)[:, symbol])
        right.append(table[:, symbol].argmax(-1) == case.answers[symbol])
    shape = (len(orders), len(FRACTIONS))
    curves, kept = (torch.cat(parts)[rows].double().cpu().numpy().reshape(shape) for parts in (found, right))
    return curves, kept


def _tables(model: Alice, case: Case, removed: Tensor, mean: Tensor) -> Iterator[Tensor]:
    """Yield log-probabilities, (some rows, symbol, symbol), with the mean embedding where `removed`, (row, pos)."""
    for rows in removed.split(max(1, TOKENS // removed.shape[1])):
        yield log_probabilities(model, case, torch.where(rows.unsqueeze(-1), mean, case.embedding))


def _deleted_scores(model: Alice, case: Case, removed: Tensor, mean: Tensor) -> Tensor:
    return torch.cat([scores(case, table) for table in _tables(model, case, removed, mean)])


def _masked_scores(model: Alice, case: Case, removed: Tensor) -> Tensor:
    """Return the scores with words as padding: no position attends to them, and the head does not pool them."""
    found = []
    whole = removed.all(1, keepdim=True)  # a model cannot read a text of padding only
    for rows in (removed & ~whole).split(max(1, TOKENS // removed.shape[1])):
        ids = case.masked(rows)
        table = log_probabilities(model, case, case.embedding.expand(len(rows), -1, -1), ids)
        found.append(scores(case, table))
    left = [(case.cipher_ids.eq(symbol) & ~removed).any(1) for symbol in range(case.alphabet.size)]
    return torch.cat(found).where(torch.stack(left, 1), torch.nan)


def _replaced_scores(model: Alice, case: Case, others: Words, rng: np.random.Generator) -> Tensor:
    """Return the scores with another word of the same length under the same key, read by the ids of the text."""
    plain = case.plain_ids.cpu().numpy().astype(np.uint8)
    rows = np.tile(plain, (len(case.word_members), 1))
    for row, members in zip(rows, case.word_members, strict=True):
        row[members] = case.alphabet.encode(others.of_length(case.alphabet.decode(plain[members]), rng))
    keys = np.tile(case.key, (len(rows), 1)).astype(np.uint8)
    ids = torch.from_numpy(encrypt_ids(rows, keys, case.alphabet).astype(np.int64)).to(case.cipher_ids.device)
    parts = (model.resid(some, stop=0) for some in ids.split(max(1, TOKENS // ids.shape[1])))
    return torch.cat([scores(case, log_probabilities(model, case, embeddings)) for embeddings in parts])
