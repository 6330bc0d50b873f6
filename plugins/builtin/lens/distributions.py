"""Distributions of answers at several layers at once, and how far one is from another, in bits."""

import math

import torch
from torch import Tensor

from alice.model import Alice
from alice.text import PAD


def log_tables(model: Alice, streams: Tensor, ids: Tensor) -> Tensor:
    """Read streams of several layers as one batch, (layer, batch, pos, d_model) -> (layer, batch, symbol, symbol).

    Row c of a table has the log-probabilities of what cipher symbol c stands for. The rows of a bijective head's
    relaxed permutation sum to one only approximately, so they are normalised again.
    """
    layers = len(streams)
    tables = model.log_probabilities(streams.flatten(0, 1), ids.repeat(layers, 1)).log_softmax(-1)
    return tables.unflatten(0, (layers, -1))


def occurrences(model: Alice, ids: Tensor) -> Tensor:
    """Return how often each symbol occurs in each text, (batch, pos) -> (batch, symbol); never for padding."""
    counts = torch.zeros(len(ids), model.config.d_vocab, device=ids.device)
    counts.scatter_add_(1, ids, torch.ones(ids.shape, device=ids.device))
    counts[:, PAD] = 0
    return counts


def divergence(wanted: Tensor, found: Tensor, counts: Tensor) -> Tensor:
    """Return KL(wanted || found) in bits, the mean over the characters of each text.

    Args:
        wanted: log-probabilities, (batch, symbol, symbol) or with a leading layer.
        found: log-probabilities, (layer, batch, symbol, symbol).
        counts: occurrences of each symbol, (batch, symbol).

    Returns:
        (layer, batch).

    """
    rows = (wanted.exp() * (wanted - found)).sum(-1)  # (layer, batch, symbol)
    return (rows * counts).sum(-1) / counts.sum(-1) / math.log(2)
