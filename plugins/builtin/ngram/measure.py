"""Reads every layer with probes and with the model's own head, and compares n-grams with those of the plaintext."""

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from transformer_lens import ActivationCache

from alice.errors import AliceError
from alice.model import Lens
from alice.plugins.builtin.ngram.counts import (
    NgramCounts,
    cosine_by_text,
    cosine_of_sums,
    count_ngrams,
    gain_layers,
    norms_of_sums,
    rank_correlation,
)
from alice.plugins.builtin.traces import EXITS, exit_answers
from alice.plugins.context import RunContext
from alice.probes import Kind, LayerProbes, Texts, TokenPairs, chosen, split_texts, stacked
from alice.probes.tasks import tasks
from alice.statistics import Floats
from alice.text import Alphabet, Batch

Bytes = NDArray[np.uint8]
Reader = Literal["linear", "mlp", "exit"]
READERS: dict[Reader, str] = {"linear": "linear probe", "mlp": "MLP probe", "exit": "early exit"}
"""Ways to read a layer, with their titles."""
PROBES: tuple[Kind, ...] = ("linear", "mlp")
HELD_OUT = 0.4
"""Share of the texts whose n-grams are counted; the probes are trained on the others."""
Measure = Literal["texts", "corpus"]
MEASURES: dict[Measure, str] = {"texts": "mean over texts", "corpus": "whole corpus"}
"""Ways to summarise many texts in one similarity, with their titles."""
DRAWS = 100
"""Reweightings of the texts."""
INTERVAL = (2.5, 97.5)
"""Percentiles of the draws at the ends of an interval."""


@dataclass(frozen=True, eq=False)
class Readings:
    """Answers of every reader at every layer, one byte per character to save memory."""

    model: str
    """Name of the model."""
    variant: str
    """Variant of the model."""
    alphabet: Alphabet
    """Symbols of the ids."""
    trained_on: int
    """Number of texts that the probes were trained on."""
    texts: int
    """Number of texts that were read; the probes were trained on none of them."""
    owner: NDArray[np.int64]
    """Number of the text that each character belongs to, from 0, (character,)."""
    plain: Bytes
    """The plaintexts, one after another, (character,)."""
    answers: dict[Reader, Bytes]
    """By reader, (layer, character); layer 0 is the embedding."""

    def letters_only(self) -> "Readings":
        """Return the readings without the positions where the plaintext has no letter; the rest closes up."""
        kept = np.isin(self.plain, self.alphabet.letter_ids)
        answers = {reader: ids[:, kept] for reader, ids in self.answers.items()}
        return Readings(
            **vars(self) | {"owner": self.owner[kept], "plain": self.plain[kept], "answers": answers},
        )


@dataclass(frozen=True, eq=False)
class Similarity:
    """Cosine similarities of one reader by one measure."""

    cosine: Floats
    """(layer, n)."""
    draws: Floats
    """The same under each reweighting of the texts, (draw, layer, n)."""
    texts: list[int]
    """Number of texts that have n-grams, (n,)."""

    @property
    def error(self) -> Floats:
        """Standard error, (layer, n); NaN where only one text has n-grams, since its weight has no effect."""
        return np.where(np.array(self.texts) > 1, self.draws.std(0, ddof=1), np.nan)

    @property
    def layers(self) -> NDArray[np.int64]:
        """The layer at which each n gains most, (n,)."""
        return gain_layers(self.cosine)

    @property
    def trend(self) -> float:
        """Spearman's correlation of n with that layer."""
        return rank_correlation(self.layers)

    @cached_property
    def trend_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of that correlation over the reweightings; None for a single text."""
        if max(self.texts) < 2:
            return None
        different, which = np.unique(gain_layers(self.draws), axis=0, return_inverse=True)  # most of them are equal
        low, high = np.percentile(np.array([*map(rank_correlation, different)])[which.ravel()], INTERVAL)
        return float(low), float(high)


@dataclass(frozen=True, eq=False)
class Similarities:
    """The similarities of one model."""

    readings: Readings
    """What was read."""
    texts: list[int]
    """Number of texts that have n-grams, (n,), up to the largest n that occurs."""
    found: dict[tuple[Reader, Measure], Similarity]
    """By reader and measure."""


def read(ctx: RunContext, *, epochs: int, hidden: int, lens: Lens | None = None) -> Readings:
    """Train probes on some texts of a context, and read the others with them and with the model's head."""
    stored = ctx.store(*EXITS)
    names, task = stored.names, tasks(ctx.alphabet)["letter"]
    train, held = split_texts(sum(len(batch) for batch in ctx.batches), ctx.rng, held_out=HELD_OUT)
    probes = {}
    for kind in ctx.progress(PROBES, f"Training probes on {ctx.checkpoint}"):
        probe = LayerProbes(kind, epochs=epochs, hidden=hidden, seed=ctx.seed)
        probes[kind] = probe.fit(TokenPairs(stored, names, [task], train), [task.classes])
    numbers = ctx.progress(range(len(stored)), f"Reading with {ctx.checkpoint}")
    parts = [_read_batch(ctx, *stored[number], held, probes, lens) for number in numbers]
    lengths = np.concatenate([part["lengths"] for part in parts])
    return Readings(
        model=ctx.checkpoint,
        variant=ctx.model.config.variant,
        alphabet=ctx.alphabet,
        trained_on=int(train.sum()),
        texts=len(lengths),
        owner=np.repeat(np.arange(len(lengths)), lengths),
        plain=np.concatenate([part["plain"] for part in parts]),
        answers={reader: np.concatenate([part[reader] for part in parts], axis=1) for reader in READERS},
    )


