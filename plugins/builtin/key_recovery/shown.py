"""The key of one text, to be shown: what the model answers, how sure it is, and which letters collide."""

from collections import defaultdict
from dataclasses import dataclass
from itertools import chain

import numpy as np

from alice.plugins.builtin.answers import OTHER, Answers, answer
from alice.plugins.builtin.traces import Ints, Trace, given_trace, text_batch, traces
from alice.plugins.context import RunContext
from alice.statistics import Floats
from alice.text.alphabet import LETTERS


@dataclass(frozen=True, eq=False)
class ShownKey:
    """One text with the key that a model finds for it."""

    trace: Trace
    """The text, and one exit: the last."""
    probabilities: Floats
    """Probability of each plain letter for each cipher letter, (26, 26)."""

    @property
    def key(self) -> Ints:
        """Number of the letter that each cipher letter is taken for, (26,); OTHER if that is no letter."""
        letters = self.trace.alphabet.letter_ids
        numbers = np.full(self.trace.alphabet.size, OTHER, dtype=np.int64)
        numbers[letters] = np.arange(len(LETTERS))
        return numbers[self.trace.answers[-1, letters]]

    @property
    def collisions(self) -> dict[int, list[int]]:
        """Plain letters that several cipher letters of the text are taken for, with these; by their numbers."""
        claimed = defaultdict(list)
        for cipher in np.flatnonzero(self.trace.seen & (self.key != OTHER)).tolist():
            claimed[int(self.key[cipher])].append(cipher)
        return {plain: ciphers for plain, ciphers in sorted(claimed.items()) if len(ciphers) > 1}

    @property
    def colliding(self) -> Ints:
        """Numbers of the cipher letters that share their answer with another, in order."""
        return np.array(sorted(chain.from_iterable(self.collisions.values())), dtype=np.int64)


def shown_key(found: Answers, number: int) -> ShownKey:
    """Return the key of the text with a number, which must be in the batch."""
    row = found.batch.index.tolist().index(number)
    ((_, trace),) = traces(found.batch, found.symbols[None], found.alphabet, [number])
    return ShownKey(trace, _letters(found, row))


def given_key(ctx: RunContext, text: str, *, encrypt: bool) -> ShownKey:
    """Return the key of a text that the user gave; whether it is right is known only if we encrypt it."""
    batch = text_batch(ctx, text, encrypt=encrypt)
    found = answer(ctx.model, batch, probabilities=True)
    trace = given_trace(batch, found.symbols[None], ctx.alphabet, known=encrypt)
    return ShownKey(trace, _letters(found, 0))


def _letters(found: Answers, row: int) -> Floats:
    """Return the probabilities of one text for letters alone, (26, 26)."""
    if found.probabilities is None:
        raise ValueError("a key is shown with its probabilities; read them")
    letters = found.alphabet.letter_ids
    table: Floats = found.probabilities[row].double().cpu().numpy()[np.ix_(letters, letters)]
    return table
