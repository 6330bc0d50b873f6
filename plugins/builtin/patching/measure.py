"""Patches every layer at every place, every head and every feed-forward layer from one run of a pair into the other."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.causal import DIRECTIONS, Into, Part, Patch, Replacements, answer_scores, parts_of, right_symbols
from alice.errors import AliceError
from alice.model import Alice
from alice.plugins.builtin.patching.places import places_of, sort_places
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints
from alice.text import Pair

Caches = Mapping[Into, Mapping[str, Tensor]]
"""Activations of the clean and the corrupted run, by hook."""


@dataclass(frozen=True, eq=False)
class Map:
    """Scores after patches of one kind of counterfactual in one direction, in nats."""

    kind: str
    """Kind of counterfactual."""
    into: Into
    """The run that is patched."""
    places: tuple[str, ...]
    """Where the residual stream is patched."""
    sizes: Floats
    """Share of the characters at each place, (place,)."""
    clean: Floats
    """Score of the clean run, (text,)."""
    corrupted: Floats
    """Score of the corrupted run, (text,)."""
    stream: Floats
    """Score with the residual stream of a layer patched at a place, (text, layer, place)."""
    parts: Floats
    """Score with a head or feed-forward layer patched everywhere, (text, part)."""
    attention: Floats
    """Score with all heads of a block patched everywhere, (text, block)."""
    stream_estimates: Floats
    """What attribution patching predicts for `stream`, from one backward pass."""
    part_estimates: Floats
    """What it predicts for `parts`."""


def measure_maps(ctx: RunContext, kind: str) -> list[Map]:
    """Patch everything in both directions, for one kind of counterfactual."""
    names = places_of(kind)

    def read(whole: Pair) -> tuple[Ints, Floats, list[list[NDArray[np.float32]]]] | None:
        pair = whole.kept()
        if not len(pair.clean):
            return None
        where = sort_places(pair, ctx.alphabet, names)  # (batch, place, pos)
        caches = run_both(ctx.model, pair)
        columns = [_patched(ctx.model, Patch(pair, ctx.alphabet, into), caches, where) for into in DIRECTIONS]
        return pair.clean.index.cpu().numpy(), where.sum((0, 2)).double().cpu().numpy(), list(map(as_arrays, columns))

    found = list(filter(None, ctx.map(read, ctx.pairs(kind), f"Patching {ctx.checkpoint}, {kind}")))
    if not found:
        raise AliceError(f"no text has a counterfactual of the kind {kind}; give texts with words")
    index, places, directions = zip(*found, strict=True)
    order, sizes = np.argsort(np.concatenate(index)), np.sum(places, axis=0)
    return [
        Map(
            kind,
            into,
            names,
            sizes / sizes.sum(),
            *(np.concatenate(column)[order].astype(np.float64) for column in zip(*batches, strict=True)),
        )
        for into, batches in zip(DIRECTIONS, zip(*directions, strict=True), strict=True)
    ]


def as_arrays(columns: Iterable[Tensor]) -> list[NDArray[np.float32]]:
    """Return columns of tensors as arrays, in single precision, as they are kept for every text."""
    return [column.detach().float().cpu().numpy() for column in columns]


@torch.no_grad()
def run_both(model: Alice, pair: Pair) -> Caches:
    """Return the residual streams of all layers and the outputs of all parts, of the clean and the corrupted run."""
    names = frozenset((*stream_names(model), *(part.hook for part in parts_of(model.config))))
    runs: dict[Into, Tensor] = {"clean": pair.clean.cipher_ids, "corrupted": pair.corrupted.cipher_ids}
    return {into: model.run_with_cache(ids, names_filter=names.__contains__)[1] for into, ids in runs.items()}


def stream_names(model: Alice) -> list[str]:
    """Return the hooks of the residual stream at every layer, the embedding first."""
    last = model.config.n_layers - 1
    return [*(f"blocks.{block}.hook_resid_pre" for block in range(last + 1)), f"blocks.{last}.hook_resid_post"]


def patched_score(model: Alice, patch: Patch, resid: Tensor) -> Tensor:
    """Return the score of each text for the last residual stream of a patched run, (batch,), in nats.

    After relabelling both runs answer the same question differently, so the score is the log-odds of the two answers:
    unlike the log-probability of one of them, it has no ceiling that would make one direction look unlike the other.
    """
    score = log_probability(model, patch, resid)
    if not patch.pair.by_symbol:
        return score
    other = right_symbols(patch.pair.corrupted, model.alphabet)
    return score - answer_scores(model, resid, patch.reader, other, patch.pair.scored)


def log_probability(model: Alice, patch: Patch, resid: Tensor) -> Tensor:
    """Return the mean log-probability of the clean text's letters, (batch,), for the last stream of a patched run."""
    right = right_symbols(patch.pair.clean, model.alphabet)
    return answer_scores(model, resid, patch.reader, right, patch.pair.scored)


