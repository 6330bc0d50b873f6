"""What the heads of a model do: statistics of each over many texts, and whole maps for one text."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.errors import AliceError
from alice.model.config import ModelConfig
from alice.plugins.builtin.attention.statistics import STATISTICS, head_statistics, key_weights, uniform_pattern
from alice.plugins.builtin.example_options import no_example
from alice.plugins.builtin.traces import text_batch
from alice.plugins.context import RunContext
from alice.plugins.sample import LONGEST
from alice.text.batches import Batch

Floats32 = NDArray[np.float32]
PATTERNS = "blocks.*.attn.hook_pattern"
MOST_CELLS = 1_100_000
"""Cells of all maps of a report together, beyond which it would take a browser long to open."""


@dataclass(frozen=True, eq=False)
class Heads:
    """Statistics of every head of one model; a head's number is its layer times the heads of a layer plus its place."""

    model: str
    """Name of the checkpoint."""
    in_layer: int
    """Heads in a layer."""
    values: Floats32
    """Statistics of each text, (text, head, statistic)."""
    uniform: Floats32
    """What uniform attention scores on each text, (text, statistic)."""

    def label(self, number: int) -> str:
        """Return what a head is called: `L0H3` is head 3 of layer 0."""
        return "L{}H{}".format(*divmod(number, self.in_layer))


@dataclass(frozen=True, eq=False)
class TextMaps:
    """The attention of every head over one text."""

    title: str
    """What the text is called."""
    text: str
    """The text as the model sees it."""
    patterns: Floats32
    """Weights, (layer, head, query, key); rows sum to one."""


def measure(ctx: RunContext) -> Heads:
    """Take the statistics of every head over all texts that have a letter; one layer of one batch is held at a time."""
    texts, config = sum(len(batch) for batch in ctx.batches), ctx.model.config
    # Filled in place: small arrays kept between large ones would keep the memory between them from being used again.
    values = np.empty((texts, config.n_layers * config.n_heads, len(STATISTICS)), dtype=np.float32)
    uniform = np.empty((texts, len(STATISTICS)), dtype=np.float32)
    for batch in ctx.progress(ctx.batches, f"Reading with {ctx.checkpoint}"):
        weights = key_weights(batch.cipher_ids, batch.mask, ctx.alphabet)
        found = _by_layer(ctx, batch, partial(head_statistics, weights=weights))
        rows = batch.index.cpu().numpy()
        values[rows] = found.flatten(1, 2).cpu().numpy()  # (batch, head, statistic), all layers
        uniform[rows] = head_statistics(uniform_pattern(batch.mask), weights)[:, 0].cpu().numpy()
    lettered = np.isfinite(uniform).all(1)
    if not lettered.any():
        raise AliceError("no text has a letter, so no head has anything to look from; check the corpus")
    return Heads(ctx.checkpoint, config.n_heads, values[lettered], uniform[lettered])


def given_batch(ctx: RunContext, text: str, *, encrypt: bool) -> Batch:
    """Return a text that the user gave as a batch; one longer than a map can show is an error."""
    batch = text_batch(ctx, text, encrypt=encrypt)
    if (length := batch.cipher_ids.shape[1]) > LONGEST:
        raise AliceError(f"--text has {length} characters, and a map shows {LONGEST} at most; give a part of it")
    return batch


def example_batch(ctx: RunContext, number: int) -> Batch:
    """Return a text of the sample, without padding, as a batch of its own."""
    texts = 0
    for batch in ctx.batches:
        texts += len(batch)
        for row in (batch.index == number).nonzero().flatten().tolist():
            one, length = slice(row, row + 1), int(batch.mask[row].sum())
            ids = (batch.cipher_ids[one, :length], batch.plain_ids[one, :length])
            return Batch(*ids, batch.keys[one], batch.index[one])
    raise AliceError(no_example(number, f"{texts} texts"))


def read_maps(ctx: RunContext, batch: Batch, title: str) -> TextMaps:
    """Read the attention of every head over the one text of a batch."""
    patterns = _by_layer(ctx, batch, lambda pattern: pattern)[0]
    return TextMaps(title, ctx.alphabet.decode(batch.cipher_ids[0].cpu().numpy()), patterns.cpu().numpy())


def choose_heads(
    config: ModelConfig, layers: tuple[int, ...] | None, heads: tuple[int, ...] | None, *, characters: int
) -> list[int] | None:
    """Return the numbers of the heads that the user wants maps of, None if she names neither layers nor heads.

    Layers alone stand for all their heads, and heads alone for those of every layer.
    """
    if layers is None and heads is None:
        return None
    for what, given, count in (("layer", layers, config.n_layers), ("head", heads, config.n_heads)):
        for number in given or ():
            if not 0 <= number < count:
                raise AliceError(f"there is no {what} {number}; this model has {count}, counted from 0")
    chosen = [
        layer * config.n_heads + head
        for layer in sorted(set(range(config.n_layers) if layers is None else layers))
        for head in sorted(set(range(config.n_heads) if heads is None else heads))
    ]
    most = MOST_CELLS // characters**2
    if len(chosen) > most:
        raise AliceError(
            f"{len(chosen)} maps of {characters} characters are too many for one page; name {most} at most with "
            "--layer and --head, or take a shorter text"
        )
    return chosen


@torch.inference_mode()
def _by_layer(ctx: RunContext, batch: Batch, reduce: Callable[[Tensor], Tensor]) -> Tensor:
    """Run the model and keep of each layer's pattern what `reduce` makes of it, (batch, layer, ...)."""
    names = ctx.model.match_hooks(PATTERNS)
    found: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[..., None]:
        def hook_function(pattern: Tensor, hook: object) -> None:
            found[name] = reduce(pattern)

        return hook_function

    with ctx.model.hooks(fwd_hooks=[(name, keep(name)) for name in names]):
        ctx.model.resid(batch.cipher_ids)
    return torch.stack([found[name] for name in names], dim=1)
