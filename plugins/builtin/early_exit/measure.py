"""What a model answers at every exit, from one pass through its backbone."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from alice.errors import AliceError
from alice.metrics import error_rates
from alice.model import Alice
from alice.model.activations import run_batch
from alice.plugins.builtin.traces import Ints, Trace, given_trace, text_batch, traces
from alice.plugins.context import RunContext
from alice.statistics import Floats
from alice.text.alphabet import Alphabet
from alice.text.batches import Batch
from alice.text.cipher import N_LETTERS

EXITS = ("hook_embed", "blocks.*.hook_resid_post")
"""Where the residual stream is read; layer 0 is the embedding."""


@dataclass(frozen=True, eq=False)
class Exits:
    """What one model answers over many texts."""

    model: str
    """Name of the checkpoint."""
    bijective: bool
    """Whether its answers are permutations."""
    errors: Floats
    """Symbol error rate of each text at each exit, (text, exit)."""
    settled: Ints
    """In how many texts each plain letter is right from an exit on to the end and no earlier, (26, exit + 1).

    The last column counts the texts in which it is wrong at the end.
    """
    examples: dict[int, Trace]
    """The texts asked for, by number."""


def exit_answers(model: Alice, batch: Batch, names: list[str]) -> Tensor:
    """Return what each symbol of a batch stands for at each exit, (exit, batch, symbol).

    A symbol decodes alike wherever it stands, so its row of `decode_symbols` says the same as `decode` everywhere.
    """
    _, output, cache = run_batch(model, batch, names)
    with torch.inference_mode():
        answers = [model.decode_symbols(cache[name], batch.cipher_ids, soft=False).argmax(-1) for name in names]
    _check_identity(answers[-1].gather(1, batch.cipher_ids), output.argmax(-1), batch.mask)
    return torch.stack(answers)


def _check_identity(last_exit: Tensor, output: Tensor, mask: Tensor) -> None:
    """Refuse exits that do not end in the model's own answer: whatever they show, it is not this model."""
    different = int(((last_exit != output) & mask).sum())
    if different:
        raise AliceError(
            f"the exit after the last layer differs from the model's answer in {different} of {int(mask.sum())} "
            "characters; the exits do not show this model, so there is no report"
        )


def measure(ctx: RunContext, wanted: Collection[int]) -> Exits:
    """Read all texts of a context, keeping the error of each and the whole way of those that are wanted."""
    names = ctx.model.match_hooks(*EXITS)
    errors: dict[int, Floats] = {}
    examples: dict[int, Trace] = {}
    settled: Ints | None = None
    for batch in ctx.progress(ctx.batches, f"Reading with {ctx.checkpoint}"):
        answers = exit_answers(ctx.model, batch, names)
        counts = _settled(batch, answers, ctx.alphabet)
        settled = counts if settled is None else settled + counts
        errors |= zip(batch.index.tolist(), _errors(batch, answers), strict=True)
        examples |= traces(batch, answers, ctx.alphabet, wanted)
    if settled is None:
        raise AliceError("there is no text to measure on; check the corpus")
    ordered = np.stack([errors[number] for number in sorted(errors)])
    return Exits(ctx.checkpoint, ctx.model.config.variant == "bijective", ordered, settled, examples)


def follow_text(ctx: RunContext, text: str, *, encrypt: bool) -> Trace:
    """Follow one text that the user gave through the layers; its solution is known only if we encrypt it."""
    batch = text_batch(ctx, text, encrypt=encrypt)
    answers = exit_answers(ctx.model, batch, ctx.model.match_hooks(*EXITS))
    return given_trace(batch, answers, ctx.alphabet, known=encrypt)


def _errors(batch: Batch, answers: Tensor) -> Floats:
    """Return the symbol error rate of each text at each exit, (batch, exit)."""
    predicted = answers.gather(2, batch.cipher_ids.expand(len(answers), -1, -1)).cpu().numpy()  # (exit, batch, pos)
    plain = batch.plain_ids.cpu().numpy()
    return np.stack([error_rates(answer, plain) for answer in predicted], axis=1)


def _settled(batch: Batch, answers: Tensor, alphabet: Alphabet) -> Ints:
    """Count from which exit on each plain letter of each text stays right, (26, exit + 1)."""
    letters = torch.from_numpy(alphabet.letter_ids.astype("int64")).to(batch.keys.device)
    cipher = letters[batch.keys]  # (batch, 26): id of the cipher letter that stands for each plain letter
    right = answers.gather(2, cipher.expand(len(answers), -1, -1)) == letters  # (exit, batch, 26)
    right_to_the_end = right.flip(0).cumprod(0).sum(0)  # (batch, 26): exits in a row, counted from the last
    first = (len(answers) - right_to_the_end).cpu().numpy()
    present = (batch.cipher_ids[:, None, :] == cipher[:, :, None]).any(-1).cpu().numpy()  # (batch, 26)
    plain = np.broadcast_to(np.arange(N_LETTERS), first.shape)
    counts = np.zeros((N_LETTERS, len(answers) + 1), dtype=np.int64)
    np.add.at(counts, (plain[present], first[present]), 1)
    return counts
