"""What every node writes, clean and corrupted, and hooks under which nodes read something else.

No forward pass is re-implemented: the hooks give heads and feed-forward layers other inputs, through the model's own
norms and weights.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch
from torch import Tensor

from alice.causal import HEAD_INPUTS, Graph, Input, answer_scores, mean_activations, right_symbols
from alice.model import Alice
from alice.text import Batch, Pair

HookList = list[tuple[str, Callable[..., Any]]]
Inputs = Callable[[int, Input, Tensor], Tensor]
"""Returns what the readers of one kind in a block read, given the block, the kind and the stream there:
(batch, pos, head, d_model) for the heads, (batch, pos, d_model) for the feed-forward layer."""
Score = Callable[[Tensor], Tensor]
"""Scores a final residual stream, (rows, pos, d_model) -> (rows,); rows may be several copies of the batch."""


@dataclass(frozen=True, eq=False)
class Contrast:
    """A batch with what every node writes for it, clean and corrupted."""

    model: Alice
    graph: Graph
    batch: Batch
    """The clean texts."""
    clean: Tensor
    """What each writer adds to the stream in the clean run, (writer, batch, pos, d_model)."""
    corrupted: Tensor
    """What replaces it, of the same shape."""
    score: Score
    """What an answer is worth."""

    @property
    def ids(self) -> Tensor:
        """Cipher symbols of the clean texts, (batch, pos)."""
        return self.batch.cipher_ids

    @cached_property
    def clean_scores(self) -> Tensor:
        """Score of each text in the clean run, (batch,)."""
        with torch.no_grad():
            return self.score(self.clean.sum(0))

    @cached_property
    def corrupted_scores(self) -> Tensor:
        """Score of each text when the output reads only corrupted nodes, (batch,)."""
        with torch.no_grad():
            return self.score(self.corrupted.sum(0))

    @cached_property
    def corrupted_streams(self) -> Tensor:
        """The corrupted stream after the first writer, the first two and so on, (writer, batch, pos, d_model)."""
        return self.corrupted.cumsum(0)

    def stream(self, writers: int) -> Tensor:
        """Return the clean stream after the first writers, (batch, pos, d_model)."""
        return self.clean[:writers].sum(0)


def contrast(model: Alice, graph: Graph, pair: Pair, *, replacement: str, means: Mapping[str, Tensor]) -> Contrast:
    """Run a pair and return its contrast; `means` are those of `output_means`, for the replacement `mean`."""
    ids = pair.clean.cipher_ids
    clean = outputs(model, ids)
    if replacement == "resample":
        corrupted = outputs(model, pair.corrupted.cipher_ids)
    else:
        values = _stack(model, means) if replacement == "mean" else clean.new_zeros(len(clean), 1, 1, clean.shape[-1])
        corrupted = values.expand_as(clean)
    right = right_symbols(pair.clean, model.alphabet)

    def score(resid: Tensor) -> Tensor:
        copies = len(resid) // len(ids)
        return answer_scores(
            model, resid, pair.reader.repeat(copies, 1), right.repeat(copies, 1), pair.scored.repeat(copies, 1)
        )

    return Contrast(model, graph, pair.clean, clean, corrupted, score)


def output_hooks(model: Alice) -> list[str]:
    """Return the hooks from which the outputs of all nodes follow, in the order of computation."""
    return model.match_hooks("hook_embed", "blocks.*.attn.hook_z", "blocks.*.hook_mlp_out")


@torch.no_grad()
def outputs(model: Alice, ids: Tensor) -> Tensor:
    """Return what each node writes in a run, (writer, batch, pos, d_model)."""
    wanted = frozenset(output_hooks(model)).__contains__
    _, cache = model.run_with_cache(ids, names_filter=wanted, stop_at_layer=model.config.n_layers)
    return _stack(model, cache)


def output_means(model: Alice, batches: Iterable[Batch]) -> dict[str, Tensor]:
    """Return the mean activation at each of `output_hooks`, in a batch of one text of one position."""
    means = mean_activations(model, batches, output_hooks(model))
    return {name: mean[None, None] for name, mean in means.items()}


def head_outputs(model: Alice, block: int, z: Tensor) -> Tensor:
    """Return what each head of a block writes, (batch, pos, head, d_head) -> (head, batch, pos, d_model)."""
    attention: Any = model.blocks[block]
    return torch.einsum("bphd,hdm->hbpm", z, attention.attn.W_O)


def _stack(model: Alice, values: Mapping[str, Tensor]) -> Tensor:
    """Return the outputs of all nodes from their activations by hook, (writer, batch, pos, d_model)."""
    found = [values["hook_embed"][None]]
    for block in range(model.config.n_layers):
        found += [head_outputs(model, block, values[f"blocks.{block}.attn.hook_z"])]
        found += [values[f"blocks.{block}.hook_mlp_out"][None]]
    return torch.cat(found)


def reading_heads(model: Alice, inputs: Inputs) -> HookList:
    """Return hooks under which each head reads what `inputs` returns, separately as queries, keys and values."""
    return [hook for number in range(model.config.n_layers) for hook in _reading_heads(model, inputs, number)]


def _reading_heads(model: Alice, inputs: Inputs, number: int) -> HookList:
    block: Any = model.blocks[number]
    weights = dict(zip(HEAD_INPUTS, ("W_Q", "W_K", "W_V"), strict=True))
    stream: list[Tensor] = []

    def keep_stream(activation: Tensor, hook: Any) -> None:
        stream[:] = [activation]

    def project(name: Input) -> Callable[..., Tensor]:
        def project_input(activation: Tensor, hook: Any) -> Tensor:
            read = block.ln1(inputs(number, name, stream[0]))
            return torch.einsum("bphm,hmd->bphd", read, getattr(block.attn, weights[name]))

        return project_input

    projections: HookList = [(f"blocks.{number}.attn.hook_{name}", project(name)) for name in HEAD_INPUTS]
    return [(f"blocks.{number}.hook_resid_pre", keep_stream), *projections]


def reading_mlps(model: Alice, inputs: Inputs) -> HookList:
    """Return hooks under which each feed-forward layer reads what `inputs` returns."""
    return [hook for number in range(model.config.n_layers) for hook in _reading_mlp(model, inputs, number)]


def _reading_mlp(model: Alice, inputs: Inputs, number: int) -> HookList:
    block: Any = model.blocks[number]
    stream: list[Tensor] = []

    def keep_stream(activation: Tensor, hook: Any) -> None:
        stream[:] = [activation]

    def transform(activation: Tensor, hook: Any) -> Tensor:
        changed: Tensor = block.mlp(block.ln2(inputs(number, "mlp", stream[0])))
        return changed

    return [(f"blocks.{number}.hook_resid_mid", keep_stream), (f"blocks.{number}.hook_mlp_out", transform)]