def _read_batch(
    ctx: RunContext,
    batch: Batch,
    cache: ActivationCache,
    held: Texts,
    probes: dict[Kind, LayerProbes],
    lens: Lens | None,
) -> dict[str, NDArray[Any]]:
    """Return the lengths of the held-out texts of a batch, their plaintexts, and the answers by reader."""
    names, tokens = ctx.model.match_hooks(*EXITS), chosen(batch, held)
    x = stacked(cache, names, tokens)
    rows = batch.mask[torch.from_numpy(held).to(batch.index.device)[batch.index]]
    return {
        "lengths": rows.sum(1).cpu().numpy(),
        "plain": _bytes(batch.plain_ids.flatten()[tokens]),
        **{kind: _bytes(probe.predict(x)[0]) for kind, probe in probes.items()},
        "exit": _bytes(_exits(ctx, batch, names, lens)[:, tokens]),
    }


def _exits(ctx: RunContext, batch: Batch, names: list[str], lens: Lens | None) -> Tensor:
    """Return the answer of the model's own head after each layer, for each token of a batch, (layer, token)."""
    answers = exit_answers(ctx.model, batch, names, lens)
    return answers.gather(2, batch.cipher_ids.expand(len(answers), -1, -1)).flatten(1)


def _bytes(ids: Tensor) -> Bytes:
    small: Bytes = ids.to(torch.uint8).cpu().numpy()
    return small


def compare(readings: Readings, longest: int, rng: np.random.Generator) -> Similarities:
    """Compare the n-grams of every reader at every layer with those of the plaintexts, n = 1 to `longest`."""
    # Exponential weights are unnormalised Dirichlet weights, and a cosine ignores the scale. The first row is uniform.
    weights = np.concatenate([np.ones((1, readings.texts)), rng.exponential(size=(DRAWS, readings.texts))])
    answers = np.concatenate(list(readings.answers.values()))  # (reader * layer, character)
    texts, cosines = [], []
    for n in range(1, longest + 1):
        truth = _count(readings, readings.plain, n)
        if truth.has_any.any():
            texts.append(int(truth.has_any.sum()))
            cosines.append(_cosines(truth, (_count(readings, ids, n) for ids in answers), weights))
    if not texts:
        raise AliceError("there is nothing to count: none of the held-out texts has a letter; count all characters")
    # (n, measure, reader * layer, 1 + draw) -> (reader, measure, 1 + draw, layer, n)
    ordered = np.array(cosines).transpose(2, 1, 3, 0).reshape(len(readings.answers), -1, 2, len(weights), len(texts))
    ordered = ordered.transpose(0, 2, 3, 1, 4)
    found = {
        (reader, measure): Similarity(values[0], values[1:], texts)
        for reader, both in zip(readings.answers, ordered, strict=True)
        for measure, values in zip(MEASURES, both, strict=True)
    }
    return Similarities(readings, texts, found)


def _count(readings: Readings, ids: Bytes, n: int) -> NgramCounts:
    return count_ngrams(ids, readings.owner, n, symbols=readings.alphabet.size, texts=readings.texts)


def _cosines(truth: NgramCounts, counts: Iterable[NgramCounts], weights: Floats) -> Floats:
    """Return the mean over texts and the cosine of the whole corpus under each of the weights, (2, answer, draw).

    The counts are consumed one by one, so only those of one answer are in memory.
    """
    has, norms = truth.has_any, norms_of_sums(truth, weights)
    shares = weights[:, has].T / weights[:, has].sum(1)
    cosines = [(cosine_by_text(truth, one)[has] @ shares, cosine_of_sums(truth, one, weights, norms)) for one in counts]
    return np.array(cosines).transpose(1, 0, 2)
