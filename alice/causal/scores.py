"""What a residual stream answers, as a number per text, and how far a run lies between a corrupted and a clean one."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from alice.model import Alice
from alice.statistics import Floats
from alice.text import Alphabet, Batch

DRAWS = 2000
"""Weightings of the texts from which intervals are taken."""
COVERAGE = 0.95
SMALLEST_EFFECT = 1e-6
"""Below this difference between the clean and the corrupted score there is nothing to recover."""


def right_symbols(batch: Batch, alphabet: Alphabet) -> Tensor:
    """Return the plain symbol that each cipher symbol stands for, (batch, symbol); only letters are encrypted."""
    letters = torch.from_numpy(alphabet.letter_ids.astype("int64")).to(batch.keys.device)
    right = torch.arange(alphabet.size, device=batch.keys.device).repeat(len(batch), 1)
    return right.scatter(1, letters[batch.keys], letters.expand(len(batch), -1))


def answer_scores(model: Alice, resid: Tensor, ids: Tensor, right: Tensor, scored: Tensor) -> Tensor:
    """Return the mean log-probability of the right answers of each text, (batch,), in nats; it can be differentiated.

    Args:
        model: its own head reads the stream; for the bijective head through the soft permutation.
        resid: residual stream after the last block, (batch, pos, d_model).
        ids: cipher symbols by which the stream is pooled, (batch, pos).
        right: plain symbol that each cipher symbol stands for, (batch, symbol), as `right_symbols` returns it.
        scored: which cipher symbols count, (batch, symbol).

    """
    table = model.log_probabilities(resid, ids)  # (batch, symbol, symbol)
    found = table.gather(-1, right.unsqueeze(-1)).squeeze(-1)
    return torch.where(scored, found, 0.0).sum(1) / scored.sum(1).clamp(min=1)


def symbol_errors(model: Alice, resid: Tensor, ids: Tensor, batch: Batch) -> Tensor:
    """Return the fraction of wrong characters of each text (SER), (batch,), for a stream read by `ids`."""
    answers = model.decode(resid, ids, soft=False).argmax(-1)
    return ((answers != batch.plain_ids) & batch.mask).sum(1) / batch.mask.sum(1)


@dataclass(frozen=True, eq=False)
class Recovered:
    """Shares of the way from the corrupted score to the clean one, over texts; 1 is clean, 0 corrupted."""

    share: Floats
    """Recovered share of each column, (column,)."""
    low: Floats
    """Lower end of the interval, (column,)."""
    high: Floats
    """Upper end of the interval, (column,)."""
    draws: Floats
    """The share under each weighting of the texts, (draw, column), for differences and other functions of columns."""


def recovered(
    scores: Floats, clean: Floats, corrupted: Floats, rng: np.random.Generator, *, draws: int = DRAWS
) -> Recovered:
    """Relate scores, (text, column), to those of the clean and the corrupted run, (text,), with paired intervals.

    The share is a ratio of means over texts. A mean of ratios would be dominated by texts in which the corruption
    changes little. All columns share the weights of the texts, so that differences of columns have correct intervals.
    A share is NaN if the two runs do not differ.
    """
    weights = np.concatenate([np.ones((1, len(scores))), rng.exponential(size=(draws, len(scores)))])
    whole = weights @ (clean - corrupted)
    scale = np.abs(whole) / weights.sum(1)
    part = weights @ (scores - corrupted[:, None])
    shares = np.divide(part, whole[:, None], out=np.full(part.shape, np.nan), where=(scale > SMALLEST_EFFECT)[:, None])
    ends = [(1 - COVERAGE) / 2, (1 + COVERAGE) / 2]
    low, high = np.quantile(shares[1:], ends, axis=0) if len(scores) > 1 else np.full((2, part.shape[1]), np.nan)
    return Recovered(shares[0], low, high, shares[1:])
