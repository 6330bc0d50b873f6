"""Early exits: what the model's own head answers after each layer, for batches and for single texts."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.errors import AliceError
from alice.model import Alice, Lens, PlainExit, run_batch
from alice.plugins.context import RunContext
from alice.solving.solution import read
from alice.statistics import Ints
from alice.text import N_LETTERS, Alphabet, Batch, encrypt_ids, invert, random_keys

EXITS = ("hook_embed", "blocks.*.hook_resid_post")
"""Hook points of the layers; layer 0 is the embedding, layer N the residual stream after block N - 1."""
GIVEN = "given text"
"""Title of a text given by the user."""


def exit_answers(model: Alice, batch: Batch, names: list[str], lens: Lens | None = None) -> Tensor:
    """Return the plain symbol that the head gives for each cipher symbol after each layer, (layer, batch, symbol).

    The head gives all occurrences of a symbol the same answer, so one row per symbol is enough. Raises if the last
    layer's answer differs from the model's own, unless another lens than the plain exit reads it.
    """
    _, output, cache = run_batch(model, batch, names)
    reader = lens or PlainExit(model)
    with torch.inference_mode():
        answers = [reader.read(name, cache[name], batch.cipher_ids).argmax(-1) for name in names]
    if isinstance(reader, PlainExit):
        check_identity(answers[-1].gather(1, batch.cipher_ids), output.argmax(-1), batch.mask)
    return torch.stack(answers)


def check_identity(last_layer: Tensor, output: Tensor, mask: Tensor) -> None:
    """Raise if the answer at the last layer differs from the model's own in a character, (batch, pos) each."""
    different = int(((last_layer != output) & mask).sum())
    if different:
        raise AliceError(
            f"the answer at the last layer differs from the model's own in {different} of {int(mask.sum())} "
            "characters, so the exits do not describe this model; check that its forward pass ends in `decode`"
        )


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
    """Plain symbol for each cipher symbol after each layer that was read, (layer, symbol)."""
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
        """The answer after each layer, (layer, pos)."""
        return self.answers[:, self.cipher_ids]

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Whether each cipher letter occurs in the text, (26,)."""
        return np.isin(self.alphabet.letter_ids, self.cipher_ids)


def traces(batch: Batch, answers: Tensor, alphabet: Alphabet, wanted: Collection[int]) -> Iterator[tuple[int, Trace]]:
    """Yield the wanted texts of a batch by number, given the answers (layer, batch, symbol)."""
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
    ids = reading.ids[None]
    key = random_keys(1, ctx.rng) if encrypt else np.arange(N_LETTERS, dtype=np.uint8)[None]
    arrays = (encrypt_ids(ids, key, ctx.alphabet), ids, key, np.zeros(1))
    return Batch(*(torch.from_numpy(array.astype(np.int64)) for array in arrays)).to(ctx.device)


def given_trace(batch: Batch, answers: Tensor, alphabet: Alphabet, *, known: bool) -> Trace:
    """Return the trace of the only text of a batch, without solution and key unless they are known."""
    ((_, trace),) = traces(batch, answers, alphabet, [0])
    trace = replace(trace, title=GIVEN)
    return trace if known else replace(trace, plain_ids=None, key=None)
