"""One text with what a model answers at one exit or several, and how to make a batch of a text given by the user."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.errors import AliceError
from alice.plugins.context import RunContext
from alice.solving.solution import read
from alice.statistics import Ints
from alice.text.alphabet import Alphabet
from alice.text.batches import Batch
from alice.text.cipher import N_LETTERS, invert, random_keys

GIVEN = "given text"
"""Title of a text given by the user."""


@dataclass(frozen=True, eq=False)
class Trace:
    """One text and the model's answers to it."""

    title: str
    """What reports call the text, such as `example 0`."""
    alphabet: Alphabet
    """Symbols of the ids."""
    cipher_ids: Ints
    """The text as the model sees it, (pos,)."""
    answers: Ints
    """Plain symbol for each cipher symbol at each exit, (exit, symbol)."""
    plain_ids: Ints | None
    """The solution, (pos,), if it is known."""
    key: Ints | None
    """Plain letter (0-25) of each cipher letter, (26,), if it is known."""

    @property
    def slug(self) -> str:
        """The title as part of a figure's name, such as `example-0`."""
        return self.title.replace(" ", "-")

    @property
    def texts(self) -> Ints:
        """The answer at each exit, (exit, pos)."""
        return self.answers[:, self.cipher_ids]

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Whether each cipher letter occurs in the text, (26,)."""
        return np.isin(self.alphabet.letter_ids, self.cipher_ids)


def traces(batch: Batch, answers: Tensor, alphabet: Alphabet, wanted: Collection[int]) -> Iterator[tuple[int, Trace]]:
    """Yield the wanted texts of a batch by number, given the answers (exit, batch, symbol)."""
    for row, number in enumerate(batch.index.tolist()):
        if number in wanted:
            length = int(batch.mask[row].sum())
            yield (
                number,
                Trace(
                    f"example {number}",
                    alphabet,
                    batch.cipher_ids[row, :length].cpu().numpy(),
                    answers[:, row].cpu().numpy(),
                    batch.plain_ids[row, :length].cpu().numpy(),
                    invert(batch.keys[row].cpu().numpy()).astype(np.int64),
                ),
            )


def text_batch(ctx: RunContext, text: str, *, encrypt: bool) -> Batch:
    """Return a batch of one text given by the user: a ciphertext as it is, or a plaintext under a key drawn by seed."""
    reading = read(text, ctx.alphabet)
    if fault := reading.fault(ctx.model.config.n_ctx):
        raise AliceError(f"--text {text[:40]!r} cannot be used: {fault}")
    ids = reading.ids.astype(np.int64)[None]
    key = random_keys(1, ctx.rng) if encrypt else np.arange(N_LETTERS, dtype=np.uint8)[None]
    table = np.arange(ctx.alphabet.size)
    table[ctx.alphabet.letter_ids] = ctx.alphabet.letter_ids[key[0]]
    arrays = (table[ids], ids, key.astype(np.int64), np.zeros(1, np.int64))
    return Batch(*map(torch.from_numpy, arrays)).to(ctx.device)


def given_trace(batch: Batch, answers: Tensor, alphabet: Alphabet, *, known: bool) -> Trace:
    """Return the trace of the only text of a batch, without solution and key unless they are known."""
    ((_, trace),) = traces(batch, answers, alphabet, [0])
    trace = replace(trace, title=GIVEN)
    return trace if known else replace(trace, plain_ids=None, key=None)
