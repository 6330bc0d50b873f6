"""Reads every layer with probes and with the model's own head, and compares n-grams with those of the plaintext."""

from collections.abc import Iterator
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
    corpus_values,
    cosines_by_text,
    count_ngrams,
    gain_layers,
    rank_correlation,
)
from alice.plugins.builtin.ngram.nulls import null_models
from alice.plugins.builtin.traces import EXITS, exit_answers
from alice.plugins.context import RunContext
from alice.probes import Kind, LayerProbes, Texts, TokenPairs, chosen, split_texts, stacked
from alice.probes.tasks import tasks
from alice.statistics import Floats, PairedBootstrap
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
    numbers: NDArray[np.int64]
    """Number of each text in its source, (text,)."""

    def letters_only(self) -> "Readings":
        """Return the readings without the positions where the plaintext has no letter; the rest closes up."""
        kept = np.isin(self.plain, self.alphabet.letter_ids)
        answers = {reader: ids[:, kept] for reader, ids in self.answers.items()}
        return Readings(
            **vars(self) | {"owner": self.owner[kept], "plain": self.plain[kept], "answers": answers},
        )


@dataclass(frozen=True, eq=False)
class Similarity:
    """Cosine similarities of one reader by one measure, and those of null models with as many wrong letters."""

    values: Floats
    """What each text contributes to the similarity, which is its mean, (text, layer, n); NaN without n-grams."""
    nulls: Floats
    """The same for each null model, the mean over its draws, (null, text, layer, n)."""
    null_draws: Floats
    """Similarity for each draw of the null models, (null, draw, layer, n)."""

    @cached_property
    def bootstrap(self) -> PairedBootstrap:
        """The bootstrap over texts; columns are the model, then the null models, each with layer by n."""
        columns = np.concatenate([self.values[None], self.nulls]).swapaxes(0, 1)
        return PairedBootstrap(columns.reshape(len(columns), -1), np.random.default_rng(0))

    @property
    def cosine(self) -> Floats:
        """The similarity, (layer, n)."""
        return self._shaped(self.bootstrap.mean)[0]

    @property
    def null_cosine(self) -> Floats:
        """The mean similarity of each null model, (null, layer, n)."""
        return self._shaped(self.bootstrap.mean)[1:]

    @property
    def error(self) -> Floats:
        """Standard error of the similarity, (layer, n); NaN where fewer than two texts differ."""
        return self._shaped(self.bootstrap.error)[0]

    @property
    def excess(self) -> Floats:
        """Similarity minus that of each null model, (null, layer, n)."""
        return self.cosine - self.null_cosine

    @cached_property
    def excess_interval(self) -> Floats:
        """The 95 % interval of the excess over texts, (2, null, layer, n); NaN where fewer than two texts differ."""
        own = self.cosine.size
        nulls = np.arange(own, own * (1 + len(self.nulls)))
        ends = self.bootstrap.difference(nulls % own, nulls).interval()
        return ends.T.reshape(2, len(self.nulls), *self.cosine.shape)

    @property
    def layers(self) -> NDArray[np.int64]:
        """The layer at which each n gains most, (n,)."""
        return gain_layers(self.cosine)

    @property
    def trend(self) -> float:
        """Spearman's correlation of n with that layer."""
        return rank_correlation(self.layers)

    @property
    def null_trends(self) -> Floats:
        """The same correlation for each null model, (null,)."""
        return np.array([*map(rank_correlation, gain_layers(self.null_cosine))])

    @cached_property
    def trend_draws(self) -> Floats:
        """The correlations of the model and of each null model under each weighting of the texts, (draw, 1 + null)."""
        gains = gain_layers(self._shaped(self.bootstrap.draws))
        different, which = np.unique(gains.reshape(-1, gains.shape[-1]), axis=0, return_inverse=True)  # most are equal
        return np.array([*map(rank_correlation, different)])[which.ravel()].reshape(gains.shape[:-1])

    @property
    def trend_interval(self) -> tuple[float, float] | None:
        """The 95 % interval of the correlation over weightings of the texts; None for a single text."""
        return self._ends(self.trend_draws[:, 0])

    @property
    def trend_excess(self) -> list[tuple[float, tuple[float, float] | None]]:
        """The correlation minus that of each null model, with its interval."""
        differences = (self.trend_draws[:, :1] - self.trend_draws[:, 1:]).T
        values = self.trend - self.null_trends
        return [(float(value), self._ends(drawn)) for value, drawn in zip(values, differences, strict=True)]

    def _ends(self, draws: Floats) -> tuple[float, float] | None:
        if self.bootstrap.count.max() < 2:
            return None
        low, high = np.percentile(draws, INTERVAL)
        return float(low), float(high)

    def _shaped(self, columns: Floats) -> Floats:
        """Return columns of the bootstrap as (..., 1 + null, layer, n)."""
        return columns.reshape(*columns.shape[:-1], 1 + len(self.nulls), *self.values.shape[1:])


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
        numbers=np.concatenate([part["numbers"] for part in parts]),
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
    rows = torch.from_numpy(held).to(batch.index.device)[batch.index]
    return {
        "lengths": batch.mask[rows].sum(1).cpu().numpy(),
        "numbers": batch.index[rows].cpu().numpy(),
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


def compare(readings: Readings, longest: int, *, null_draws: int, seed: int) -> Similarities:
    """Compare the n-grams of every reader at every layer with those of the plaintexts, n = 1 to `longest`.

    The null models have as many wrong letters in each text as the answer that they are compared with.
    """
    answers = np.concatenate(list(readings.answers.values()))  # (reader * layer, character)
    lengths = np.bincount(readings.owner, minlength=readings.texts)
    shown = [int((lengths >= n).sum()) for n in range(1, longest + 1)]
    texts = [count for count in shown if count]
    if not texts:
        raise AliceError("there is nothing to count: none of the held-out texts has a letter; count all characters")
    truths = [_count(readings, readings.plain, n) for n in range(1, len(texts) + 1)]
    found = _values(readings, answers, truths)
    nulls = list(_null_values(readings, answers, truths, null_draws, seed))
    similarities = {}
    for column, measure in enumerate(MEASURES):
        # (null, draw, answer, text, n)
        drawn = np.stack([draw[column] for draw in nulls if column < len(draw)], axis=1)
        means = drawn.mean(1)
        for reader, here in _by_reader(readings):
            similarities[reader, measure] = Similarity(
                found[column][here].swapaxes(0, 1), means[:, here].swapaxes(1, 2), np.nanmean(drawn[:, :, here], axis=3)
            )
    return Similarities(readings, texts, similarities)


def _by_reader(readings: Readings) -> Iterator[tuple[Reader, slice]]:
    """Yield each reader with the place of its layers among all answers."""
    start = 0
    for reader, ids in readings.answers.items():
        yield reader, slice(start, start + len(ids))
        start += len(ids)


def _null_values(
    readings: Readings, answers: Bytes, truths: list[NgramCounts], draws: int, seed: int
) -> Iterator[list[Floats]]:
    """Yield the values of each null model, (null, answer, text, n), by measure; all draws but the first only by text.

    Counts of the whole corpus cost more, and vary less from draw to draw.
    """
    plain, owner, texts = readings.plain, readings.owner, readings.texts
    for draw in range(draws):
        models = null_models(plain, owner, readings.numbers, readings.alphabet, seed=seed, draw=draw)
        answered = (np.stack([model.answers(plain, ids, owner, texts) for ids in answers]) for model in models)
        found = [_values(readings, ids, truths, corpus=draw == 0) for ids in answered]
        yield [np.stack(measure) for measure in zip(*found, strict=True)]


def _values(readings: Readings, answers: Bytes, truths: list[NgramCounts], *, corpus: bool = True) -> list[Floats]:
    """Return what each text contributes to the similarity of each answer, (answer, text, n), by measure."""
    counted = {"symbols": readings.alphabet.size, "texts": readings.texts}
    by_text = np.stack(
        [cosines_by_text(readings.plain, ids, readings.owner, len(truths), **counted) for ids in answers]
    )
    if not corpus:
        return [by_text]
    whole = [
        np.stack([corpus_values(truth, _count(readings, ids, n)) for n, truth in enumerate(truths, 1)], axis=-1)
        for ids in answers
    ]
    return [by_text, np.stack(whole)]


def _count(readings: Readings, ids: Bytes, n: int) -> NgramCounts:
    return count_ngrams(ids, readings.owner, n, symbols=readings.alphabet.size, texts=readings.texts)
