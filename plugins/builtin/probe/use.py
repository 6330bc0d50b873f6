"""Erases what linear probes read from the residual stream, and measures what the model loses."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from alice.causal import answer_scores, right_symbols, symbol_errors
from alice.plugins.context import RunContext
from alice.probes import Eraser, Shards, Task, Texts, TokenPairs, fit_erasers
from alice.probes.linear import IGNORED
from alice.probes.tasks import is_letter
from alice.statistics import Floats
from alice.text import Alphabet, Batch

WAYS = ("erased", "same-rank", "same-variance")
"""The concept; as many random directions; so many that they have the same share of the variance."""


@dataclass(frozen=True, eq=False)
class Use:
    """What a model answers with and without each target in the stream of each layer.

    A score is the mean log-probability of the right letter over the cipher letters of a text, in nats, and the SER as a
    fraction.
    """

    tasks: tuple[Task, ...]
    """The targets."""
    clean: Floats
    """Scores of the whole model, (text, 2)."""
    without: Floats
    """Scores after erasing, (task, layer, way, text, 2); ways are WAYS, controls are means over their draws."""
    rank: Floats
    """Number of directions that were erased, (task, layer)."""
    variance: Floats
    """Share of the variance of the stream that they have, (task, layer)."""


def measure_use(
    ctx: RunContext,
    shards: Shards,
    names: Sequence[str],
    asked: Sequence[Task],
    *,
    train: Texts,
    held: Texts,
    draws: int,
) -> Use:
    """Erase each target from each layer at the letters of held-out texts, with erasers from the training texts.

    Every text has its own random directions in each of `draws` draws.
    """
    here = [letters_only(task, ctx.alphabet) for task in asked]
    erasers = (
        fit_erasers(TokenPairs(shards, names, here, train), [task.classes for task in here]) if here else []
    )  # by task and layer
    index, clean, without = [], [], []
    for number in ctx.progress(range(len(shards)), f"Erasing from {ctx.checkpoint}"):
        batch, cache = shards[number]
        rows = torch.from_numpy(held).to(batch.index.device)[batch.index]
        if not rows.any():
            continue
        some = batch.chosen(rows)
        index.append(some.index.cpu().numpy())
        clean.append(_scores(ctx, some, cache[names[-1]][rows], len(names) - 1))
        found = [
            _erased(ctx, some, cache[name][rows], layer, of_task[layer], draws=draws, seed=(number, task))
            for task, of_task in enumerate(erasers)
            for layer, name in enumerate(names)
        ]
        without.append(np.reshape(found, (len(here), len(names), len(WAYS), len(some), 2)))
    order = np.argsort(np.concatenate(index))
    values = [[(one.rank, one.removed) for one in of_task] for of_task in erasers]
    rank, variance = np.reshape(values, (len(here), len(names), 2)).transpose(2, 0, 1)
    return Use(tuple(asked), np.concatenate(clean)[order], np.concatenate(without, 3)[..., order, :], rank, variance)


def letters_only(task: Task, alphabet: Alphabet) -> Task:
    """Return the task without labels for spaces and punctuation, which are never encrypted."""

    def labels(batch: Batch) -> Tensor:
        return task.labels(batch).where(is_letter(batch, alphabet), IGNORED)

    return replace(task, labels=labels)


def _erased(
    ctx: RunContext, batch: Batch, stream: Tensor, layer: int, eraser: Eraser, *, draws: int, seed: tuple[int, int]
) -> Floats:
    """Return the scores of one layer without a concept and without random directions, (way, text, 2)."""
    place = is_letter(batch, ctx.alphabet)[:, :, None]
    generator = torch.Generator().manual_seed(int(np.random.default_rng((ctx.seed, layer, *seed)).integers(2**62)))
    ranks = (eraser.rank, round(eraser.removed * stream.shape[-1]))
    runs = [eraser(stream), *(eraser.random(stream, rank, generator) for rank in ranks for _ in range(draws))]
    runs = [torch.where(place, run, stream) for run in runs]
    found = np.stack([_scores(ctx, batch, run, layer) for run in runs])
    controls = found[1:].reshape(len(ranks), draws, *found.shape[1:]).mean(1)
    return np.concatenate([found[:1], controls])


@torch.inference_mode()
def _scores(ctx: RunContext, batch: Batch, stream: Tensor, layer: int) -> Floats:
    """Run the model on from the stream of a layer, and return log-probability and SER of each text, (text, 2)."""
    ids, model = batch.cipher_ids, ctx.model
    resid = model.resid(ids, stream=stream, start=layer)
    symbols = torch.arange(ctx.alphabet.size, device=ids.device)
    letters = torch.isin(symbols, torch.from_numpy(ctx.alphabet.letter_ids.astype(np.int64)).to(ids.device))
    present = (ids[:, :, None] == symbols).any(1) & letters  # (batch, symbol)
    score = answer_scores(model, resid, ids, right_symbols(batch, ctx.alphabet), present)
    return torch.stack([score, symbol_errors(model, resid, ids, batch)], 1).double().cpu().numpy()