def _patched(model: Alice, patch: Patch, caches: Caches, where: Tensor) -> list[Tensor]:
    """Return all columns of a map for one batch: clean, corrupted, stream, parts, attention and estimates."""
    last = stream_names(model)[-1]
    with torch.no_grad():
        clean, corrupted = (
            patched_score(model, Patch(patch.pair, patch.alphabet, into), caches[into][last])
            for into in ("clean", "corrupted")
        )
        streams = torch.stack(list(_streams(model, patch, caches, where)), dim=1)
        parts = torch.stack(list(_parts(model, patch, caches, [[part] for part in parts_of(model.config)])), dim=1)
        heads = [[Part(block, head) for head in range(model.config.n_heads)] for block in range(model.config.n_layers)]
        attention = torch.stack(list(_parts(model, patch, caches, heads)), dim=1)
    stream_changes, part_changes = _estimates(model, patch, caches, where)
    before = corrupted if patch.into == "corrupted" else clean
    columns = [clean, corrupted, streams.unflatten(1, (-1, where.shape[1])), parts, attention]
    return [*columns, before[:, None, None] + stream_changes, before[:, None] + part_changes]


def _sides(patch: Patch, caches: Caches) -> tuple[Mapping[str, Tensor], Mapping[str, Tensor]]:
    """Return the activations of the patched run and of the other."""
    return (
        (caches["corrupted"], caches["clean"]) if patch.into == "corrupted" else (caches["clean"], caches["corrupted"])
    )


def _streams(model: Alice, patch: Patch, caches: Caches, where: Tensor) -> Iterator[Tensor]:
    """Yield the score, (batch,), for each layer and place in turn; lower layers are not computed again."""
    target, source = _sides(patch, caches)
    for layer, name in enumerate(stream_names(model)):
        for place in where.unbind(1):
            stream = patch.carried(target[name], source[name], place)
            yield patched_score(model, patch, model.resid(patch.ids, stream=stream, start=layer))


def _parts(model: Alice, patch: Patch, caches: Caches, groups: list[list[Part]]) -> Iterator[Tensor]:
    """Yield the score, (batch,), with the outputs of each group of parts patched; a group is in one block."""
    target, source = _sides(patch, caches)
    for group in groups:
        block, name = group[0].block, group[0].hook
        carried = Replacements("resample", {name: patch.carried(target[name], source[name])})
        with model.hooks(fwd_hooks=carried.hooks(group)):
            resid = model.resid(patch.ids, stream=target[stream_names(model)[block]], start=block)
        yield patched_score(model, patch, resid)


def _estimates(model: Alice, patch: Patch, caches: Caches, where: Tensor) -> tuple[Tensor, Tensor]:
    """Return the first-order change of the score by layer and place, and by part: attribution patching.

    One backward pass through the patched run gives the slope at every activation; times the change that a patch makes,
    it predicts the change of the score. Shapes are (batch, layer, place) and (batch, part).
    """
    target, source = _sides(patch, caches)
    parts, names = parts_of(model.config), stream_names(model)
    hooks = list(dict.fromkeys((*names, *(part.hook for part in parts))))
    kept: dict[str, Tensor] = {}

    def keep(activation: Tensor, hook: object) -> None:
        kept[str(getattr(hook, "name", ""))] = activation

    with torch.enable_grad(), model.hooks(fwd_hooks=[(name, keep) for name in hooks]):
        stream = target[names[0]].clone().requires_grad_()
        score = patched_score(model, patch, model.resid(patch.ids, stream=stream))
        slopes = dict(zip(hooks, torch.autograd.grad(score.sum(), [kept[name] for name in hooks]), strict=True))
    changes = {
        name: (slopes[name] * (patch.carried(target[name], source[name]) - target[name])).sum(-1) for name in hooks
    }  # (batch, pos) or (batch, pos, head)
    by_place = [torch.einsum("bp,blp->bl", changes[name], where.float()) for name in names]
    by_part = [part.taken(changes[part.hook]).sum(1) for part in parts]
    return torch.stack(by_place, dim=1), torch.stack(by_part, dim=1)
