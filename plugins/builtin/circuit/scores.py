"""What each edge is worth: the loss of score when the edge alone carries its corrupted value.

`exact` patches every edge. The others estimate the same from gradients: the change of what the writer writes, times the
gradient of the score with respect to what the reader reads. They differ in where the gradient is taken:

- `eap` (edge attribution patching): in the clean run;
- `eap_ig_inputs`: averaged over runs whose embedding lies between the corrupted and the clean one;
- `eap_ig_activations`: averaged over runs in which the outputs of the writer's group, that is of all heads of its block
  or of its feed-forward layer, lie between the corrupted and the clean ones.

All return effects (batch, edge) in nats, positive if the edge helps.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

from alice.causal import HEAD_INPUTS, Input, Reader
from alice.plugins.builtin.circuit.nodes import Contrast, HookList, reading_heads, reading_mlps

STACKED = 4096
"""Characters that exact patching computes at a time; more are slower on a processor, whose caches they exceed."""
Gradients = dict[tuple[int, Input], Tensor]
"""Gradients with respect to the inputs, by block and kind: (batch, pos, head, d_model) or (batch, pos, d_model)."""


def eap(contrast: Contrast) -> Tensor:
    """Estimate the effects with the gradient of the clean run, (batch, edge)."""
    return _edges(contrast, _gradients(contrast, contrast.clean[0], start=0))


def eap_ig_inputs(contrast: Contrast, steps: int) -> Tensor:
    """Estimate the effects with gradients averaged between the corrupted and the clean embedding, (batch, edge)."""
    runs = (
        _gradients(contrast, torch.lerp(contrast.corrupted[0], contrast.clean[0], share), start=0)
        for share in _midpoints(steps)
    )
    return _edges(contrast, _mean(runs, steps))


def eap_ig_activations(contrast: Contrast, steps: int) -> Tensor:
    """Estimate the effects of each group of writers with gradients averaged over its own outputs, (batch, edge)."""
    graph = contrast.graph
    effects = contrast.clean.new_zeros(len(contrast.ids), len(graph))
    first = 0
    for group in _groups(contrast):
        runs = (_group_gradients(contrast, group, share) for share in _midpoints(steps))
        of_group = torch.from_numpy((graph.edges[:, 0] >= first) & (graph.edges[:, 0] < group)).to(effects.device)
        effects[:, of_group] = _edges(contrast, _mean(runs, steps))[:, of_group]
        first = group
    return effects


@torch.no_grad()
def exact(contrast: Contrast, reader: Reader) -> Tensor:
    """Return the effect of each edge into a reader by patching it alone, (batch, writer before the reader)."""
    writers = contrast.graph.before(reader)
    changes = contrast.corrupted[:writers] - contrast.clean[:writers]
    together = max(1, STACKED // contrast.ids.numel())
    patched = torch.cat([_patched(contrast, reader, some) for some in changes.split(together)])
    return (contrast.clean_scores - patched).T


def _patched(contrast: Contrast, reader: Reader, changes: Tensor) -> Tensor:
    """Return the scores when the input of a reader changes, for each of some changes, (change, batch)."""
    model, copies = contrast.model, len(changes)
    ids, flat = contrast.ids.repeat(copies, 1), changes.flatten(0, 1)
    stream = contrast.stream(contrast.graph.before(reader)).repeat(copies, 1, 1)
    if reader.part is None:
        return contrast.score(stream + flat).view(copies, -1)
    block: Any = model.blocks[reader.part.block]
    if reader.part.head is None:
        stream = stream + block.mlp(block.ln2(stream + flat))
        return contrast.score(model.resid(ids, stream=stream, start=reader.part.block + 1)).view(copies, -1)
    hook = (f"blocks.{reader.part.block}.attn.hook_{reader.input}", _replace_head(block, reader, stream + flat))
    with model.hooks(fwd_hooks=[hook]):
        return contrast.score(model.resid(ids, stream=stream, start=reader.part.block)).view(copies, -1)


def _replace_head(block: Any, reader: Reader, stream: Tensor) -> Callable[..., Tensor]:
    """Return a hook that lets one head compute its queries, keys or values from another stream."""
    head = reader.part.head if reader.part else None
    weight = {"q": block.attn.W_Q, "k": block.attn.W_K, "v": block.attn.W_V}[reader.input][head]

    def replace_head(activation: Tensor, hook: Any) -> Tensor:
        changed = activation.clone()
        changed[:, :, head] = block.ln1(stream) @ weight
        return changed

    return replace_head


def _gradients(contrast: Contrast, stream: Tensor, *, start: int, hooks: HookList | None = None) -> Gradients:
    """Run from block `start` with a stream; return the gradient of the score with respect to every input."""
    model, read = contrast.model, dict[tuple[int, Input], Tensor]()

    def inputs(block: int, name: Input, there: Tensor) -> Tensor:
        heads = contrast.graph.n_heads
        read[block, name] = there.unsqueeze(2).expand(-1, -1, heads, -1) if name in HEAD_INPUTS else there * 1.0
        return read[block, name]

    listening = [*reading_heads(model, inputs), *reading_mlps(model, inputs), *(hooks or [])]
    with torch.enable_grad(), model.hooks(fwd_hooks=listening):
        final = model.resid(contrast.ids, stream=stream.detach().requires_grad_(), start=start)
        read[len(model.blocks), "output"] = final
        # An input that the score does not depend on, such as queries under a fixed pattern, has gradient zero.
        found = torch.autograd.grad(contrast.score(final).sum(), list(read.values()), materialize_grads=True)
    return dict(zip(read, found, strict=True))


def _groups(contrast: Contrast) -> Iterator[int]:
    """Yield the number of writers up to the end of each group: the embedding, then heads and MLP of each block."""
    yield 1
    for block in range(contrast.graph.n_layers):
        heads = 1 + block * (contrast.graph.n_heads + 1) + contrast.graph.n_heads
        yield from (heads, heads + 1)


def _group_gradients(contrast: Contrast, end: int, share: float) -> Gradients:
    """Return the gradients when the group of writers that ends at `end` is partly corrupted."""
    block, within = divmod(end - 1, contrast.graph.n_heads + 1)
    if within == 0:  # the embedding, or the feed-forward layer before `block`
        change = (1 - share) * (contrast.corrupted[end - 1] - contrast.clean[end - 1])
        return _gradients(contrast, contrast.stream(end) + change, start=block)
    heads = slice(end - within, end)
    partly = torch.lerp(contrast.corrupted[heads], contrast.clean[heads], share).sum(0)
    hook = (f"blocks.{block}.hook_attn_out", lambda activation, hook: activation * 0 + partly)
    return _gradients(contrast, contrast.stream(end - within), start=block, hooks=[hook])


def _mean(runs: Iterator[Gradients], count: int) -> Gradients:
    """Average gradients, one run at a time."""
    total = next(runs)
    for found in runs:
        for place, gradient in found.items():
            total[place] += gradient
    return {place: gradient / count for place, gradient in total.items()}


def _midpoints(steps: int) -> list[float]:
    """Return the middle of each of `steps` equal parts of the way from corrupted (0) to clean (1)."""
    return [(step + 0.5) / steps for step in range(steps)]


def _edges(contrast: Contrast, gradients: Gradients) -> Tensor:
    """Multiply gradients by the changes of the writers, (batch, edge); edges into blocks that did not run are 0."""
    graph = contrast.graph
    changes = contrast.clean - contrast.corrupted
    columns = []
    for reader in graph.readers:
        before = changes[: graph.before(reader)]
        gradient = gradients.get((graph.block(reader), reader.input))
        if gradient is None:
            columns.append(changes.new_zeros(changes.shape[1], len(before)))
            continue
        if reader.part is not None and reader.part.head is not None:
            gradient = gradient[:, :, reader.part.head]
        columns.append(torch.einsum("wbpd,bpd->bw", before, gradient))
    return torch.cat(columns, 1)
