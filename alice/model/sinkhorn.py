"""Permutations from scores: a differentiable relaxation for training, an exact assignment for inference."""

import numpy as np
import torch
from scipy.optimize import linear_sum_assignment
from torch import Tensor


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
    table = scores.detach().double().cpu().numpy()
    # An infinite or undefined score says nothing about any column; the solver needs finite numbers.
    table = np.nan_to_num(table, nan=0.0, posinf=1e9, neginf=-1e9)
    columns = np.stack([linear_sum_assignment(matrix, maximize=True)[1] for matrix in table])
    return torch.from_numpy(columns).to(scores.device)
