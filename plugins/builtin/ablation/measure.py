"""Runs a model without each of its parts, and without pairs of heads."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import torch
from torch import Tensor

from alice.causal import (
    REPLACEMENTS,
    Part,
    Replacements,
    answer_scores,
    mean_activations,
    parts_of,
    right_symbols,
    symbol_errors,
)
from alice.errors import AliceError
from alice.model import Alice
from alice.plugins.builtin.attention.measure import Measured as Heads
from alice.plugins.builtin.attention.measure import measure as measure_heads
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints
from alice.text import Pair

COUNTERFACTUAL = "other-text"
ROTATED = "rotated"
"""The control: as much changes at every position as for `resample`, but in a direction of no meaning."""
WAYS = (*REPLACEMENTS, ROTATED)


@dataclass(frozen=True, eq=False)
class Measured:
    """What one model answers without each part."""

    model: str
    """Name of the checkpoint."""
    parts: tuple[Part, ...]
    """The parts, in the order of computation."""
    heads: Heads
    """What `attention` says of the heads on the same texts."""
    clean: Floats
    """Score and SER of the whole model for each text, (text, 2): nats, and a fraction."""
    corrupted: Floats
    """The same for the other text, read as if it were the text, (text, 2)."""
    without: Floats
    """The same without each part, (text, way, part, 2); ways are those of WAYS."""
    pairs: tuple[tuple[int, int], ...]
    """Pairs of heads, as numbers of parts."""
    without_pairs: Floats
    """Score without both heads of each pair, resampled and rotated, (text, 2, pair)."""


def measure(ctx: RunContext, *, pairs: int) -> Measured:
    """Remove every part of a model in every way, then the pairs among the `pairs` heads with the largest effects."""
    parts = parts_of(ctx.model.config)
    heads = measure_heads(ctx)
    index, runs = _over_texts(ctx, [(part,) for part in parts], WAYS, "Removing parts of")
    ordered = runs[np.argsort(index)]  # (text, 2 + way * part, 2)
    clean, corrupted = ordered[:, 0], ordered[:, 1]
    without = ordered[:, 2:].reshape(len(ordered), len(WAYS), len(parts), 2)
    chosen = _strongest_heads(parts, clean - without[:, WAYS.index("resample")].swapaxes(0, 1), pairs)
    together = list(combinations(chosen, 2))
    without_pairs = np.zeros((len(ordered), 2, 0))
    if together:
        groups = [(parts[one], parts[other]) for one, other in together]
        index, runs = _over_texts(ctx, groups, ("resample", ROTATED), "Removing pairs of heads of")
        without_pairs = runs[np.argsort(index), 2:, 0].reshape(-1, 2, len(together))
    return Measured(ctx.checkpoint, parts, heads, clean, corrupted, without, tuple(together), without_pairs)


def _strongest_heads(parts: Sequence[Part], lost: Floats, count: int) -> list[int]:
    """Return the numbers of the heads with the largest mean loss of score, in order; `lost` is (part, text, 2)."""
    numbers = [number for number, part in enumerate(parts) if part.head is not None]
    strongest = sorted(numbers, key=lambda number: -lost[number, :, 0].mean())[:count]
    return sorted(strongest)


def _over_texts(
    ctx: RunContext, groups: Sequence[tuple[Part, ...]], ways: Sequence[str], label: str
) -> tuple[Ints, Floats]:
    """Return the numbers of the texts, (text,), and score and SER of the runs of `_runs`, (text, run, 2)."""
    names = sorted({part.hook for part in parts_of(ctx.model.config)})
    means = mean_activations(ctx.model, ctx.batches, names) if "mean" in ways else {}

    def read(pair: Pair) -> tuple[Ints, Floats] | None:
        kept = pair.kept()
        if not len(kept.clean):
            return None
        runs = torch.stack(list(_runs(ctx.model, kept, groups, ways, means, seed=ctx.seed)), dim=1)
        return kept.clean.index.cpu().numpy(), runs.double().cpu().numpy()

    found = list(filter(None, ctx.map(read, ctx.pairs(COUNTERFACTUAL), f"{label} {ctx.checkpoint}")))
    if not found:
        raise AliceError("no text has a counterfactual, so nothing can be measured; give texts with words")
    index, values = zip(*found, strict=True)
    return np.concatenate(index), np.concatenate(values)


@torch.inference_mode()
def _runs(
    model: Alice,
    pair: Pair,
    groups: Iterable[tuple[Part, ...]],
    ways: Sequence[str],
    means: Mapping[str, Tensor],
    *,
    seed: int,
) -> Iterator[Tensor]:
    """Yield score and SER, (batch, 2), of the clean run, of the corrupted run, and of each way and group in turn."""
    ids = pair.clean.cipher_ids
    right = right_symbols(pair.clean, model.alphabet)

    def read(resid: Tensor) -> Tensor:
        score = answer_scores(model, resid, pair.reader, right, pair.scored)
        return torch.stack([score, symbol_errors(model, resid, pair.reader, pair.clean)], dim=1)

    groups = list(groups)
    names = sorted({part.hook for part in parts_of(model.config)})
    streams = [f"blocks.{block}.hook_resid_pre" for block in range(model.config.n_layers)]
    _, cache = model.run_with_cache(ids, names_filter=frozenset((*names, *streams)).__contains__)
    yield read(model.resid(ids))
    yield read(model.resid(pair.corrupted.cipher_ids))
    for way in ways:
        if way == ROTATED:
            other = Replacements.of("resample", model, pair, means=means, names=names)
            replaced = rotated(cache, other, seed=seed)
        else:
            replaced = Replacements.of(way, model, pair, means=means, names=names)
        for group in groups:
            first = min(part.block for part in group)
            with model.hooks(fwd_hooks=replaced.hooks(group)):
                yield read(model.resid(ids, stream=cache[streams[first]], start=first))


def rotated(clean: Mapping[str, Tensor], other: Replacements, *, seed: int) -> Replacements:
    """Return replacements that change as much as `other` at every position, in directions that are rotated at random.

    Each part has a rotation of its own, the same for all texts and positions: what changes keeps its size and its
    pattern from position to position, and for a head the directions that it can write to, but not its meaning.
    """
    generator = torch.Generator().manual_seed(seed)
    values = {}
    for name, replacement in other.values.items():
        changes = replacement - clean[name]  # (batch, pos, d_model) or (batch, pos, head, d_head)
        count, width = (changes.shape[2] if changes.ndim == 4 else 1), changes.shape[-1]
        turns = torch.linalg.qr(torch.randn(count, width, width, generator=generator))[0].to(changes)
        turned = torch.einsum("bphd,hde->bphe", changes.reshape(*changes.shape[:2], count, width), turns)
        values[name] = clean[name] + turned.reshape(changes.shape)
    return Replacements("resample", values)
