"""What a model answers at every exit, from one pass through its blocks."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from alice.errors import AliceError
from alice.metrics import error_rates
from alice.model import Lens
from alice.plugins.builtin.traces import EXITS, Trace, exit_answers, given_trace, text_batch, traces
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints
from alice.text import N_LETTERS, Alphabet, Batch


@dataclass(frozen=True, eq=False)
class Measured:
    """What one model answers after each layer."""

    model: str
    """Name of the checkpoint."""
    bijective: bool
    """Whether its answers are permutations."""
    errors: Floats
    """Symbol error rate of each text after each layer, a fraction, (text, layer)."""
    settled: Ints
    """Texts in which each plain letter is right from a layer on and not before, (26, layer + 1).

    The last column counts the texts in which the letter is wrong after the last layer.
    """
    traces: tuple[Trace, ...]
    """The texts to show, with the answer after every layer."""


def measure(
    ctx: RunContext, examples: Sequence[int] = (), *, text: str = "", encrypt: bool = False, lens: Lens | None = None
) -> Measured:
    """Decode every layer for all texts of a context, and keep the traces of `examples`, or of `text` if it is given."""
    names = ctx.model.match_hooks(*EXITS)
    errors: dict[int, Floats] = {}
    followed: dict[int, Trace] = {}
    settled = np.zeros((N_LETTERS, len(names) + 1), dtype=np.int64)

    def read(batch: Batch) -> tuple[Ints, dict[int, Floats], dict[int, Trace]]:
        answers = exit_answers(ctx.model, batch, names, lens)
        rates = dict(zip(batch.index.tolist(), _errors(batch, answers), strict=True))
        shown = dict(traces(batch, answers, ctx.alphabet, () if text else examples))
        return _settled(batch, answers, ctx.alphabet), rates, shown

    for counts, rates, shown in ctx.map(read, ctx.batches, f"Reading with {ctx.checkpoint}"):
        settled += counts
        errors |= rates
        followed |= shown
    if not errors:
        raise AliceError("there is no text to measure on; check the corpus")
    ordered = np.stack([errors[number] for number in sorted(errors)])
    chosen = [followed[number] for number in examples if number in followed]
    if text:
        chosen = [follow_text(ctx, text, encrypt=encrypt, lens=lens)]
    return Measured(ctx.checkpoint, ctx.model.config.variant == "bijective", ordered, settled, tuple(chosen))


def follow_text(ctx: RunContext, text: str, *, encrypt: bool, lens: Lens | None = None) -> Trace:
    """Return the trace of a text given by the user; its solution is known only if we encrypt it."""
    batch = text_batch(ctx, text, encrypt=encrypt)
    answers = exit_answers(ctx.model, batch, ctx.model.match_hooks(*EXITS), lens)
    return given_trace(batch, answers, ctx.alphabet, known=encrypt)


def _errors(batch: Batch, answers: Tensor) -> Floats:
    """Return the symbol error rate of each text after each layer, a fraction, (batch, layer)."""
    predicted = answers.gather(2, batch.cipher_ids.expand(len(answers), -1, -1)).cpu().numpy()  # (layer, batch, pos)
    plain = batch.plain_ids.cpu().numpy()
    return np.stack([error_rates(answer, plain) for answer in predicted], axis=1)


def _settled(batch: Batch, answers: Tensor, alphabet: Alphabet) -> Ints:
    """Count the layers from which each plain letter of each text stays right, (26, layer + 1)."""
    letters = torch.from_numpy(alphabet.letter_ids).to(batch.keys.device)
    cipher = letters[batch.keys]  # (batch, 26): id of the cipher letter that stands for each plain letter
    right = answers.gather(2, cipher.expand(len(answers), -1, -1)) == letters  # (layer, batch, 26)
    right_to_the_end = right.flip(0).cumprod(0).sum(0)  # (batch, 26): layers in a row, counted from the last
    first = (len(answers) - right_to_the_end).cpu().numpy()
    present = (batch.cipher_ids[:, None, :] == cipher[:, :, None]).any(-1).cpu().numpy()  # (batch, 26)
    plain = np.broadcast_to(np.arange(N_LETTERS), first.shape)
    counts = np.zeros((N_LETTERS, len(answers) + 1), dtype=np.int64)
    np.add.at(counts, (plain[present], first[present]), 1)
    return counts
