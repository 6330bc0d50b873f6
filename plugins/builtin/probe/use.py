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
"""Erase the concept; as many random directions; random directions with the same share of the variance."""


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
    """Scores after erasing, (task, layer, way, text, 3); ways are WAYS, controls are means over their draws."""
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
        whole = cache[names[-1]][rows]
        clean.append(_scores(ctx, some, whole, whole, len(names) - 1))
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
    ranks = (eraser.rank, round(eraser.removed * stream.shape[-1]))
    runs = [eraser(stream), *(eraser.random(stream, rank, generator) for rank in ranks for _ in range(draws))]
    runs = [torch.where(place, run, stream) for run in runs]
    found = np.stack([_scores(ctx, batch, whole, run, layer) for run in runs])
    controls = found[1:].reshape(len(ranks), draws, *found.shape[1:]).mean(1)
    return np.concatenate([found[:1], controls])


@torch.inference_mode()
def _scores(ctx: RunContext, batch: Batch, whole: Tensor, stream: Tensor, layer: int) -> Floats:
    """Run the model on from the stream of a layer and return the scores of each text, (text, 3).

    `whole` is the final stream of the whole model.
    """
    ids, model = batch.cipher_ids, ctx.model
    resid = model.resid(ids, stream=stream, start=layer)
    symbols = torch.arange(ctx.alphabet.size, device=ids.device)
    letters = torch.isin(symbols, torch.from_numpy(ctx.alphabet.letter_ids.astype(np.int64)).to(ids.device))
    present = (ids[:, :, None] == symbols).any(1) & letters  # (batch, symbol)
    score = answer_scores(model, resid, ids, right_symbols(batch, ctx.alphabet), present)
    before, after = (model.log_probabilities(one, ids).exp() for one in (whole, resid))
    moved = (0.5 * (before - after).abs().sum(-1) * present).sum(1) / present.sum(1).clamp(min=1)
    return torch.stack([score, symbol_errors(model, resid, ids, batch), moved], 1).double().cpu().numpy()
