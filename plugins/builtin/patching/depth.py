"""Label depth: the layer at which a patch carries what a cipher symbol means, and no longer its name."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.causal import DIRECTIONS, Into, Patch, right_symbols
from alice.errors import AliceError
from alice.model import Alice
from alice.plugins.builtin.patching.measure import (
    Caches,
    as_arrays,
    log_probability,
    patched_score,
    run_both,
    stream_names,
)
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints
from alice.text import Pair

RELABELLED = "relabel-two"
HALF, NEARLY_ALL = 0.5, 0.9
"""Shares of the way that define the depth, and where the transition is complete."""


@dataclass(frozen=True, eq=False)
class Depth:
    """Answers about two cipher symbols after patches of relabelled texts, layer by layer, in one direction."""

    into: Into
    """The run that is patched; `clean` is the original text, `corrupted` the relabelled one."""
    clean: Floats
    """Score of the original run, (text,): log-odds of the two answers about the two symbols, in nats."""
    corrupted: Floats
    """Score of the relabelled run, (text,)."""
    scores: Floats
    """Score with the stream of a layer patched at the two symbols' places, (text, layer)."""
    wrong: Floats
    """The same with shifts of the same length in the direction of another text's, (text, layer); NaN without one."""
    letters: Floats
    """Share of the two symbols that are read as in the original, (text, layer)."""
    log_probabilities: Floats
    """Log-probability of the original answers, (text, 2 + layer): originally, relabelled, patched at each layer."""


def measure_depth(ctx: RunContext) -> list[Depth]:
    """Patch every layer of relabelled texts into the originals and back."""

    def read(whole: Pair) -> tuple[Ints, list[list[NDArray[np.float32]]]] | None:
        pair = whole.kept()
        if not len(pair.clean):
            return None
        caches = run_both(ctx.model, pair)
        columns = [_layers(ctx.model, Patch(pair, ctx.alphabet, into), caches) for into in DIRECTIONS]
        return pair.clean.index.cpu().numpy(), list(map(as_arrays, columns))

    found = list(filter(None, ctx.map(read, ctx.pairs(RELABELLED), f"Relabelling for {ctx.checkpoint}")))
    if not found:
        raise AliceError("no text has two letters to relabel; give longer texts")
    index, directions = zip(*found, strict=True)
    order = np.argsort(np.concatenate(index))
    return [
        Depth(into, *(np.concatenate(column)[order].astype(np.float64) for column in zip(*batches, strict=True)))
        for into, batches in zip(DIRECTIONS, zip(*directions, strict=True), strict=True)
    ]


@torch.no_grad()
def _layers(model: Alice, patch: Patch, caches: Caches) -> list[Tensor]:
    """Return the columns of a `Depth` for one batch."""
    names = stream_names(model)
    runs = [
        (Patch(patch.pair, patch.alphabet, into), caches[into][names[-1]]) for into in ("clean", "corrupted")
    ]  # the two runs as they are
    target, source = caches[patch.into], caches["clean" if patch.into == "corrupted" else "corrupted"]
    wrong = []
    for layer, name in enumerate(names):
        shifts = patch.shifts(target[name], source[name])
        moved, misled = (
            model.resid(patch.ids, stream=target[name] + patch.at_places(shift), start=layer)
            for shift in (_two(patch, shifts), _misdirected(patch, shifts))
        )
        runs.append((patch, moved))
        wrong.append(patched_score(model, patch, misled))
    clean, corrupted, *scores = (patched_score(model, *run) for run in runs)
    controls = torch.stack(wrong, 1)
    if len(patch.ids) < 2:  # there is no other text to take a direction from
        controls = torch.full_like(controls, torch.nan)
    letters = torch.stack([_right(model, *run) for run in runs[2:]], 1)
    plain = torch.stack([log_probability(model, *run) for run in runs], 1)
    return [clean, corrupted, torch.stack(scores, 1), controls, letters, plain]


def _two(patch: Patch, shifts: Tensor) -> Tensor:
    """Keep the shifts of the two symbols that change places, (batch, symbol, d_model)."""
    return shifts * patch.pair.scored.unsqueeze(-1)


def _misdirected(patch: Patch, shifts: Tensor) -> Tensor:
    """Give each text the directions of the two shifts of the text before it, with its own lengths."""
    pairs = patch.pair.scored.nonzero()[:, 1].view(-1, 2)  # (batch, 2): the symbols
    rows = torch.arange(len(pairs), device=pairs.device)[:, None]
    own = shifts[rows, pairs]  # (batch, 2, d_model)
    other = torch.nn.functional.normalize(own.roll(1, 0), dim=-1)
    wrong = torch.zeros_like(shifts)
    wrong[rows, pairs] = other * own.norm(dim=-1, keepdim=True)
    return wrong


def _right(model: Alice, patch: Patch, resid: Tensor) -> Tensor:
    """Return the share of the two symbols whose most probable answer is that of the original text, (batch,)."""
    scored = patch.pair.scored
    answers = model.log_probabilities(resid, patch.reader).argmax(-1)  # (batch, symbol)
    right = answers == right_symbols(patch.pair.clean, model.alphabet)
    return (right & scored).sum(1) / scored.sum(1)


def crossing(shares: Floats, level: float) -> Floats:
    """Return where each row first reaches a level, (row, layer) -> (row,), between layers linearly; NaN if never."""
    reached = shares >= level
    first = reached.argmax(1)
    rows = np.arange(len(shares))
    before = np.maximum(first - 1, 0)
    low, high = shares[rows, before], shares[rows, first]
    rise = np.where(high > low, high - low, 1.0)
    place = np.where(first > 0, before + (level - low) / rise, 0.0)
    return np.where(reached.any(1), place, np.nan)


def first_layer(shares: Floats, level: float) -> Floats:
    """Return the first layer at which each row reaches a level, (row, layer) -> (row,); NaN if never."""
    reached = shares >= level
    return np.where(reached.any(1), reached.argmax(1), np.nan)
