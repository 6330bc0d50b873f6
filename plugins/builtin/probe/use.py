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

WAYS = ("erased", "same-rank")
"""Erase the concept; erase as many random directions."""


@dataclass(frozen=True, eq=False)
class Use:
    """What a model answers with and without each target in the stream of each layer.

    There are three scores of a text: the mean log-probability of the right letter over its cipher letters, in nats; the
    SER as a fraction; and how much of the probability of the answers moved, compared with the whole model: the total
    variation distance, 0 to 1, averaged over the cipher letters. The last does not depend on what is right.
    """

    tasks: tuple[Task, ...]
    """The targets."""
    clean: Floats
    """Scores of the whole model, (text, 3)."""
    without: Floats
    """Scores after erasing, (task, layer, way, text, 3); ways are WAYS, the control is a mean over its draws."""
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
        last = cache[names[-1]][rows]
        with torch.inference_mode():
            whole = ctx.model.log_probabilities(last, some.cipher_ids).exp()
        clean.append(_scores(ctx, some, whole, [last], len(names) - 1)[0])
        found = [
            _erased(ctx, some, whole, cache[name][rows], layer, of_task[layer], draws=draws, seed=(number, task))
            for task, of_task in enumerate(erasers)
            for layer, name in enumerate(names)
        ]
        without.append(np.reshape(found, (len(here), len(names), len(WAYS), len(some), 3)))
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
    ctx: RunContext,
    batch: Batch,
    whole: Tensor,
    stream: Tensor,
    layer: int,
    eraser: Eraser,
    *,
    draws: int,
    seed: tuple[int, int],
) -> Floats:
    """Return the scores of one layer without a concept and without random directions, (way, text, 3)."""
    place = is_letter(batch, ctx.alphabet)[:, :, None]
    generator = torch.Generator().manual_seed(int(np.random.default_rng((ctx.seed, layer, *seed)).integers(2**62)))
    runs = [eraser(stream), *(eraser.random(stream, eraser.rank, generator) for _ in range(draws))]
    found = _scores(ctx, batch, whole, [torch.where(place, run, stream) for run in runs], layer)
    return np.stack([found[0], found[1:].mean(0)])


@torch.inference_mode()
def _scores(ctx: RunContext, batch: Batch, whole: Tensor, streams: Sequence[Tensor], layer: int) -> Floats:
    """Run the model on from several streams of a layer and return the scores of each text, (stream, text, 3).

    `whole` has the probabilities of the whole model's answers, (text, symbol, symbol).
    """
    model, alphabet, ids = ctx.model, ctx.alphabet, batch.cipher_ids
    symbols = torch.arange(alphabet.size, device=ids.device)
    letters = torch.isin(symbols, torch.from_numpy(alphabet.letter_ids.astype(np.int64)).to(ids.device))
    present = (ids[:, :, None] == symbols).any(1) & letters  # (text, symbol)
    right = right_symbols(batch, alphabet)
    resid = model.resid(ids.repeat(len(streams), 1), stream=torch.cat(list(streams)), start=layer)
    found = []
    for one in resid.split(len(batch)):
        moved = 0.5 * (model.log_probabilities(one, ids).exp() - whole).abs().sum(-1)  # (text, symbol)
        moved = (moved * present).sum(1) / present.sum(1).clamp(min=1)
        scores = answer_scores(model, one, ids, right, present), symbol_errors(model, one, ids, batch), moved
        found.append(torch.stack(scores, 1))
    return torch.stack(found).double().cpu().numpy()
