"""A model's decoded key for each text, batch by batch."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Self

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from alice.errors import AliceError
from alice.model import Alice, Lens, PlainExit, run_batch
from alice.plugins.context import RunContext
from alice.statistics import Floats, Ints
from alice.text import N_LETTERS, PAD, Alphabet, Batch

OTHER = N_LETTERS
"""Number of an answer that is not a letter; 0 to 25 are A to Z."""


@dataclass(frozen=True, eq=False)
class Answers:
    """A batch with the model's answer for each cipher symbol."""

    batch: Batch
    """The texts, on the model's device."""
    alphabet: Alphabet
    """Symbols of the ids."""
    symbols: Tensor
    """Plain symbol that each cipher symbol is taken for, (batch, symbol)."""
    probabilities: Tensor | None = None
    """Probability of each plain symbol for each cipher symbol, (batch, symbol, symbol), if requested."""
    outputs: Tensor | None = None
    """What the model answers at each position, (batch, pos), if probabilities were requested."""

    @property
    def lengths(self) -> Ints:
        """Characters of each text, (batch,)."""
        return _ints(self.batch.mask.sum(1))

    @property
    def counts(self) -> Ints:
        """How often each plain letter occurs in each text, (batch, 26)."""
        return np.stack([_ints((self.batch.plain_ids == letter).sum(1)) for letter in self._letters], axis=1)

    @property
    def claims(self) -> Ints:
        """Number of the letter that each plain letter is taken for, (batch, 26); OTHER if it is not a letter."""
        numbers = np.full(self.alphabet.size, OTHER, dtype=np.int64)
        numbers[self._letters] = np.arange(N_LETTERS)
        return numbers[_ints(self.symbols.gather(1, self._cipher))]

    @property
    def margins(self) -> Floats:
        """Probability of the answer for each plain letter minus that of the best other one, (batch, 26).

        Negative where a bijective head had to give the letter's best answer to another letter.
        """
        if self.probabilities is None:
            raise ValueError("the answers have no probabilities; call answer(..., probabilities=True)")
        cipher = self._cipher
        rows = self.probabilities.gather(1, cipher[..., None].expand(-1, -1, self.alphabet.size))
        answer = self.symbols.gather(1, cipher)[..., None]  # (batch, 26, 1)
        others = rows.scatter(2, answer, -torch.inf).amax(-1)
        margins: Floats = (rows.gather(2, answer)[..., 0] - others).double().cpu().numpy()
        return margins

    @property
    def consistent(self) -> NDArray[np.bool_]:
        """Whether every cipher symbol of a text has the same answer at all its positions, (batch,)."""
        if self.outputs is None:
            raise ValueError("the answers have no outputs; call answer(..., probabilities=True)")
        ids = self.batch.cipher_ids
        spread = [
            self.outputs.new_zeros(len(ids), self.alphabet.size).scatter_reduce(
                1, ids, self.outputs, reduce, include_self=False
            )
            for reduce in ("amin", "amax")
        ]
        same: NDArray[np.bool_] = (spread[0] == spread[1])[:, PAD + 1 :].all(1).cpu().numpy()
        return same

    @property
    def _letters(self) -> list[int]:
        return [int(number) for number in self.alphabet.letter_ids]

    @property
    def _cipher(self) -> Tensor:
        """Id of the cipher letter that stands for each plain letter, (batch, 26)."""
        return torch.tensor(self._letters, device=self.batch.keys.device)[self.batch.keys]


@dataclass(frozen=True)
class Exit:
    """Where a model is read, and how."""

    hook: str
    """Hook of the residual stream."""
    lens: Lens
    """What reads it."""

    @classmethod
    def of(cls, ctx: RunContext, layer: int | None = None, path: Path | None = None) -> Self:
        """Return the exit after a layer, by default the last, with the plain exit or the lens in `path`."""
        hooks = ctx.model.match_hooks("hook_embed", "blocks.*.hook_resid_post")
        if layer is not None and not 0 <= layer < len(hooks):
            raise AliceError(f"{ctx.checkpoint} has no layer {layer}; give 0 to {len(hooks) - 1}")
        return cls(hooks[-1 if layer is None else layer], ctx.lens(path))


@torch.inference_mode()
def answer(model: Alice, batch: Batch, exit_: Exit | None = None, *, probabilities: bool = False) -> Answers:
    """Return what a model answers to one batch, at its end or at another exit."""
    if exit_ is None:
        exit_ = Exit(f"blocks.{model.config.n_layers - 1}.hook_resid_post", PlainExit(model))
    batch, output, cache = run_batch(model, batch, [exit_.hook])
    resid, ids = cache[exit_.hook], batch.cipher_ids
    symbols = exit_.lens.read(exit_.hook, resid, ids).argmax(-1)
    if not probabilities:
        return Answers(batch, model.alphabet, symbols)
    plain = isinstance(exit_.lens, PlainExit) and exit_.hook.startswith(f"blocks.{model.config.n_layers - 1}.")
    outputs = output.argmax(-1) if plain else symbols.gather(1, ids)
    return Answers(batch, model.alphabet, symbols, exit_.lens.read(exit_.hook, resid, ids, soft=True).exp(), outputs)


def answers(ctx: RunContext, exit_: Exit | None = None, *, probabilities: bool = False) -> Iterator[Answers]:
    """Yield what the model of a context answers to its texts, one batch at a time."""

    def read(batch: Batch) -> Answers:
        return answer(ctx.model, batch, exit_, probabilities=probabilities)

    return ctx.map(read, ctx.batches, f"Reading with {ctx.checkpoint}")


def _ints(values: Tensor) -> NDArray[np.int64]:
    numbers: NDArray[np.int64] = values.cpu().numpy()
    return numbers
