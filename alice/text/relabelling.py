"""Other names for the symbols of a ciphertext: a perfect solver would read it alike under all of them.

A relabelling is a key after the key: each cipher letter is called by another one. It changes neither the text nor the
difficulty, only the ids that a model sees.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from alice.metrics import error_rates
from alice.model import Alice
from alice.statistics import Floats
from alice.text.alphabet import PAD, Alphabet
from alice.text.cipher import KeyArray, encrypt_ids, random_keys

Ints = NDArray[np.int64]
TOKENS = 4096
"""Characters that a model reads at a time."""
_DOMAIN = 4_000_037  # parts these keys from all else that is drawn with the same seed


def relabellings(count: int, seed: int, number: int = 0) -> KeyArray:
    """Return so many random relabellings for the text of a number, (count, 26); fewer are the first of more."""
    return random_keys(count, np.random.default_rng((seed, _DOMAIN, number)))


@dataclass(frozen=True, eq=False)
class Readings:
    """What a model makes of one ciphertext under several relabellings."""

    cipher_ids: Ints
    """The text before any relabelling, (pos,)."""
    answers: Ints
    """What is read at each place, (relabelling, pos)."""
    confidence: Floats
    """Probability that the model gives each of these answers, (relabelling, pos)."""
    letters: NDArray[np.bool_]
    """Where the text has letters, (pos,)."""
    plain_ids: Ints | None = None
    """The solution, (pos,), if it is known; padding where it is not."""

    @cached_property
    def vote(self) -> Ints:
        """The answer at each place that most relabellings give, (pos,); of several the one that is surest."""
        names = np.unique(self.answers)
        given = self.answers == names[:, None, None]  # (name, relabelling, pos)
        # Probabilities sum to less than one more vote, so they only part what is equal.
        weight = given.sum(1) + (given * self.confidence).sum(1) / (len(self.answers) + 1)
        best: Ints = names[weight.argmax(0)]
        return best

    @cached_property
    def disagreement(self) -> Floats:
        """Chance that two relabellings read a place differently, (pos,); of a single one it is not known."""
        count = len(self.answers)
        if count < 2:
            return np.full(self.answers.shape[1], np.nan)
        same = (self.answers[:, None] == self.answers[None]).sum((0, 1)) - count  # ordered pairs that agree
        return 1 - same / (count * (count - 1))

    @property
    def letters_changed(self) -> float:
        """Chance that two relabellings read a letter of the text differently; none if it has no letter."""
        return float(self.disagreement[self.letters].mean()) if self.letters.any() else 0.0

    @property
    def text_changed(self) -> float:
        """Chance that two relabellings read the text differently, be it in one place."""
        count = len(self.answers)
        sizes = np.unique(self.answers, axis=0, return_counts=True)[1]
        return float(1 - (sizes * (sizes - 1)).sum() / (count * (count - 1))) if count > 1 else float("nan")

    @cached_property
    def errors(self) -> Floats | None:
        """Symbol error rate under each relabelling, (relabelling,), if the solution is known."""
        if self.plain_ids is None:
            return None
        return error_rates(self.answers, np.broadcast_to(self.plain_ids, self.answers.shape))

    @property
    def vote_error(self) -> float | None:
        """Symbol error rate of the vote, if the solution is known."""
        return None if self.plain_ids is None else float(error_rates(self.vote[None], self.plain_ids[None])[0])


@torch.inference_mode()
def read_relabelled(model: Alice, cipher_ids: Ints, keys: KeyArray, *, plain_ids: Ints | None = None) -> Readings:
    """Let a model read one ciphertext, (pos,), under every relabelling, (relabelling, 26), some at a time."""
    answers, confidence = [], []
    for rows in _relabelled(cipher_ids, keys, model.alphabet):
        ids = torch.from_numpy(rows).to(model.cfg.device)
        resid = model.resid(ids)
        symbols = model.decode_symbols(resid, ids, soft=False).argmax(-1)  # (relabelling, symbol)
        sure = model.log_probabilities(resid, ids).exp().gather(-1, symbols[..., None])[..., 0]
        answers.append(symbols.gather(1, ids).cpu().numpy())
        confidence.append(sure.gather(1, ids).double().cpu().numpy())
    letters = np.isin(cipher_ids, model.alphabet.letter_ids)
    return Readings(cipher_ids, np.concatenate(answers), np.concatenate(confidence), letters, plain_ids)


def _relabelled(cipher_ids: Ints, keys: KeyArray, alphabet: Alphabet) -> Iterator[Ints]:
    """Yield the text under the relabellings, (some, pos), as many at a time as a model should read."""
    ids = cipher_ids.astype(np.uint8)
    if (ids == PAD).any():
        raise ValueError("a text to relabel has no padding")
    at_a_time = max(1, TOKENS // len(ids))
    for start in range(0, len(keys), at_a_time):
        some = keys[start : start + at_a_time]
        yield encrypt_ids(np.tile(ids, (len(some), 1)), some, alphabet).astype(np.int64)
