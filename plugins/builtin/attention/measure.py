"""Where the heads of a model look: statistics of each over many texts, their kinds, and whole maps of one text."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.errors import AliceError
from alice.model import ModelConfig
from alice.plugins.builtin.attention.kinds import Kind, find_kinds
from alice.plugins.builtin.attention.statistics import STATISTICS, head_statistics, key_weights, uniform_pattern
from alice.plugins.builtin.options import no_example
from alice.plugins.builtin.traces import GIVEN, text_batch
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints
from alice.text import Batch
from alice.text.cleaning import LONGEST

Floats32 = NDArray[np.float32]
PATTERNS = "blocks.*.attn.hook_pattern"
MOST_CELLS = 1_100_000
"""Limit on the cells of all maps of a report, so that a browser opens the page quickly."""


@dataclass(frozen=True, eq=False)
class Measured:
    """Statistics and kinds of every head of one model; head `h` of block `b` has the number `b * per_block + h`."""

    model: str
    """Name of the checkpoint."""
    per_block: int
    """Heads in a block."""
    values: Floats32
    """Statistics of each text, (text, head, statistic)."""
    uniform: Floats32
    """The same for uniform attention, (text, statistic)."""
    kinds: tuple[Kind, ...]
    """The kinds of head, largest first."""
    silhouette: float
    """How well the kinds are separated; NaN for one kind."""

    @property
    def means(self) -> Floats:
        """Statistics of each head, (head, statistic)."""
        return self.values.mean(0, dtype=np.float64)

    @property
    def uniform_means(self) -> Floats:
        """Statistics of uniform attention, (statistic,)."""
        return self.uniform.mean(0, dtype=np.float64)

    @property
    def kind_of(self) -> dict[int, str]:
        """Name of each head's kind, sorted by kind."""
        return {head: kind.name for kind in self.kinds for head in kind.heads}

    def place(self, number: int) -> tuple[int, int]:
        """Return block and head of a head's number."""
        return divmod(number, self.per_block)

    def label(self, number: int) -> str:
        """Return the label of a head as in TransformerLens: `L0H3` is head 3 of block 0."""
        return "L{}H{}".format(*self.place(number))


@dataclass(frozen=True, eq=False)
class TextMaps:
    """The attention of every head over one text."""

    title: str
    """What reports call the text."""
    text: str
    """The text as the model sees it."""
    patterns: Floats32
    """Attention weights, (block, head, query, key); rows sum to one."""


def measure(ctx: RunContext) -> Measured:
    """Measure every head on all texts that have a letter; one block of one batch is held at a time."""
    texts, config = sum(len(batch) for batch in ctx.batches), ctx.model.config
    # Filled in place: small arrays that live on between large ones would fragment the memory.
    values = np.empty((texts, config.n_layers * config.n_heads, len(STATISTICS)), dtype=np.float32)
    uniform = np.empty((texts, len(STATISTICS)), dtype=np.float32)

    def read(batch: Batch) -> tuple[Ints, Floats32, Floats32]:
        weights = key_weights(batch.cipher_ids, batch.mask, ctx.alphabet)
        found = _by_block(ctx, batch, partial(head_statistics, weights=weights))
        even = head_statistics(uniform_pattern(batch.mask), weights)[:, 0]
        # (batch,), (batch, head, statistic) with the heads of all blocks, and (batch, statistic)
        return batch.index.cpu().numpy(), found.flatten(1, 2).cpu().numpy(), even.cpu().numpy()

    for rows, found, even in ctx.map(read, ctx.batches, f"Reading with {ctx.checkpoint}"):
        values[rows], uniform[rows] = found, even
    lettered = np.isfinite(uniform).all(1)
    if not lettered.any():
        raise AliceError("no text has a letter, so there are no queries to measure; check the corpus")
    values, uniform = values[lettered], uniform[lettered]
    kinds, silhouette = find_kinds(values.mean(0, dtype=np.float64), uniform.mean(0, dtype=np.float64))
    return Measured(ctx.checkpoint, config.n_heads, values, uniform, tuple(kinds), silhouette)


def shown_text(ctx: RunContext, example: int, *, text: str = "", encrypt: bool = False) -> tuple[str, Batch]:
    """Return title and batch of the one text to draw: an example without padding, or `text` if it is given."""
    if text:
        batch = text_batch(ctx, text, encrypt=encrypt)
        if (length := batch.cipher_ids.shape[1]) > LONGEST:
            raise AliceError(f"--text has {length} characters, but a map shows {LONGEST} at most; give a part of it")
        return GIVEN, batch
    texts = 0
    for batch in ctx.batches:
        texts += len(batch)
        for row in (batch.index == example).nonzero().flatten().tolist():
            one, length = slice(row, row + 1), int(batch.mask[row].sum())
            ids = (batch.cipher_ids[one, :length], batch.plain_ids[one, :length])
            return f"example {example}", Batch(*ids, batch.keys[one], batch.index[one])
    raise AliceError(no_example(example, f"{texts} texts"))


def read_maps(ctx: RunContext, batch: Batch, title: str) -> TextMaps:
    """Read the attention of every head over the one text of a batch."""
    patterns = _by_block(ctx, batch, lambda pattern: pattern)[0]
    return TextMaps(title, ctx.alphabet.decode(batch.cipher_ids[0].cpu().numpy()), patterns.cpu().numpy())


def choose_heads(
    config: ModelConfig, blocks: tuple[int, ...] | None, heads: tuple[int, ...] | None, *, characters: int
) -> list[int] | None:
    """Return the numbers of the heads to draw maps of; None if the user gave neither blocks nor heads.

    Blocks alone stand for all their heads, and heads alone for those of every block.
    """
    if blocks is None and heads is None:
        return None
    for what, given, count in (("block", blocks, config.n_layers), ("head", heads, config.n_heads)):
        for number in given or ():
            if not 0 <= number < count:
                raise AliceError(f"there is no {what} {number}; this model has {count}, counted from 0")
    chosen = [
        block * config.n_heads + head
        for block in sorted(set(range(config.n_layers) if blocks is None else blocks))
        for head in sorted(set(range(config.n_heads) if heads is None else heads))
    ]
    most = MOST_CELLS // characters**2
    if len(chosen) > most:
        raise AliceError(
            f"{len(chosen)} maps of {characters} characters are too many for one page; choose {most} at most with "
            "--block and --head, or give a shorter text"
        )
    return chosen


@torch.inference_mode()
def _by_block(ctx: RunContext, batch: Batch, reduce: Callable[[Tensor], Tensor]) -> Tensor:
    """Run the model and return each block's attention pattern after `reduce`, (batch, block, ...)."""
    names = ctx.model.match_hooks(PATTERNS)
    found: dict[str, Tensor] = {}

    def keep(name: str) -> Callable[..., None]:
        def hook_function(pattern: Tensor, hook: object) -> None:
            found[name] = reduce(pattern)

        return hook_function

    with ctx.model.hooks(fwd_hooks=[(name, keep(name)) for name in names]):
        ctx.model.resid(batch.cipher_ids)
    return torch.stack([found[name] for name in names], dim=1)
